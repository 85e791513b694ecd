import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from equirl.interop.gym_tables import from_gymnasium
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.model.rows import Rows, rows_from_triplets
from equirl.structure import equivalence
from equirl.structure.equivalence import (
    SeparationError,
    _too_wide,
    equivalence_classes,
    separating_tolerance,
    separation,
)
from equirl.structure.partition import Partition
from equirl.structure.similarity import profile_distance, profiles, similar
from equirl.worlds.world_registry import make
from oracles_equivalence import all_distances, all_pairs_labels, dense_profiles

TOLERANCE = 1e-9


def mdp_of(laws, means):
    """One state per law, one action each; laws are lists of probabilities placed on states 0, 1, ..."""
    return TabularMDP.from_pairs([(k, 0, dict(enumerate(law)), means[k]) for k, law in enumerate(laws)], len(laws))


def random_mdp(seed, n_states=5, n_actions=3, n_laws=4, noise=0.0):
    """Laws drawn from a few, shuffled over the states, some with few successors, plus noise of a given size."""
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(n_states, 0.5), n_laws)
    laws[0] = np.eye(n_states)[0]
    laws[-1, 2:] = 0
    laws /= laws.sum(1, keepdims=True)
    P = np.empty((n_states, n_actions, n_states))
    for s in range(n_states):
        for a in range(n_actions):
            law = rng.permutation(laws[rng.integers(n_laws)])
            i, j = rng.choice(n_states, 2, replace=False)
            shift = min(noise * rng.random(), law[i])
            law[i] -= shift
            law[j] += shift
            P[s, a] = law
    R = rng.choice([0.0, 0.3, 0.3 + noise / 2, 1.0], (n_states, n_actions))
    return TabularMDP.from_arrays(P, R)


def pairs_of(mdp):
    return list(zip(mdp.pairs.state.tolist(), mdp.pairs.action.tolist(), strict=True))


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 1e-16, 2e-10, 1e-9]))
@settings(max_examples=60, deadline=None)
def test_classes_agree_with_the_definition_on_all_pairs(seed, rewards, noise):
    mdp = random_mdp(seed, noise=noise)
    expected = Partition.from_labels(all_pairs_labels(mdp, rewards, TOLERANCE))
    assert equivalence_classes(mdp, rewards=rewards) == expected


@given(st.integers(0, 10**6), st.sampled_from([0.0, 3e-10]))
@settings(max_examples=30, deadline=None)
def test_classes_are_renumbered_with_states_and_actions(seed, noise):
    mdp = random_mdp(seed, noise=noise)
    rng = np.random.default_rng(seed)
    states, actions = rng.permutation(mdp.n_states), rng.permutation(3)
    other = mdp.permute(states.tolist(), actions.tolist())
    place = [other.pairs.index(states[s], actions[a]) for s, a in pairs_of(mdp)]
    assert equivalence_classes(other).restrict(place) == equivalence_classes(mdp)


@given(
    st.sampled_from([1e-9, 1e-6, 1e-3]),
    st.lists(st.sampled_from([-1.0, -0.999, -0.5, 0.0, 0.5, 0.999, 1.0, 1.001, 2.0, 2.5, 4.0]), min_size=2, max_size=9),
    st.lists(st.integers(0, 390), min_size=1, max_size=3),
)
@settings(max_examples=80, deadline=None)
def test_the_tolerance_holds_wherever_values_lie_on_a_grid(tolerance, offsets, cells):
    # a mass p moved by about a tolerance, around multiples of the tolerance: any rounding to cells would cut some link
    p = [0.6 + cell * tolerance + offset * tolerance / 2 for cell in cells for offset in offsets]
    mdp = mdp_of([[x, 1 - x] for x in p], [0.0] * len(p))
    expected = Partition.from_labels(all_pairs_labels(mdp, True, tolerance))
    distance = all_distances(mdp)
    widest = max(distance[np.ix_(members, members)].max() for members in expected)
    if widest > 10 * tolerance * (1 + 1e-6):
        with pytest.raises(ValueError, match="try tolerance"):
            equivalence_classes(mdp, tolerance=tolerance)
    elif widest < 10 * tolerance * (1 - 1e-6):
        assert equivalence_classes(mdp, tolerance=tolerance) == expected


def test_rounded_sums_are_one_class():
    rounded = 1 - 0.7 - 0.1 - 0.1
    assert rounded != 0.1
    assert equivalence_classes(mdp_of([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, rounded]] * 2, [0.0] * 4)).n_classes == 1


