from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from equirl.model.mdp import TabularMDP
from equirl.model.reachability import reached
from equirl.solving import chains
from equirl.solving.chains import block, chain_kind, closed_classes, decided, end_components, incoming, whole
from equirl.solving.policies import Policy
from equirl.worlds.world_registry import make
from oracles_solving import dense_laws, dense_mdp, kind_by_definition, policies, random_mdp, recurrent_sets

seeds = st.integers(0, 10**6)
ABSORBING = [(0, 0, {1: 1.0}, 0.0), (0, 1, {2: 1.0}, 0.0), (1, 0, {1: 1.0}, 1.0), (2, 0, {2: 1.0}, 0.0)]


@given(seeds)
def test_kinds_agree_with_their_definition_over_all_policies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, int(rng.integers(1, 5)), branching=int(rng.integers(1, 5)))
    assert chain_kind(mdp, everywhere=True) == kind_by_definition(mdp)


@pytest.mark.parametrize("n_states", [3, 6, 25])
def test_riverswim_is_communicating_and_ergodic_riverswim_is_ergodic(n_states: int) -> None:
    assert chain_kind(make("riverswim", n_states=n_states)) == "communicating"
    assert chain_kind(make("ergodic-riverswim", n_states=n_states)) == "ergodic"


def test_a_start_that_is_left_for_ever_makes_an_mdp_weakly_communicating() -> None:
    mdp = TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {2: 1.0}, 0.0), (2, 0, {1: 1.0}, 0.0)], 3)
    assert chain_kind(mdp) == "weakly communicating"


def test_a_state_where_one_may_stay_and_never_come_back_makes_an_mdp_multichain() -> None:
    mdp = TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.0), (0, 1, {1: 1.0}, 0.0), (1, 0, {1: 1.0}, 0.0)], 2)
    assert chain_kind(mdp) == "multichain"


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12),
    st.sets(st.integers(0, 5)),
)
def test_what_is_reached_is_what_some_walk_along_edges_ends_in(n, edges, first):
    edges = [(a % n, b % n) for a, b in edges]
    start, step = np.isin(np.arange(n), list(first)), np.eye(n, dtype=int)
    for a, b in edges:
        step[a, b] = 1
    walks = np.linalg.matrix_power(step, n) > 0
    source, target = (np.array([edge[k] for edge in edges], dtype=np.int64) for k in (0, 1))
    assert reached(start, source, target).tolist() == walks[start].any(axis=0).tolist()


def test_states_nobody_reaches_count_only_everywhere() -> None:
    mdp = make("four-room", height=7, width=7, walls_are_states=True)
    assert mdp.reachable().sum() == 20
    assert chain_kind(mdp) == "communicating"
    assert chain_kind(mdp, everywhere=True) == "multichain"


def test_kinds_do_not_depend_on_numbering() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        mdp = random_mdp(rng, 6, branching=3)
        assert chain_kind(mdp) == chain_kind(mdp.shuffled(rng))


def test_an_mdp_of_one_state_is_ergodic() -> None:
    assert chain_kind(TabularMDP.from_arrays([[[1.0]]], [[0.5]])) == "ergodic"


def test_the_kernels_agree_with_their_plain_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    mdps = [random_mdp(rng, 6) for _ in range(10)] + [dense_mdp(rng, 5, 2)]
    compiled = [chain_kind(mdp) for mdp in mdps]
    for name in ("_attract", "_every_policy_recurrent"):
        monkeypatch.setattr(chains, name, getattr(chains, name).py_func)
    assert [chain_kind(mdp) for mdp in mdps] == compiled


def test_a_state_that_every_policy_leaves_for_the_reachable_part_is_decided() -> None:
    loose = [(3, 0, {3: 0.5, 0: 0.5}, 0.0), (4, 0, {4: 1.0}, 0.0), (5, 0, {0: 0.5, 4: 0.5}, 0.0)]
    cycle = [(0, 0, {1: 1.0}, 0.0), (1, 0, {2: 1.0}, 0.0), (2, 0, {0: 1.0}, 0.0)]
    mdp = TabularMDP.from_pairs(cycle + loose, 6)
    assert decided(mdp).tolist() == [True, True, True, True, False, False]


@given(seeds)
def test_recurrent_classes_of_a_policy_agree_with_reachability(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 6, max_actions=1, branching=2)
    label = closed_classes(whole(mdp).graph())
    found = {frozenset(np.flatnonzero(label == c).tolist()) for c in range(label.max() + 1)}
    assert found == recurrent_sets(dense_laws(mdp))


def test_classes_are_numbered_by_first_appearance() -> None:
    mdp = TabularMDP.from_pairs(
        [(0, 0, {3: 1.0}, 0.0), (1, 0, {1: 1.0}, 0.0), (2, 0, {2: 1.0}, 0.0), (3, 0, {3: 1.0}, 0.0)], 4
    )
    assert closed_classes(whole(mdp).graph()).tolist() == [-1, 0, 1, 2]


@given(seeds)
def test_end_components_hold_every_recurrent_set_and_nothing_else(seed: int) -> None:
    mdp = random_mdp(np.random.default_rng(seed), 4, branching=2)
    component, stays = end_components(whole(mdp))
    laws = dense_laws(mdp)
    sets = set().union(*(recurrent_sets(laws[pair]) for pair in policies(mdp)))
    assert all(len(set(component[list(c)])) == 1 and component[min(c)] >= 0 for c in sets)
    assert set(np.flatnonzero(component >= 0)) == set().union(*sets)
    for k in np.flatnonzero(stays):
        assert (component[laws[k] > 0] == component[mdp.pairs.state[k]]).all()


