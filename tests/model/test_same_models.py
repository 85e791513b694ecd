"""Problems made of what users hold, their parts, and what is refused are what they were (``same_models.json``).

``python tests/model/test_same_models.py`` stores them anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.model.dynamics import Chances, cumulate_rows, dynamics_of, successor_drawn
from equirl.model.mdp import Picture, TabularMDP, check_mdp, checked_picture, same_picture
from equirl.model.pairs import (
    Pairs,
    action_labels,
    checked_names,
    named_policy,
    names_from_json,
    names_within,
    number_of,
    numbered,
    pairs_from,
    plain_name,
    state_labels,
)
from equirl.model.reachability import reached
from equirl.model.renumbering import by_state, permutation, random_numbers, restriction
from equirl.model.reward_distributions import (
    draw_rewards,
    original_gain,
    original_rewards,
    original_values,
    rescale_rewards,
    reward_map_of,
    unit_map,
)
from equirl.model.row_readers import initial_distribution, is_sparse, read_arrays, read_pairs, read_rows
from equirl.model.rows import (
    Rows,
    check_entries,
    check_n_states,
    checked_rows,
    rows_from_table,
    rows_from_triplets,
)
from equirl.numerics.arrays import (
    check_starts,
    check_visits,
    frozen,
    number_by_appearance,
    owners,
    rows_by_length,
    starts,
    take_rows,
)
from equirl.numerics.seeding import put_back, seed_sequence
from stored_kit import answers, check, store

P = np.array([[[0.5, 0.5, 0], [0, 0, 1]], [[0.2, 0.3, 0.5], [1, 0, 0]], [[0, 1, 0], [0.25, 0.25, 0.5]]])
R = np.array([[0.0, 0.5], [1.0, 0.25], [0.75, 0.125]])
LISTED = [
    ("home", "go", {"work": 0.75, "home": 0.25}, 2.0), ("work", "stay", {"work": 1.0}, 5.0),
    ("work", "go", {"home": 0.5, "pub": 0.5}, -1.0), ("pub", "stay", {"pub": 0.9, "home": 0.1}, 0.0),
]  # fmt: skip
SOME = Pairs(np.array([0, 2, 3, 6]), np.array([0, 3, 1, 0, 2, 4]))
NAMED = Pairs(np.array([0, 1, 3]), np.array([0, 0, 1]), ("a", ("b", 2)), ("x", "y", "spare"))
NUMBERS = Pairs(np.array([0, 1, 2]), np.array([0, 0]), (5, 7.5))


def whole(mdp):
    """All of a problem."""
    return {
        "ptr": mdp.pairs.ptr, "action": mdp.pairs.action, "rows": mdp.rows, "r": mdp.r_mean, "initial": mdp.initial,
        "map": mdp.reward_map, "rewards": mdp.rewards, "k": [mdp.concentration], "law": [mdp.reward_law, mdp.name],
        "states": list(map(str, mdp.state_names)), "actions": list(map(str, mdp.action_names)),
        "discount": [-1.0 if mdp.discount is None else mdp.discount], "reachable": mdp.reachable(),
    }  # fmt: skip


def triplets():
    pair, succ = np.nonzero(P.reshape(6, 3))
    return pair, succ, P.reshape(6, 3)[pair, succ]


def made():
    """By every maker, from every form."""
    by_action = [sparse.csr_array(P[:, a]) for a in range(2)]
    flat, names = P.reshape(6, 3), {"state_names": ["a", "b", "c"], "action_names": ["x", "y"]}
    pair, succ, prob = triplets()
    ptr = starts(np.bincount(pair))
    rough = np.round(flat * 1.0004, 6)
    picture = Picture(("ab", "c"), np.array([[0, 0], [0, 1], [1, 0]]))
    by_hand = {
        "arrays": TabularMDP.from_arrays(P, R), "sparse": TabularMDP.from_arrays(by_action, R, 1),
        "by state": TabularMDP.from_arrays(P, [0.1, 0.2, 0.3], [0.5, 0.25, 0.25]),
        "by transition": TabularMDP.from_arrays(P, np.linspace(0, 1, 18).reshape(3, 2, 3), {0: 0.4, 2: 0.6}),
        "named": TabularMDP.from_arrays(P, 8 * R - 3, "b", rescale=True, name="three", discount=0.9, **names),
        "pairs": TabularMDP.from_pairs(LISTED, rescale=True, initial="pub", reward_law="beta", concentration=2.5),
        "numbers": TabularMDP.from_pairs([(2, 4, {0: 1.0}, 0.5), (0, 1, {2: 0.5, 0: 0.5}, 1), (1, 0, {1: 1}, 0)]),
        "costs": TabularMDP.from_costs(LISTED), "array costs": TabularMDP.from_costs(P, 10 * R, 2),
        "rows": TabularMDP.from_rows(flat, R.ravel(), 2),
        "sparse rows": TabularMDP.from_rows(sparse.csr_array(flat), R.ravel(), [2, 2, 2]),
        "tuple": TabularMDP.from_rows((ptr, succ, prob), R.ravel(), [[0, 5], [1, 2], [3, 9]]),
        "normalized": TabularMDP.from_rows(rough, R.ravel(), 2, [0.5002, 0.3, 0.2], normalize=True),
        "pictured": TabularMDP.from_arrays(P, R, picture=picture, reward_law="bernoulli"),
    }  # fmt: skip
    found = {name: whole(mdp) for name, mdp in by_hand.items()}
    mdp = by_hand["pictured"]
    for name, other in (
        ("permuted", mdp.permute([2, 0, 1], [1, 0])), ("by each", mdp.permute(actions=[[1, 0], [0, 1], [1, 0]])),
        ("shuffled", by_hand["pairs"].shuffled(3)), ("restricted", by_hand["numbers"].restrict_to_reachable()),
        ("relabelled", mdp.relabelled("beta", 3.0, "other")),
    ):  # fmt: skip
        found[name] = whole(other)
    found["moved picture"] = mdp.permute([2, 0, 1]).picture.cell
    found["dense"] = dict(zip("pr", by_hand["named"].to_arrays(), strict=True))
    found["laws"] = answers(
        [
            lambda s=s, a=a, m=m: m.transition_probabilities(s, a)
            for m in (by_hand["pairs"], mdp) for s in ("pub", "work", 0, 2) for a in ("go", "stay", 0, 1)
        ]
    )  # fmt: skip
    found["paid"] = answers(
        [lambda s=s, a=a: by_hand["pairs"].mean_reward(s, a) for s in ("home", 1) for a in ("go", 0, 1)]
    )
    same = [
        mdp == mdp.relabelled("bernoulli", 9.0, "x"),
        mdp == mdp.permute([1, 0, 2]),
        mdp == by_hand["arrays"],
        mdp == 3,
    ]
    beta = [by_hand["pairs"], by_hand["pairs"].relabelled("beta", 2.5, ""), by_hand["pairs"].relabelled("beta", 3, "")]
    found["same"] = [*same, *(one == other for one in beta for other in beta)]
    return found


def refused():
    """Wrong arguments of the makers, and their neighbours that are right."""
    ok = (Pairs.uniform(3, 2), Rows(*TabularMDP.from_arrays(P, R).rows), R.ravel(), np.array([1.0, 0, 0]))
    cell = np.array([[0, 0], [0, 1], [1, 0]])

    def mdp(**change):
        names = ("pairs", "rows", "r_mean", "initial")
        return whole(TabularMDP(**(dict(zip(names, ok, strict=True)) | change)))

    rows, flat = ok[1], P.reshape(6, 3)
    calls = [
        lambda: mdp(r_mean=R), lambda: mdp(r_mean=R.ravel() + 1e-9), lambda: mdp(r_mean=R.ravel() - 1e-9),
        lambda: mdp(r_mean=np.array([0, 1, 0, 1, np.nan, 0.5])), lambda: mdp(initial=np.array([1.0, 0])),
        lambda: mdp(initial=np.array([1.0, 1e-7, 0])), lambda: mdp(initial=np.array([1 - 1e-9, 0, 0])),
        lambda: mdp(initial=np.array([1.5, -0.5, 0])), lambda: mdp(initial=np.array([np.nan, 1, 0])),
        lambda: mdp(reward_law="gamma"), lambda: mdp(name=3), lambda: mdp(concentration=0.0),
        lambda: mdp(concentration=np.inf), lambda: mdp(concentration="x"), lambda: mdp(reward_map=(0.0, 1)),
        lambda: mdp(reward_map=(1, np.inf)), lambda: mdp(reward_map=(np.inf, 0)), lambda: mdp(reward_map=(1,)),
        lambda: mdp(discount=1.0), lambda: mdp(discount=0.0), lambda: mdp(discount=-0.1),
        lambda: mdp(picture=Picture(("ab",), cell[:2])), lambda: mdp(picture=Picture(("ab", "c"), cell)),
        lambda: mdp(picture=3), lambda: mdp(rows=rows._replace(prob=rows.prob * 1.01)),
        lambda: mdp(rows=rows._replace(prob=rows.prob * (1 + 1e-9))),
        lambda: mdp(rows=rows._replace(succ=rows.succ[::-1])),
        lambda: mdp(rows=rows._replace(ptr=rows.ptr[:-1])), lambda: mdp(rows=3), lambda: mdp(pairs=3),
        lambda: mdp(rows=rows._replace(succ=np.where(rows.succ == 2, 3, rows.succ))),
        lambda: mdp(rows=rows._replace(prob=np.where(rows.prob == 0.3, 0.0, rows.prob))),
        lambda: mdp(rows=rows._replace(prob=-rows.prob)), lambda: TabularMDP.from_arrays(P[:2], R),
        lambda: TabularMDP.from_arrays(P, R[:2]), lambda: TabularMDP.from_arrays(sparse.csr_array(flat), R),
        lambda: TabularMDP.from_arrays([sparse.csr_array(P[:, 0]), P[:, 1]], R),
        lambda: TabularMDP.from_arrays([sparse.csr_array(P[:, 0]), sparse.csr_array(P[:2, 1])], R),
        lambda: TabularMDP.from_arrays(P, R, 3), lambda: TabularMDP.from_arrays(P, R, -1),
        lambda: TabularMDP.from_arrays(P, R, "x"),
        lambda: TabularMDP.from_arrays(P, R, {0: 0.5, 7: 0.5}), lambda: TabularMDP.from_arrays(P, R, [0.5, 0.5]),
        lambda: TabularMDP.from_arrays(P, R, rescale=True, reward_map=(1, 0)),
        lambda: TabularMDP.from_arrays(P, R, nam="x"),
        lambda: TabularMDP.from_arrays(P, R, state_names=["a", "b"]),
        lambda: TabularMDP.from_arrays(P, R, state_names=["a", "b", "a"]),
        lambda: TabularMDP.from_arrays(P, R, action_names=["a"]), lambda: TabularMDP.from_arrays(P * 1.0009, R),
        lambda: TabularMDP.from_arrays(P * 1.0011, R, normalize=True), lambda: TabularMDP.from_rows(flat, R.ravel(), 4),
        lambda: TabularMDP.from_rows(flat, R.ravel(), [2, 2]), lambda: TabularMDP.from_rows(flat, R.ravel()[:5], 2),
        lambda: TabularMDP.from_rows(flat[:, :2], R.ravel(), 2), lambda: TabularMDP.from_rows(flat, R.ravel(), []),
        lambda: TabularMDP.from_rows(P, R.ravel(), 2), lambda: TabularMDP.from_rows(([0, 1], [0], [0.5, 0.5]), [1], 1),
        lambda: TabularMDP.from_rows(([0, 2], [0], [1.0]), [1], 1), lambda: TabularMDP.from_pairs([]),
        lambda: TabularMDP.from_pairs([(0, 0, {0: 1}, 0), (0, 0, {0: 1}, 0)]),
        lambda: TabularMDP.from_pairs([(0, -1, {0: 1}, 0)]),
        lambda: TabularMDP.from_pairs([(0, 2**31, {0: 1}, 0)]),
        lambda: TabularMDP.from_pairs([(0, 2**31 - 1, {0: 1}, 0)]).n_pairs,
        lambda: TabularMDP.from_pairs([(0, 1.5, {0: 1}, 0)]), lambda: TabularMDP.from_pairs([(0, 0, {1: 1}, 0)]),
        lambda: TabularMDP.from_pairs([(0, 0, {0: 1}, 0), (1, "x", {0: 1}, 0)]),
        lambda: TabularMDP.from_pairs([(0, 0, 3, 0)]),
        lambda: TabularMDP.from_pairs([(0, 0, {0: 0.5, "x": 0.5}, 0)], 1),
        lambda: TabularMDP.from_costs(P, R, n_states=3),
        lambda: TabularMDP.from_costs([(0, 0)]), lambda: check_mdp("river"), lambda: check_mdp(3),
        lambda: TabularMDP.from_pairs(LISTED, rescale=True).to_arrays(),
        lambda: checked_picture(Picture(("a", 3), cell)),
        lambda: checked_picture(Picture(("ab", "c"), cell[:, :1])), lambda: checked_picture(Picture(("ab", ""), cell)),
        lambda: checked_picture(Picture(("ab", "c"), cell - 1)), lambda: checked_picture(Picture(("ab",), cell)),
        lambda: [same_picture(a, b) for a in (None, Picture(("a",), cell))
            for b in (None, Picture(("a",), cell), Picture(("b",), cell), Picture(("a",), 1 + cell))],
        lambda: check_n_states(2**31 - 1), lambda: check_n_states(2**31),
    ]  # fmt: skip
    return answers(calls)


def pairs():
    """Pairs, their names and numbers."""
    found = {}
    for name, one in (("some", SOME), ("named", NAMED), ("numbers", NUMBERS), ("uniform", Pairs.uniform(3, [1, 3, 2]))):
        found[name] = {
            "ptr": one.ptr, "action": one.action, "state": one.state,
            "n": [one.n_states, one.n_pairs, one.n_actions, one.n_action_ids, one.is_uniform],
            "labels": list(map(str, state_labels(one))),
            "actions": list(map(str, action_labels(one, one.action.tolist()))),
            "told": [one.describe(k) for k in range(one.n_pairs)], "call": [one.call(s) for s in range(one.n_states)],
            "allowed": [one.allowed(one.state_names[s] if one.state_names else s) for s in range(one.n_states)],
            "policy": str(named_policy(one, one.action[one.ptr[:-1]])),
        }  # fmt: skip
        states = (
            0,
            1,
            2,
            3,
            -1,
            "a",
            "b",
            ("b", 2),
            ["b", 2],
            5,
            7.5,
            7,
            1.0,
            True,
            np.int64(1),
            np.array([1]),
            np.array([0, 1]),
            None,
        )
        found[f"{name} states"] = answers([lambda s=s, one=one: one.state_number(s) for s in states])
        found[f"{name} are names"] = [one.is_state_name(s) for s in (0, "a", np.int64(1), 5, 2.5)]
        found[f"{name} actions"] = answers(
            [lambda a=a, one=one: one.action_number(a) for a in (0, 2, 4, 5, "x", "y", "z", 0.5)]
        )
        found[f"{name} found"] = [one.find(s, a) for s in range(one.n_states) for a in range(6)]
        found[f"{name} index"] = answers(
            [lambda s=s, a=a, one=one: one.index(s, a) for s in (0, "a", 5) for a in (0, "x", 1)]
        )
        found[f"{name} wrong pair"] = answers(
            [lambda k=k, one=one: one.describe(k) for k in (-1, one.n_pairs - 1, one.n_pairs)]
        )
    found["equal"] = [
        one == other
        for one in (SOME, NAMED, NUMBERS)
        for other in (SOME, NAMED, NUMBERS, Pairs(NAMED.ptr, NAMED.action), 3)
    ]
    calls = [
        lambda: Pairs(np.array([0]), np.array([], int)), lambda: Pairs(np.array([[0, 1]]), np.array([0])),
        lambda: Pairs(np.array([1, 2]), np.array([0, 1])), lambda: Pairs(np.array([0, 1]), np.array([0, 1])),
        lambda: Pairs(np.array([0, 1, 1]), np.array([0])), lambda: Pairs(np.array([0, 2]), np.array([1, 1])),
        lambda: Pairs(np.array([0, 2]), np.array([1, 0])), lambda: Pairs(np.array([0, 1]), np.array([-1])),
        lambda: Pairs(np.array([0, 1]), np.array([0]), ("a", "b")),
        lambda: Pairs(np.array([0, 1]), np.array([1]), None, ("a",)),
        lambda: Pairs(np.array([0, 1]), np.array([1]), None, ("a", "b", "c")).n_pairs,
        lambda: Pairs(np.array([0, 1]), np.array([0]), ["a"]),
        lambda: Pairs(np.array([0, 1]), np.array([0]), (None,)), lambda: Pairs.uniform(2, [1, 2, 3]),
        lambda: Pairs.uniform(2, [1, 0]),
        lambda: Pairs.uniform(0, 1), lambda: Pairs.uniform(2**12, 2**20), lambda: Pairs.uniform(2, 0),
        lambda: pairs_from(2, 3).action, lambda: pairs_from(["u", "v"], ["go", "stay"]).action,
        lambda: pairs_from(2, [[0, 4], ["x"]]),
        lambda: pairs_from(2, [["b", "a"], ["a"]]).action,
        lambda: pairs_from(["u", "v"], {"u": [0], "v": [1, 3]}).action,
        lambda: pairs_from(["u", "v"], {"u": [0]}), lambda: pairs_from(2, {0: [0], 5: [1]}),
        lambda: pairs_from(2, {0: [0], 1: 3}),
        lambda: pairs_from(2, [[0], [1], [2]]), lambda: pairs_from(2, [[0, 0], [1]]), lambda: pairs_from(["u", "u"], 2),
        lambda: pairs_from(3, [1, 2, 1]).ptr, lambda: pairs_from(2, [["a"], 3]), lambda: pairs_from(2.5, 2),
        lambda: pairs_from(2, [[], [0]]),
        lambda: checked_names("action", [1, "b", 2.5]), lambda: checked_names("state", [1, "b", 2.5]),
        lambda: checked_names("state", [float("nan")]),
        lambda: checked_names("state", [2**1024]), lambda: checked_names("state", [2**1023]),
        lambda: names_from_json([["a", 1], 2]),
        lambda: names_from_json([]), lambda: names_within([1, 2]), lambda: names_within([1, "a", 1]),
        lambda: plain_name(np.array([1, True])),
        lambda: number_of("state", 3, 4, None), lambda: number_of("action", "x", 4, None),
        lambda: number_of("action", None, 4, None),
        lambda: number_of("state", 4, 4, None), lambda: number_of("state", "b", 2, numbered(("a", "b"))),
        lambda: number_of("state", "c", 2, numbered(("a", "b"))),
        lambda: number_of("state", 1, 2, numbered(("a", "b"))), lambda: number_of("state", 1, 2, numbered((1, 0))),
        lambda: number_of("state", 3, 2, numbered((1, 0))),
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


def rows():
    pair, succ, prob = triplets()
    order, three = np.random.default_rng(1).permutation(len(pair)), Pairs.uniform(3, 2)
    twice = np.concatenate([pair, pair]), np.concatenate([succ, succ]), np.concatenate([prob, 0 * prob])
    found = {
        "sorted": rows_from_triplets(three, pair[order], succ[order], prob[order]),
        "twice": rows_from_triplets(three, *twice),
        "taken": rows_from_triplets(three, pair, succ, prob).take(np.array([4, 0, 4])),
        "table": rows_from_table(np.array([2, 0, 1, 2]), np.array([0.25, 0.75, 0.5, 0.5]), 2),
        "reached": reached(np.array([1, 0, 0, 0, 0], bool), np.array([0, 1, 3, 2]), np.array([1, 2, 4, 0])),
        "starts": starts([2, 0, 3]), "owners": owners(np.array([0, 2, 2, 5])),
        "rows": np.concatenate(take_rows(np.array([0, 2, 2, 5]), np.array([2, 0, 1]))),
        "lengths": np.concatenate([np.append(place.ravel(), -len(place))
            for place in rows_by_length(np.array([0, 2, 2, 5, 7, 8, 10]), 2)]),
        "numbers": [number_by_appearance(np.array(x))
            for x in ([7, 3, 7, 0], [1, 0, 1, 1], [100, 3, 100, 3], [-1, 5, -1, 2])],
        "texts": number_by_appearance(np.array(["b", "a", "b"])), "none": number_by_appearance(np.zeros(0, int)),
    }  # fmt: skip
    good = rows_from_triplets(three, pair, succ, prob)
    calls = [
        lambda: rows_from_triplets(three, pair, succ, 1.0005 * prob),
        lambda: rows_from_triplets(three, pair, succ, 1.0005 * prob, normalize=True),
        lambda: rows_from_triplets(three, pair, succ, 1.002 * prob),
        lambda: rows_from_triplets(three, pair, succ, 1.002 * prob, normalize=True),
        lambda: rows_from_triplets(three, pair, succ, prob * (1 + 2e-8)),
        lambda: rows_from_triplets(three, pair, succ, prob * (1 + 5e-9)),
        lambda: check_entries(three, pair, succ - 1, prob), lambda: check_entries(three, pair, succ + 1, prob),
        lambda: check_entries(three, pair, succ, -prob),
        lambda: check_entries(three, pair, succ, prob * np.nan), lambda: check_entries(three, pair, succ, prob),
        lambda: checked_rows(three, good), lambda: checked_rows(three, good._replace(prob=good.prob[:-1])),
        lambda: checked_rows(three, Rows(good.ptr, good.succ, np.where(np.arange(len(prob)) == 3, np.inf, good.prob))),
        lambda: check_starts("ptr", np.array([0, 2]), 2, 2), lambda: check_starts("ptr", np.array([0, 2, 3]), 2, 2),
        lambda: check_starts("ptr", np.array([1, 2, 2]), 2, 2),
        lambda: check_starts("ptr", np.array([0, 3, 2, 4]), 3, 4),
        lambda: check_starts("ptr", np.array([0, 2, 2, 4]), 3, 4),
        lambda: check_visits(np.array([3, 1]), np.array([0, 2, 3]), np.array([2, 1, 1])),
        lambda: check_visits(np.array([3, 2]), np.array([0, 2, 3]), np.array([2, 1, 1])),
        lambda: frozen("x", [1.5], np.int64), lambda: frozen("x", [2**31], np.int32),
        lambda: frozen("x", [2**31 - 1, -(2**31)], np.int32), lambda: frozen("x", [-(2**31) - 1], np.int32),
        lambda: [frozen("x", [1, 2], float).flags.writeable, frozen("x", [], np.int64).dtype == np.int64],
        lambda: initial_distribution(("b", 2), NAMED), lambda: initial_distribution(0, NAMED),
        lambda: initial_distribution(0, NUMBERS), lambda: initial_distribution(5, NUMBERS),
        lambda: initial_distribution([0.5, 0.5005], NAMED, normalize=True),
        lambda: initial_distribution([0.5, 0.5015], NAMED, normalize=True),
        lambda: initial_distribution([0.5, 0.5005], NAMED),
        lambda: [is_sparse(sparse.csr_array(P[0])), is_sparse(P)], lambda: read_arrays(P, R)[2],
        lambda: read_rows(P.reshape(6, 3), R.ravel(), SOME),
        lambda: read_pairs(LISTED, None, state_names=None, action_names=None)[2],
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


def moves():
    """Other numbers, dynamics and rewards."""
    found = {}
    for name, way in (
        ("permuted", permutation(SOME, [2, 0, 1], [4, 1, 0, 3, 2])), ("same", permutation(NAMED)),
        ("by state", permutation(SOME, None, [[3, 0], [1], [4, 0, 2]])), ("named", permutation(NAMED, [1, 0], [1, 0])),
        ("restricted", restriction(SOME, np.array([True, False, True]))),
        ("part", restriction(NAMED, np.array([False, True]))),
    ):  # fmt: skip
        found[name] = {
            "state": way.state,
            "source": way.source,
            "ptr": way.pairs.ptr,
            "action": way.pairs.action,
            "names": [str(way.pairs.state_names), str(way.pairs.action_names)],
        }
        found[f"{name} values"] = by_state(np.arange(way.state.size) * 1.5, way)
    states, actions = random_numbers(SOME, np.random.default_rng(4))
    found["random"] = {"states": states, "actions": np.concatenate(actions)}
    calls = [
        lambda: permutation(SOME, [0, 1, 1]), lambda: permutation(SOME, [0, 1]),
        lambda: permutation(SOME, [0.0, 1, 2]), lambda: permutation(SOME, None, [[3, 0], [1]]),
        lambda: permutation(SOME, None, [[3, 0], [1], [4, 0]]),
        lambda: permutation(SOME, None, [[3, 1], [1], [4, 0, 2]]), lambda: permutation(SOME, None, [0, 1, 2]),
        lambda: rescale_rewards([]), lambda: rescale_rewards([1, np.inf]), lambda: rescale_rewards([2, 2]),
        lambda: rescale_rewards([-1.0, 0.0, 3.0]),
        lambda: unit_map(np.array([-1e308, 1e308])), lambda: reward_map_of((1, 1)), lambda: reward_map_of((0, 2)),
        lambda: reward_map_of((0,)), lambda: reward_map_of((-1e308, 1e308)),
        lambda: original_rewards([0.1, 0.7], (3.0, -2.1)), lambda: original_rewards([0.1, 0.7], (1.0, 0.0)),
        lambda: original_rewards([0.7], (3e-5, 1e-5)), lambda: original_rewards([0.7], (1e-310, 0.0)),
        lambda: original_gain(0.25, (4.0, -1.0)), lambda: original_values(np.array([2.0, 3.0]), 0.9, (4.0, -1.0)),
    ]  # fmt: skip
    found["calls"] = answers(calls)
    mdp = TabularMDP.from_arrays(P, R, reward_law="beta", concentration=3.0)
    world = dynamics_of(mdp)
    plain = getattr(successor_drawn, "py_func", successor_drawn)
    found["drawn"] = [plain(world.rows, k, u) for k in range(6) for u in (0.0, 0.2, 0.25, 0.5, 0.75, 0.999)]
    found["world"] = {
        "prob": world.rows.prob,
        "k": [world.concentration, dynamics_of(TabularMDP.from_arrays(P, R)).concentration],
    }
    out = np.empty(len(mdp.rows.prob))
    cumulate_rows(mdp.rows.ptr, mdp.rows.prob, out)
    found["sums"] = out
    for law in ("deterministic", "bernoulli", "beta"):
        found[law] = draw_rewards(law, np.linspace(0, 1, 9), 3.0, np.random.default_rng(2))
    found["chances"] = Chances(np.zeros(2), np.zeros(0))
    rng = np.random.default_rng(0)
    rng.random(5)
    put_back(rng, 2)
    put_back(rng, 0)
    child = np.random.SeedSequence(5, n_children_spawned=3)
    found["seeds"] = [
        rng.random(),
        *seed_sequence("seed", 5).generate_state(2),
        *seed_sequence("seed", child).spawn(1)[0].generate_state(2),
    ]
    found["wrong seeds"] = answers(
        [lambda s=s: seed_sequence("seed", s).entropy % 1000 for s in (-1, 0, 1.5, None, 2**70)]
    )
    return found


CASES = {"made": made, "refused": refused, "pairs": pairs, "rows": rows, "moves": moves}


@pytest.mark.parametrize("case", CASES)
def test_problems_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