def test_a_tiny_mass_more_does_not_split_a_class():
    mdp = mdp_of([[0.5, 0.5], [0.5, 0.5 - 1e-11, 1e-11], [1.0]], [0.0] * 3)
    assert profile_distance(mdp, 0, 1) == pytest.approx(2e-11)
    assert equivalence_classes(mdp).label.tolist() == [0, 0, 1]


def test_means_are_compared_unless_laws_alone_are_asked_for():
    mdp = mdp_of([[1.0], [1.0], [1.0]], [0.2, 0.2 + 1e-12, 0.3])
    assert equivalence_classes(mdp).label.tolist() == [0, 0, 1]
    assert equivalence_classes(mdp, rewards=False).n_classes == 1


def test_classes_with_rewards_refine_those_of_laws():
    mdp = random_mdp(4)
    assert equivalence_classes(mdp).refines(equivalence_classes(mdp, rewards=False))


@pytest.mark.parametrize(
    ("world", "params", "n_pairs", "n_classes"),
    [
        ("ergodic-riverswim", {"n_states": 25}, 50, 6),
        ("ergodic-riverswim", {"n_states": 50}, 100, 6),
        ("riverswim", {"n_states": 25}, 50, 5),
        ("four-room", {}, 80, 6),
        ("four-room", {"walls_are_states": True}, 196, 7),
        ("two-room", {"kernel": "appendix"}, 84, 6),
        ("four-room", {"height": 17, "width": 17, "kernel": "appendix"}, 800, 6),
    ],
)
def test_worlds_have_the_published_number_of_classes(world, params, n_pairs, n_classes):
    mdp = make(world, **params)
    assert (mdp.n_pairs, equivalence_classes(mdp).n_classes) == (n_pairs, n_classes)


def test_slippery_frozen_lake_has_three_laws():
    lake = from_gymnasium(gymnasium.make("FrozenLake-v1", map_name="8x8", is_slippery=True), drop_unreachable=False)
    assert equivalence_classes(lake, rewards=False).n_classes == 3


def test_a_planted_world_is_recovered_with_its_separation():
    mdp = make("planted", n_states=30, n_actions=4, n_classes=6, separation=0.1, seed=2)
    assert equivalence_classes(mdp, rewards=False).n_classes == 6
    assert separation(mdp).profiles >= 0.1 - 1e-9


def test_a_planted_structure_is_recovered():
    rng = np.random.default_rng(1)
    S, A, C = 40, 5, 7
    plan = rng.integers(C, size=(S, A))
    laws, means = rng.dirichlet(np.ones(6), C), rng.random(C)
    P = np.zeros((S, A, S))
    for s in range(S):
        for a in range(A):
            P[s, a, rng.choice(S, 6, replace=False)] = laws[plan[s, a]]
    mdp = TabularMDP.from_arrays(P, means[plan])
    assert equivalence_classes(mdp) == Partition.from_labels(plan.ravel())