def test_a_block_keeps_laws_and_rewards_of_its_states() -> None:
    mdp = TabularMDP.from_pairs(ABSORBING, 3)
    part = block(mdp, np.array([False, True, False]))
    assert (part.state.tolist(), part.pair.tolist(), part.reward.tolist()) == ([1], [2], [1.0])
    assert part.matrix().toarray().tolist() == [[1.0]]


def test_policies_are_ergodic_unichain_or_multichain() -> None:
    river = make("riverswim", n_states=6)
    assert Policy(river, [0] * 6).kind() == "ergodic"
    assert Policy(river, [1] * 6).kind() == "unichain"
    assert Policy(river, [1, 0, 0, 0, 0, 0]).kind() == "unichain"
    assert Policy(TabularMDP.from_pairs(ABSORBING, 3), [0, 0, 0]).kind() == "multichain"


def test_rows_that_sum_to_one_up_to_rounding_stay_and_others_are_divided_by_their_sums() -> None:
    law = np.array([0.1, 0.2, 0.7, 0.25, 0.75])
    exact, defect = chains.summing_to_one(law, np.array([0, 3, 5]))
    assert exact is law
    assert 0 <= defect <= chains.EXACT_SUM
    off = law * np.array([1, 1, 1, 1 + 1e-9, 1 + 1e-9])
    mended, defect = chains.summing_to_one(off, np.array([0, 3, 5]))
    np.testing.assert_array_equal(mended[:3], law[:3])
    np.testing.assert_allclose(mended[3:], law[3:], rtol=1e-15)
    assert defect == chains.EXACT_SUM


def test_a_sweep_may_be_off_by_a_rounding_per_entry_of_the_widest_row_and_by_the_defect() -> None:
    part = whole(TabularMDP.from_pairs(ABSORBING, 3))
    assert part.rounding == 4 * np.finfo(float).eps + part.defect
    river = whole(make("riverswim", n_states=5))
    assert river._replace(defect=0.0).rounding == 6 * np.finfo(float).eps
    assert river._replace(defect=0.5).rounding == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(6))
def test_searches_that_are_cut_short_find_the_same_components(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = random_mdp(np.random.default_rng(seed), 60, branching=2)
    part = whole(mdp)
    expected, _ = end_components(part)
    for name in ("_take_apart", "_bottom", "_remove"):
        monkeypatch.setattr(chains, name, getattr(chains, name).py_func)
    monkeypatch.setattr(chains, "FIRST_STEPS", 1)  # others are tried from all states touched, in turn
    nowhere = np.full(part.n_states, -(10**9))  # states that were not touched are not looked up
    graph = chains._Graph(part.rows.ptr[part.pair_ptr], chains.owners(part.rows.ptr), part.rows.succ, incoming(part))
    rest = chains._Remaining(
        np.ones(mdp.n_pairs, bool), np.diff(part.pair_ptr), nowhere, np.zeros(part.n_states, bool), nowhere.copy()
    )
    label = np.full(part.n_states, -1)
    chains._take_apart(graph, rest, chains._Search(*np.zeros((5, part.n_states), np.int64)), label)
    assert ((label >= 0) == (expected >= 0)).all()
    member = label >= 0
    assert ((label[member][:, None] == label[member]) == (expected[member][:, None] == expected[member])).all()


def test_of_pairs_that_lead_closer_equally_surely_the_first_is_taken() -> None:
    pairs = [
        (0, 0, {0: 0.5, 1: 0.5}, 0.0), (0, 1, {1: 1.0}, 0.0), (0, 2, {1: 1.0}, 0.0), (1, 0, {0: 1.0}, 0.0),
        (1, 1, {2: 0.25, 0: 0.75}, 0.0), (2, 0, {0: 1.0}, 0.0), (2, 1, {2: 1.0}, 0.0),
    ]  # fmt: skip
    part = whole(TabularMDP.from_pairs(pairs, 3))
    target = np.array([False, False, True])
    assert chains.steps_to(incoming(part), target).tolist() == [2, 1, 0]
    assert chains.approach(part, target).tolist() == [1, 4, 5]
    apart = whole(TabularMDP.from_pairs(ABSORBING, 3))
    assert chains.steps_to(incoming(apart), target).tolist() == [1, -1, 0]
    assert chains.approach(apart, target) is None


@pytest.mark.parametrize("seed", range(20))
def test_what_is_reached_is_what_a_plain_search_finds(seed):
    """Edges may be there twice, and nodes without any."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 12)), int(rng.integers(0, 25))
    source, target, start = rng.integers(n, size=m), rng.integers(n, size=m), rng.random(n) < 0.3
    found, waiting = set(np.flatnonzero(start).tolist()), np.flatnonzero(start).tolist()
    while waiting:
        s = waiting.pop()
        for x in target[source == s].tolist():
            if x not in found:
                found.add(x)
                waiting.append(x)
    assert set(np.flatnonzero(reached(start, source, target)).tolist()) == found


def test_the_block_of_all_states_is_that_of_a_mask_that_holds_them_all():
    mdp = make("random", n_states=6, n_actions=3, seed=2)
    everything = np.ones(mdp.n_states, bool)
    short, long = block(mdp, everything), block(mdp, everything, np.ones(mdp.pairs.n_pairs, bool))
    for name in ("state", "pair", "pair_ptr", "reward", "defect"):
        one, other = np.asarray(getattr(short, name)), np.asarray(getattr(long, name))
        np.testing.assert_array_equal(one, other)
        assert np.can_cast(one.dtype, other.dtype)
    for one, other in zip(short.rows, long.rows, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert short is whole(mdp)
    assert short.rows.prob is mdp.rows.prob


def test_reachable_states_can_be_changed_by_whoever_asked():
    mdp = make("four-room")
    mdp.reachable()[:] = False
    assert mdp.reachable().all()
