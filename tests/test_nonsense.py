"""Nonsense in place of each argument of each public function: an error that names the culprit."""

import math
import re

import numpy as np
import pytest

import equirl as eq
from equirl import theory

RIVER = eq.make("riverswim", n_states=4)
M = RIVER.n_pairs
ARRAYS, CLASSES, POLICY = RIVER.to_arrays(), eq.equivalence_classes(RIVER), eq.solve(RIVER).policy
COUNTS = {"visits": [3] * M, "profile_ptr": np.arange(M + 1), "profile_counts": [3] * M}


def observe(**step):
    agent = eq.make_agent("c-ucrl", 4, 2)
    agent.act(0)
    agent.observe(**step)


CALLS = {
    "equivalence_classes": (eq.equivalence_classes, {"mdp": RIVER, "rewards": True, "tolerance": 1e-9}),
    "separation": (eq.separation, {"mdp": RIVER, "tolerance": 1e-9}),
    "profiles": (eq.profiles, {"mdp": RIVER}),
    "solve": (eq.solve, {"mdp": RIVER, "accuracy": 1e-8, "max_sweeps": 1000}),
    "diameter": (eq.diameter, {"mdp": RIVER, "max_states": 10}),
    "chain_kind": (eq.chain_kind, {"mdp": RIVER}),
    "evaluate_policy": (eq.evaluate_policy, {"mdp": RIVER, "policy": POLICY}),
    "policy_gain": (eq.policy_gain, {"mdp": RIVER, "policy": POLICY}),
    "stationary_law": (eq.stationary_law, {"mdp": RIVER, "policy": POLICY}),
    "simulate": (eq.simulate, {"mdp": RIVER, "agent": "c-ucrl", "horizon": 9, "seed": 0, "gain": 0.5}),
    "simulate_many": (eq.simulate_many, {"mdp": RIVER, "learners": ["ucrl2-l"], "horizon": 9, "seeds": range(2)}),
    "make_agent": (eq.make_agent, {"name": "c-ucrl", "n_states": 4, "n_actions": 2, "seed": 0, "reward_range": (0, 1)}),
    "agent_for": (eq.agent_for, {"mdp": RIVER, "name": "c-ucrl", "seed": 0}),
    "make_settings": (eq.make_settings, {"name": "c-ucrl", "delta": 0.1, "effort": 9.0, "warm_start": True}),
    "observe": (observe, {"state": 0, "action": 0, "reward": 0.5, "next_state": 1}),
    "approx_equivalence": (
        eq.approx_equivalence,
        {**COUNTS, "n_states": 4, "delta": 0.05, "balance": 4.0, "radius": "pooled", "nearest_by": "law"}
        | {"r_sum": [0.0] * M, "priority": list(range(M))},
    ),
    "misclustering_ratio": (eq.misclustering_ratio, {"partition": CLASSES, "truth": CLASSES, "visits": [3] * M}),
    "misclustering_bias": (
        eq.misclustering_bias, {"partition": CLASSES, "truth": CLASSES, **COUNTS, "successors": [0] * M}
    ),
    "from_arrays": (eq.TabularMDP.from_arrays, {"transitions": ARRAYS[0], "rewards": ARRAYS[1], "initial": 0}),
    "from_pairs": (eq.TabularMDP.from_pairs, {"pairs": [(0, 0, {0: 1.0}, 0.5)], "n_states": 1, "initial": 0}),
    "from_rows": (
        eq.TabularMDP.from_rows,
        {"transitions": ARRAYS[0].reshape(M, -1), "rewards": RIVER.r_mean, "actions": 2, "normalize": False},
    ),
    "TabularMDP": (
        eq.TabularMDP,
        {"pairs": RIVER.pairs, "rows": RIVER.rows, "r_mean": RIVER.r_mean, "initial": RIVER.initial}
        | {"reward_law": "beta", "concentration": 2.0, "reward_map": (1.0, 0.0)},
    ),
    "Pairs.uniform": (eq.Pairs.uniform, {"n_states": 2, "n_actions": 2}),
    "Partition.singletons": (eq.Partition.singletons, {"n_pairs": 3}),
    "profile_distance": (eq.profile_distance, {"mdp": RIVER, "pair": 0, "other": 1, "contrast": "l1"}),
    "similar": (eq.similar, {"mdp": RIVER, "pair": 0, "other": 1, "eps_p": 0.1, "eps_mu": 0.1}),
    "from_toolbox": (eq.from_toolbox, {"transitions": ARRAYS[0].transpose(1, 0, 2), "rewards": ARRAYS[1]}),
    "to_toolbox": (eq.to_toolbox, {"mdp": RIVER}),
    "permute": (RIVER.permute, {"states": [1, 0, 2, 3], "actions": [1, 0]}),
    "shuffled": (RIVER.shuffled, {"seed": 1}),
    "make": (eq.make, {"name": "riverswim", "n_states": 4, "forward": 0.4}),
    "make grid": (eq.make, {"name": "grid", "map": ["S.G"], "walls_are_states": False, "goal_reward": 0.5}),
    "load_world": (eq.load_world, {"text": "riverswim:n_states=4"}),
    "theorem1_bound": (theory.theorem1_bound, {"D": 5.0, "S": 4, "C": 2, "T": 100, "delta": 0.05}),
    "ucrl2_bound": (theory.ucrl2_bound, {"D": 5.0, "S": 4, "A": 2, "T": 100, "delta": 0.05}),
    "azuma_width": (theory.azuma_width, {"T": 10, "delta": 0.05, "c": 1.0}),
    "proposition1_samples": (
        theory.proposition1_samples, {"separation": 0.5, "n_states": 4, "n_pairs": 8, "delta": 0.05}
    ),
}  # fmt: skip
NONSENSE = [math.nan, -1, "nonsense", object(), [[math.nan]], [-1.5] * M, {"a": 1}]

# What a message says where it does not begin with the argument's name; by call and argument, or by argument alone.
DESCRIBED = {
    ("make", "name"): "^unknown world ",
    ("make grid", "name"): "^unknown world ",
    "name": "^unknown learner ",
    "text": "^unknown world 'nonsense'",
    "agent": "^unknown learner 'nonsense'",
    "learners": r"^a learner to compare is its name or \(name, settings\), not ",
    "seeds": "^a seed must be an integer, not ",
    "next_state": "^(a )?state ",
    ("from_pairs", "pairs"): r" in pairs is not \(state, action, ",
    ("from_rows", "rewards"): "^the mean reward of ",
    "r_mean": "^the mean reward of ",
    "map": "^cell 0,0 of the map is '[na]'",
    "pair": "^there is no pair -1",
    "other": "^a pair is its number |^there is no pair -1",
}


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_themselves_make_sense(name):
    call, arguments = CALLS[name]
    call(**arguments)


@pytest.mark.parametrize(("name", "argument"), [(name, argument) for name in CALLS for argument in CALLS[name][1]])
@pytest.mark.filterwarnings("error")
def test_nonsense_is_named(name, argument):
    call, arguments = CALLS[name]
    named = rf"^((an?|the|unknown) )?{argument}\b"
    described = DESCRIBED.get((name, argument), DESCRIBED.get(argument, named))
    for value in NONSENSE:
        with pytest.raises((TypeError, ValueError)) as info:
            call(**{**arguments, argument: value})
        assert re.search(f"{named}|{described}", str(info.value)), f"{value!r} is answered by {info.value}"
