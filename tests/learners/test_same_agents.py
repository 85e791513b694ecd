"""What agents hold and say after given steps is what it was: arrays, plans, beliefs, reasons (``same_agents.json``).

Halfway each is saved in memory, and a new one goes on from there: whatever is not kept is missed at the end.
``python tests/learners/test_same_agents.py`` stores them anew.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import equirl as eq
from equirl.estimation.pooling import Grouping
from equirl.learners.contract import (
    Limits,
    State,
    Stretch,
    is_over,
    pair_limits,
    pair_played,
    spend_path,
    step_limits,
)
from equirl.learners.imed import (
    CountedRows,
    average,
    best_outcome,
    empirical_bias,
    mean_outcome,
    outcome_distribution,
    skeleton,
    write_indices,
)
from equirl.learners.published_learner import quicksort_order
from equirl.learners.q_learning import Members, Taught, choose_by_value, place_in_profile, teach_class
from equirl.learners.stopping import VanishingRule, doubling_limits
from equirl.learners.structures import number_labels
from stored_kit import answer, check, store

STEPS = 90


def world():
    """Four states, up to three actions; pairs of states 1 and 3 do alike; rewards from -1 to 3."""
    rng = np.random.default_rng(7)
    p, r = rng.random((4, 3, 4)) ** 3, 4 * rng.random((4, 3)) - 1
    p[0, 1:, 2] = p[1:, 0, 0] = 0.0
    p[3, 1:] = p[1, 1:][:, [2, 3, 0, 1]]
    r[3, 1:] = r[1, 1:]
    p /= p.sum(axis=2, keepdims=True)
    pairs = [
        (f"s{s}", f"a{a}", {f"s{x}": float(p[s, a, x]) for x in range(4) if p[s, a, x] > 0}, float(r[s, a]))
        for s in range(4) for a in range(3) if (s, a) != (2, 1)
    ]  # fmt: skip
    return eq.TabularMDP.from_pairs(pairs, rescale=True)


def told(belief):
    return belief() if callable(belief) else belief


def beliefs_of(agent):
    beliefs, S = agent.beliefs, agent.pairs.n_states
    names = ("classes", "alike_by", "plan", "greedy_policy", "named_policy", "gain_bounds", "estimates", "uncertainty")
    questions = {name: lambda name=name: told(getattr(beliefs, name)) for name in (*names, "measures")}
    questions |= {
        "gap": lambda: beliefs.policy_gap(1, 0.1), "value": lambda: beliefs.value_bounds(beliefs.greedy_policy(), 0.9),
    }  # fmt: skip
    found = {name: answer(question) for name, question in questions.items()}
    for k in (0, 5, agent.pairs.n_pairs - 1):
        found[f"pair {k}"] = answer(lambda k=k: beliefs.pair_belief(k))
        found[f"alike {k}"] = answer(lambda k=k: beliefs.alike_to(k))
    for s in (0, S - 1):
        found[f"values {s}"] = answer(lambda s=s: beliefs.action_values(s))
        found[f"why {s}"] = answer(lambda s=s: str(beliefs.explain(f"s{s}")))
    return found


def played(agent, mdp, first, last, state):
    """Steps of the world whose chance is that of their number."""
    scale, shift = mdp.reward_map
    for t in range(first, last):
        action = agent.act_id(state)
        k = int(mdp.pairs.index(state, action))
        u, v = np.random.default_rng(1000 + t).random(2)
        row = mdp.rows.row(k)
        after = int(
            mdp.rows.succ[row][min(np.searchsorted(np.cumsum(mdp.rows.prob[row]), u), row.stop - row.start - 1)]
        )
        mean = float(mdp.r_mean[k])
        ends = t % 17 == 16
        agent.observe(state, action, scale * (0.8 * mean + 0.2 * mean * v) + shift, after, terminated=ends)
        state = after
    return state


def lived(name, **settings):
    def case():
        mdp = world()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            agent = eq.agent_for(mdp, name, seed=3, **settings)
            state = played(agent, mdp, 0, STEPS // 2, 0)
            kept = agent.state()
            values = json.loads(json.dumps(kept.values, default=lambda number: number.item()))
            twin = eq.agent_for(mdp, name, seed=99, **settings)
            twin.restore(State({key: array.copy() for key, array in kept.arrays.items()}, values))
            twin.t, twin.pending = agent.t, agent.pending
            twin.episode_starts, twin.n_unconverged = list(agent.episode_starts), agent.n_unconverged
            state = played(twin, mdp, STEPS // 2, STEPS, state)
            end = twin.state()
            arrays = {key: array for key, array in end.arrays.items() if array.dtype.kind in "fib"}
            found = {"arrays": arrays, "starts": twin.episode_starts, "at": [state, twin.t, twin.n_unconverged]}
            return found | {"said": beliefs_of(twin)}

    return case


def limits():
    """What ends a stretch, step by step."""
    found, path = {}, np.array([0, 1, 1, 2, 0, 1, 3, 3, 2, 1, 0, 0, 3, 2, 2, 1])
    label, left = np.array([0, 0, 1, 1]), np.array([3, 2, 4, 1])
    for grace in (0, 2, 8, 40):
        own = Limits(label, left.copy(), np.array([6, 4]), np.array([grace, 0]), np.array([12]))
        ends = []
        for k in path:
            ends.append(is_over(int(k), own))
            spend_path(np.array([k]), own)
        found[f"grace {grace}"] = {"ends": ends, **own._asdict()}
    for name, made in (
        ("steps", step_limits(3)),
        ("pairs", pair_limits(np.array([2, 1, 3, 2]))),
        ("none", step_limits()),
    ):
        ends = []
        for k in path[:6]:
            ends.append(is_over(int(k), made))
            spend_path(np.array([k]), made)
        found[name] = {"ends": ends, "pair left": made.pair_left, "steps": made.steps % 1000, "grace": made.grace}
    for grace in (0, 5):
        own = Limits(label, left.copy(), np.array([6, 4]), np.array([grace, 0]), np.array([30]))
        spend_path(path, own)
        found[f"whole path {grace}"] = own
    coins = Stretch(np.array([1, 2]), step_limits(), np.array([0.0, 0.4, 0.99]))
    plain = getattr(pair_played, "py_func", pair_played)
    found["played"] = [plain(coins, np.array([0, 2, 5]), s, i) for s in (0, 1) for i in range(3)]
    found["chosen"] = [plain(Stretch(np.array([1, 4]), step_limits()), np.array([0, 2, 5]), s, 0) for s in (0, 1)]
    visits, groups = np.array([0, 1, 5, 9, 0]), Grouping(np.array([0, 0, 1, 1, 2]), 3)
    for rule in ("pair", "class", "either"):
        for grace in (0.0, 7.9):
            found[f"doubling {rule} {grace}"] = answer(
                lambda rule=rule, grace=grace: doubling_limits(rule, visits, groups, grace)
            )
    vanishing = VanishingRule()
    found["vanishing"] = vanishing.limits(visits, groups, 3.0)
    found["growth"] = [vanishing.growth(t) for t in (1, 2, 10, 1000, 10**6)]
    number, out = np.full(6, -1), np.empty(6, np.int64)
    found["labels"] = [number_labels(np.array([4, 4, 2, 5, 2, 5]), number, out), *out, *number]
    return found


def indices():
    """IMED's parts, with and without a prior."""
    found, ptr = {}, np.array([0, 2, 5, 6])
    rows = np.array([0, 2, 3, 5, 5, 6, 7])
    for prior in (0.0, 1.5):
        for binary in (True, False):
            model = CountedRows(
                ptr, rows, np.array([0, 1, 2, 0, 2, 1, 0]), np.array([30.0, 12.0, 5.0, 2.0, 1.0, 60.0, 3.0]),
                np.array([42.0, 5.0, 3.0, 0.0, 60.0, 3.0]), np.array([0.3, 0.5, 0.9, 0.0, 0.2, 0.6]),
                np.full(6, binary), prior,
            )  # fmt: skip
            phi, keep = np.array([0.1, 0.6, 0.0]), np.zeros(6, np.bool_)
            skeleton(ptr, model.visits, keep)
            name = f"{prior} {binary}"
            found[f"kept {name}"] = keep
            found[f"mean {name}"] = [mean_outcome(model, k, phi, average(phi)) for k in (0, 1, 2, 4, 5)]
            found[f"best {name}"] = [best_outcome(model, keep, s, phi, 0.2) for s in range(3)]
            weight, x = np.zeros(12), np.zeros(12)
            found[f"law {name}"] = {"n": [outcome_distribution(model, 0, phi, weight, x)], "weight": weight, "x": x}
            for state in range(3):
                out = np.empty(ptr[state + 1] - ptr[state])
                gamma = write_indices(model, keep, state, phi, 1.0 + phi.max(), out)
                found[f"index {name} {state}"] = {"gamma": [gamma], "out": out}
            bias = np.zeros(3)
            found[f"bias {name}"] = {"end": empirical_bias(model, keep, 0.01, 50, bias), "phi": bias}
    return found