def test_states_may_differ_in_their_actions():
    mdp = TabularMDP.from_pairs([(0, 3, {0: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 0.0), (1, 9, {1: 1.0}, 0.0)], 2)
    assert equivalence_classes(mdp).label.tolist() == [0, 1, 0]


def test_one_state_and_one_action_is_one_class():
    mdp = TabularMDP.from_arrays([[[1.0]]], [[0.3]])
    assert equivalence_classes(mdp).n_classes == 1
    assert separation(mdp) == (math.inf, math.inf)


def test_a_chain_wider_than_ten_tolerances_names_two_pairs_and_another_tolerance():
    laws = [[0.6 + 4e-10 * k, 0.4 - 4e-10 * k] for k in range(20)]
    mdp = mdp_of(laws, [0.0] * 20)
    with pytest.raises(ValueError, match=r"\(s=\d+, a=0\) and \(s=\d+, a=0\) are linked.*try tolerance=1e-11"):
        equivalence_classes(mdp)
    assert equivalence_classes(mdp, tolerance=1e-11).n_classes == 20
    assert equivalence_classes(mdp, tolerance=1e-7).n_classes == 1


def test_a_chain_of_means_is_an_error_too():
    mdp = mdp_of([[1.0]] * 20, [0.5 + 9e-10 * k for k in range(20)])
    with pytest.raises(ValueError, match=r"lie .* apart"):
        equivalence_classes(mdp)
    assert equivalence_classes(mdp, rewards=False).n_classes == 1


@pytest.mark.parametrize("tolerance", [-1e-9, math.nan, math.inf])
def test_a_senseless_tolerance_is_refused(tolerance):
    with pytest.raises(ValueError, match="tolerance must be between 0 and 2"):
        equivalence_classes(random_mdp(0), tolerance=tolerance)


def test_tolerance_zero_compares_to_the_last_bit():
    mdp = mdp_of([[0.5, 0.5], [0.5, 0.5], [0.5 + 1e-15, 0.5 - 1e-15]], [0.0] * 3)
    assert equivalence_classes(mdp, tolerance=0).label.tolist() == [0, 0, 1]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_profiles_list_every_law_in_decreasing_order(seed):
    mdp = random_mdp(seed)
    table, dense = profiles(mdp), dense_profiles(mdp)
    for k, (s, a) in enumerate(pairs_of(mdp)):
        profile, law = table.profile(k), mdp.transition_probabilities(s, a)
        assert np.array_equal(profile, dense[k, : len(profile)])
        assert [law[x] for x in table.order(k).tolist()] == profile.tolist()
        assert len(profile) == len(law)


def test_ties_in_a_profile_are_ordered_by_state():
    mdp = mdp_of([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [1.0]], [0.0] * 3)
    assert profiles(mdp).order(0).tolist() == [2, 0, 1]


def test_contrasts_have_their_hand_computed_values():
    mdp = mdp_of([[0.5, 0.5], [0.2, 0.7, 0.1], [1.0]], [0.0] * 3)
    assert profile_distance(mdp, 0, 1) == pytest.approx(0.2 + 0.3 + 0.1)
    assert profile_distance(mdp, 0, 1, "squared") == pytest.approx(0.04 + 0.09 + 0.01)
    assert profile_distance(mdp, 0, 1, "kl") == pytest.approx(0.5 * math.log(0.5 / 0.7) + 0.5 * math.log(0.5 / 0.2))
    assert profile_distance(mdp, 2, 0, "kl") == pytest.approx(math.log(2))


def test_kl_is_infinite_where_the_second_profile_has_no_mass():
    mdp = mdp_of([[0.5, 0.5], [1.0]], [0.0] * 2)
    assert profile_distance(mdp, 0, 1, "kl") == math.inf


def test_similarity_needs_both_laws_and_means():
    mdp = mdp_of([[0.5, 0.5], [0.4, 0.6]], [0.0, 0.1])
    assert similar(mdp, (0, 0), (1, 0), eps_p=0.21, eps_mu=0.11)
    assert not similar(mdp, 0, 1, eps_p=0.19, eps_mu=0.11)
    assert not similar(mdp, 0, 1, eps_p=0.21, eps_mu=0.09)
    assert similar(mdp, 0, 1, eps_p=0.03, eps_mu=math.inf, contrast="kl")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda mdp: profile_distance(mdp, 0, 1, "l2"), "unknown contrast 'l2'; did you mean"),
        (lambda mdp: profile_distance(mdp, 0, 15), "no pair 15: pairs are 0 to 14"),
        (lambda mdp: similar(mdp, 0, 1, eps_p=-1), "eps_p must be at least 0"),
        (lambda mdp: similar(mdp, 0, 1, eps_mu=math.nan), "eps_mu must be at least 0"),
        (lambda mdp: similar(mdp, (0, 9), 1), "action 9"),
    ],
)
def test_bad_questions_are_named(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(random_mdp(0))


def test_a_pair_that_is_no_pair_is_refused():
    with pytest.raises(TypeError, match=r"number or \(state, action\)"):
        profile_distance(random_mdp(0), "left", 0)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_separation_is_the_smallest_distance_between_law_classes(seed):
    mdp = random_mdp(seed)
    label = all_pairs_labels(mdp, False, TOLERANCE)
    apart = label[:, None] != label[None, :]
    laws, means = separation(mdp)
    assert laws == pytest.approx(all_distances(mdp)[apart].min(initial=math.inf), abs=1e-12)
    gap = np.abs(mdp.r_mean[:, None] - mdp.r_mean[None, :])
    assert means == gap[~apart & (gap > TOLERANCE)].min(initial=math.inf)


def test_forty_thousand_different_laws_are_separated_without_comparing_all():
    rng = np.random.default_rng(3)
    laws = rng.dirichlet(np.ones(4), 40_000)
    succ = np.arange(4)
    pairs = Pairs.uniform(10_000, 4)
    rows = rows_from_triplets(pairs, np.repeat(np.arange(40_000), 4), np.tile(succ, 40_000), laws.ravel())
    mdp = TabularMDP(pairs, rows, np.zeros(40_000), np.eye(1, 10_000)[0])
    assert equivalence_classes(mdp).n_classes == 40_000
    assert separation(mdp).profiles > TOLERANCE


def test_kernels_give_the_same_classes_uncompiled(monkeypatch):
    mdp = random_mdp(5, noise=3e-10)
    compiled = equivalence_classes(mdp), separation(mdp)
    for name in ("_differ", "_spread", "_too_wide", "_closest"):
        monkeypatch.setattr(equivalence, name, getattr(equivalence, name).py_func)
    assert (equivalence_classes(mdp), separation(mdp)) == compiled


def test_equal_points_apart_in_the_order_are_one_class(monkeypatch):
    mdp = random_mdp(5)
    expected = equivalence_classes(mdp)
    monkeypatch.setattr(equivalence, "projection", lambda points: np.zeros(len(points.ptr) - 1))  # tells nothing apart
    assert equivalence_classes(mdp, rewards=False) == Partition.from_labels(_laws(mdp))
    assert equivalence_classes(mdp) == expected


def _laws(mdp):
    """The profile of each pair as text, to nine digits."""
    return [str(np.round(profiles(mdp).profile(k), 9).tolist()) for k in range(mdp.n_pairs)]


@pytest.mark.parametrize("reward", [0.5, 0.625])
@pytest.mark.parametrize("p", [0.5, 0.5625])
def test_pairs_exactly_a_tolerance_apart_are_alike(p, reward):
    """L1 distances of 0 or 1/8, all of them without rounding."""
    mdp = TabularMDP.from_pairs([(0, 0, {0: 0.5, 1: 0.5}, 0.5), (1, 0, {0: p, 1: 1.0 - p}, reward)], 2)
    assert equivalence_classes(mdp, tolerance=0.125).n_classes == 1
    apart = 1 if (p, reward) == (0.5, 0.5) else 2
    assert equivalence_classes(mdp, tolerance=0.124).n_classes == apart


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_component_is_too_wide_where_any_two_of_its_points_are(seed, plain):
    rng = np.random.default_rng(seed)
    means, component = rng.integers(0, 8, 24) / 8, np.sort(rng.integers(0, 4, 24))
    points = Rows(np.arange(25), np.zeros(24, np.int32), np.ones(24))  # profiles are equal
    order, edges = np.arange(24), np.searchsorted(component, np.arange(5))
    widest = max(np.ptp(means[component == c]) for c in set(component.tolist()))
    run = _too_wide.py_func if plain else _too_wide
    for limit in (0.0, 0.125, widest - 0.01, widest, widest + 0.01, 2.0):
        far = np.full(2, -1)
        assert bool(run(points, means, order, edges, limit, far)) == (widest > limit)
        if widest > limit:
            assert component[far[0]] == component[far[1]]
            assert abs(means[far[0]] - means[far[1]]) > limit
        else:
            assert far.tolist() == [-1, -1]


def means_of_one_state(means):
    return TabularMDP.from_arrays(np.ones((1, len(means), 1)), [means])


def test_a_chain_is_as_wide_as_its_ends_wherever_these_stand():
    chain = means_of_one_state([0.5 + 0.01 * step for step in (0, -1, -2, -3, -4, -5, 1, 2, 3, 4, 5, 6)])
    assert equivalence_classes(chain, tolerance=0.0111).n_classes == 1  # less than ten tolerances
    with pytest.raises(SeparationError, match=r"\(s=0, a=5\) and \(s=0, a=11\) .* lie 0\.11 apart"):
        equivalence_classes(chain, tolerance=0.0105)


def test_tolerances_are_tried_up_to_a_hundredth():
    blurred = [0.1 * group + 0.9 * 10.0 ** (group - 10) * k for group in range(1, 8) for k in range(13)]
    assert separating_tolerance(means_of_one_state(blurred)) == pytest.approx(1e-2)
    assert equivalence_classes(means_of_one_state(blurred), tolerance="auto").n_classes == 7
    assert separating_tolerance(means_of_one_state(blurred[:-13])) == pytest.approx(1e-3)
    assert separating_tolerance(means_of_one_state(blurred), rewards=False) == pytest.approx(1e-9)
    with pytest.raises(SeparationError):
        separating_tolerance(means_of_one_state([*blurred, *(0.85 + 0.009 * k for k in range(13))]))