def teaching():
    """Steps of Q-learning: alone and for a class, with rewards of its own."""
    found, ptr = {}, np.array([0, 2, 5, 6])
    coins = np.random.default_rng(5).random(60)
    q = np.array([0.5, 0.5, 0.2, 0.9, 0.9, 0.4])
    used, said = 0, []
    for i in range(15):
        pair, used = choose_by_value(i % 3, q, ptr, 0.4, coins, used)
        said += [pair, used]
    found["chosen"] = said
    alone = Members(ptr, np.arange(6), np.arange(7), np.arange(6), np.zeros(7, np.int64), np.zeros(0, np.int32))
    label = np.array([0, 1, 0, 1, 0, 1])
    order, starts = np.argsort(label, kind="stable"), np.array([0, 3, 6])
    succ = np.array([0, 1, 1, 2, 2, 0, 0, 2, 1, 0, 2, 1], np.int32)
    shared = Members(ptr, label, starts, order, np.arange(7) * 2, succ)
    found["places"] = [
        place_in_profile(k, x, members) for members in (alone, shared) for k in range(6) for x in range(3)
    ]
    for name, members in (("alone", alone), ("shared", shared)):
        for rate in (0.0, 0.7):
            for own in (False, True):
                sums, visits = (
                    (np.array([1.0, 0, 2, 0.5, 0, 3]), np.array([2, 0, 3, 1, 0, 4]))
                    if own
                    else (np.zeros(0), np.zeros(0, np.int64))
                )
                taught = Taught(q.copy(), np.arange(6), np.zeros(3, np.int64), sums, visits)
                for pair, state, x in ((0, 0, 1), (3, 1, 2), (5, 2, 1), (2, 1, 1), (0, 0, 0)):
                    teach_class(pair, state, 0.25 * pair / 2, x, (0.9, rate), members, taught)
                found[f"{name} {rate} {own}"] = {"q": taught.q, "n": taught.n, "policy": taught.policy}
    for n in (1, 15, 16, 17, 40, 200):
        for kinds in (2, 5, 1000):
            values, places = np.random.default_rng(n).integers(0, kinds, n), np.empty(n, np.int64)
            quicksort_order(values, places)
            found[f"sorted {n} {kinds}"] = places
    return found


CASES = {name: lived(name) for name in sorted(eq.AGENTS) if not name.startswith("toy-")}
CASES |= {
    "c-ucrl, all apart": lived("c-ucrl", rewards="per_pair", stopping="either", warm_start=True),
    "c-ucrl, discounted": lived("c-ucrl", discount=0.9),
    "c-ucrl-c, pooled": lived("c-ucrl-c", pooling="class", rewards="known"),
    "psrl, discounted": lived("psrl", discount=0.9),
    "c-psrl, few in turn": lived("c-psrl", scan=3, hope=2.0),
    "q-learning, by powers": lived("q-learning", steps="power", explore=0.3),
    "imed-rl, not binary": lived("imed-rl", binary=False, prior=0.0),
    "limits": limits,
    "indices": indices,
    "teaching": teaching,
}


@pytest.mark.parametrize("case", CASES)
def test_agents_hold_and_say_what_they_did(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
