"""One unit and one set of names: of a problem in euros every answer is in euros, or says that it is not."""

from __future__ import annotations

import importlib.util
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import equirl as eq
from equirl.logs.log_policy import Learned
from equirl.solving.discounted import DiscountedSolution
from equirl.solving.goals import GoalSolution
from equirl.solving.optimal_gain import Solution
from equirl.words.answer_units import answers

PAGE = Path(__file__).parents[1] / "docs" / "answer_table.py"
SCALE, SHIFT = 40.0, -10.0
PAIRS = [
    ("new", "run", {"new": 0.8, "worn": 0.2}, 1.0),
    ("worn", "run", {"worn": 0.6, "new": 0.4}, 0.5),
    ("worn", "stop", {"new": 1.0}, 0.0),
]
PLAIN = eq.TabularMDP.from_pairs(PAIRS, reward_law="bernoulli")
EUROS = replace(PLAIN, reward_map=(SCALE, SHIFT))
ROWS = [
    (s, a, float(k % 7 < 4), "new" if k % 3 else "worn")
    for k, (s, a) in enumerate([("new", "run"), ("worn", "run"), ("worn", "stop")] * 12)
]


def loaded():
    spec = importlib.util.spec_from_file_location("answer_table", PAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


table = loaded()


def in_euros(rows):
    return [(s, a, SCALE * r + SHIFT, x) for s, a, r, x in rows]


def pairs_of_objects():
    """Of every kind of answer two: of the problem in [0, 1], and of the same in euros."""
    logs = [eq.from_log(ROWS, reward_range=(0, 1)), eq.from_log(in_euros(ROWS), reward_range=(SHIFT, SHIFT + SCALE))]
    mdps = [PLAIN, EUROS]
    choice = {"new": "run", "worn": "stop"}
    made = {
        "TabularMDP": mdps,
        "Solution": [eq.solve(mdp) for mdp in mdps],
        "DiscountedSolution": [eq.solve(mdp, discount=0.5) for mdp in mdps],
        "GoalSolution": [eq.solve(mdp, goal="new", objective="reward") for mdp in mdps],
        "Policy": [eq.Policy(mdp, choice) for mdp in mdps],
        "PolicyValue": [eq.Policy(mdp, choice).evaluate() for mdp in mdps],
        "Trace": [eq.simulate(mdp, "ucrl2-l", 300, until="gap=9e9") for mdp in mdps],
        "Evaluation": [eq.evaluate(choice, mdp, 100, seed=1) for mdp in mdps],
        "Log": logs,
        "Learned": [log.learn(draws=4) for log in logs],
    }
    traces = made["Trace"]
    return made | {"Beliefs": [t.agent.beliefs for t in traces], "AgentPlan": [t.agent.beliefs.plan for t in traces]}


MADE = pairs_of_objects()
MARKED = {(row.object, row.method.removesuffix("()")): row for row in answers(table.objects())}
SKIPPED = {  # that say what the units are, hold other objects, or cost time
    "reward_map",
    "log",
    "agent",
    "pairs",
    "mdp",
    "models",
    "estimates",
    "counts",
    "settings",
    "rows",
    "picture",
}


def members(thing):
    """The public fields and properties of an answer."""
    names = [field.name for field in fields(thing)] if is_dataclass(thing) else list(getattr(thing, "_fields", ()))
    names += [name for name, member in vars(type(thing)).items() if isinstance(member, property)]
    names += [name for name, member in vars(type(thing)).items() if hasattr(member, "func")]
    return sorted({name for name in names if not name.startswith("_")} - SKIPPED)


def numbers(value):
    """All the numbers in an answer, or None where it has none."""
    if hasattr(value, "values") and hasattr(value, "t"):  # curves
        return np.concatenate([np.ravel(value[name]) for name in ("regret", "reward")])
    if isinstance(value, float | int | np.number | np.ndarray) and not isinstance(value, bool):
        array = np.ravel(np.asarray(value))
        return array.astype(float) if array.dtype.kind in "iuf" else None
    if isinstance(value, tuple) and value and all(isinstance(part, float | np.ndarray) for part in value):
        return np.concatenate([np.ravel(part) for part in value]).astype(float)
    return None


@pytest.mark.parametrize("kind", MADE)
def test_what_is_not_said_to_be_in_units_does_not_depend_on_them(kind):
    plain, euros = MADE[kind]
    for name in members(plain):
        own, other = numbers(getattr(plain, name)), numbers(getattr(euros, name))
        if own is None:
            continue
        said = MARKED.get((kind, name))
        if said is None or said.unit != "the user's":
            np.testing.assert_allclose(
                other, own, rtol=1e-9, atol=1e-9, err_msg=f"{kind}.{name} is in the user's units"
            )
            assert said is None or name.startswith("unit_") or not said.unit or name in ("r_mean", "seen")
        elif np.isfinite(own).all() and own.any():
            assert not np.allclose(own, other, atol=0), f"{kind}.{name} is not in the user's units"


GAINS = [("Solution", "gain"), ("Policy", "gain"), ("Trace", "gain"), ("AgentPlan", "gain"), ("Learned", "gain")]
GAINS += [("Solution", "gain_by_state"), ("PolicyValue", "gain"), ("Learned", "behaviour"), ("Learned", "policy_gain")]
GAINS += [("TabularMDP", "rewards"), ("Log", "mean_reward"), ("Learned", "bounds"), ("Learned", "interval")]
GAINS += [("Evaluation", "mean_reward")]
DIFFERENCES = [("Solution", "bias"), ("Solution", "span"), ("Solution", "accuracy"), ("PolicyValue", "bias")]
DIFFERENCES += [("AgentPlan", "bias"), ("AgentPlan", "span"), ("Learned", "regret"), ("Learned", "loss")]
DIFFERENCES += [
    ("Learned", "optimism"),
    ("Trace", "gap"),
    ("Evaluation", "half_width"),
    ("DiscountedSolution", "accuracy"),
]


@pytest.mark.parametrize(("kind", "name"), GAINS)
def test_gains_and_rewards_are_mapped_whole(kind, name):
    plain, euros = (numbers(getattr(one, name)) for one in MADE[kind])
    np.testing.assert_allclose(euros, SCALE * plain + SHIFT, atol=1e-6)


@pytest.mark.parametrize(("kind", "name"), DIFFERENCES)
def test_differences_of_rewards_are_scaled(kind, name):
    plain, euros = (numbers(getattr(one, name)) for one in MADE[kind])
    np.testing.assert_allclose(euros, SCALE * plain, atol=1e-6)


def test_discounted_values_and_sums_of_rewards_are_mapped_by_their_steps():
    plain, euros = MADE["DiscountedSolution"]
    np.testing.assert_allclose(euros.value, SCALE * plain.value + SHIFT / 0.5, atol=1e-6)
    assert euros.value_from_start == pytest.approx(SCALE * plain.value_from_start + SHIFT / 0.5)
    plain, euros = MADE["Policy"]
    np.testing.assert_allclose(euros.values(0.5), SCALE * plain.values(0.5) + SHIFT / 0.5, atol=1e-6)
    plain, euros = MADE["Trace"]
    np.testing.assert_allclose(euros.regret, SCALE * plain.regret, atol=1e-6)
    np.testing.assert_allclose(euros.reward, SCALE * plain.reward + SHIFT * plain.t, atol=1e-6)
    np.testing.assert_array_equal(euros.unit_curves["regret"], plain.curves["regret"])


@pytest.mark.parametrize(
    "kind", ["Solution", "DiscountedSolution", "GoalSolution", "Learned", "Policy", "Beliefs", "Trace"]
)
def test_policies_are_given_by_name(kind):
    found = MADE[kind][1].named_policy()
    assert set(found) == {"new", "worn"}
    assert set(found.values()) <= {"run", "stop"}
    assert eq.Policy(EUROS, found).named_policy() == found


def test_a_run_that_was_not_to_recommend_a_policy_has_none():
    assert eq.simulate(EUROS, "random", 5).named_policy() == {}


def test_a_policy_that_draws_its_actions_is_given_with_their_probabilities():
    half = eq.Policy(EUROS, [1.0, 0.25, 0.75])
    assert half.named_policy() == {"new": {"run": 1.0}, "worn": {"run": 0.25, "stop": 0.75}}


def test_agents_answer_by_name_and_by_number():
    agent = MADE["Trace"][1].agent
    assert agent.act("new") == "run"
    assert agent.act_id("new") == agent.act_id(0) == 0
    assert eq.make_agent("psrl", 3, 2).act(0) in (0, 1)
    assert EUROS.state_names == ("new", "worn")
    assert EUROS.action_names == ("run", "stop")
    assert eq.make("riverswim", n_states=3).state_names == (0, 1, 2)


def test_tables_and_explanations_are_in_euros_and_by_name():
    agent = MADE["Trace"][1].agent
    rows = agent.beliefs.policy_table().rows()
    assert rows[0]["state"] == "new"
    assert SHIFT <= rows[0]["mean_reward"] <= SHIFT + SCALE
    assert rows[0]["mean_reward"] > 1
    low, high = agent.beliefs.gain_bounds()
    assert SHIFT <= low <= MADE["Solution"][1].gain <= high <= SHIFT + SCALE
    assert str(agent.beliefs.explain("new")).startswith("new, run")


def test_an_environment_pays_what_the_problem_pays():
    env = eq.TabularEnv(EUROS)
    env.reset(seed=0)
    assert env.step("run")[1] in (SHIFT, SHIFT + SCALE)
    assert env.P[0][0][0][2] == SHIFT + SCALE
    trace = eq.play(env, "psrl", 50)
    assert trace.agent.reward_map == (SCALE, SHIFT)
    assert trace.reward[-1] == pytest.approx(SCALE * trace.unit_curves["reward"][0, -1] + 50 * SHIFT)


@pytest.mark.parametrize("gain", [10.0, -10.0])
def test_a_gain_is_given_in_euros(gain):
    trace = eq.simulate(EUROS, "random", 10, gain=gain)
    assert trace.gain == pytest.approx(gain)
    assert trace.regret[-1] == pytest.approx(10 * gain - trace.reward[-1])


def test_a_gain_that_no_step_can_earn_is_refused():
    with pytest.raises(ValueError, match="gain must be between -10 and 30"):
        eq.simulate(EUROS, "random", 10, gain=31.0)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"new": "run"}, "the policy names no action for state 'worn'"),
        ({"new": "stop", "worn": "stop"}, "plays action 'stop' in state 'new', which allows: 'run'"),
        ([0, 9], "plays action 9 in state 'worn', which allows: 'run', 'stop'"),
        ({"new": "run", "worm": "stop"}, "policy: unknown state 'worm'; did you mean 'worn'"),
        ([1.0, 0.25, 0.7], "the policy's probabilities in state 'worn' sum to 0.95, not 1"),
    ],
)
def test_messages_about_policies_speak_names(policy, message):
    with pytest.raises(ValueError, match=message):
        eq.Policy(EUROS, policy)


def test_a_state_without_action_is_named():
    with pytest.raises(ValueError, match="state 'b' has no action"):
        eq.TabularMDP.from_pairs([("a", "go", {"b": 1.0}, 0.0)])


def test_every_kind_of_answer_is_in_the_table_and_every_row_exists():
    shown = table.table()
    for kind in (Solution, DiscountedSolution, GoalSolution, Learned):
        assert f"| `{kind.__name__}` | `named_policy()` |  | names |" in shown
    assert "| `Trace` | `gain` | the user's |  |" in shown
    assert "| `Learner` | `act()` |  | names |" in shown
    assert "| `Learner` | `act_id()` |  | numbers |" in shown
    assert "| `Solution` | `unit_gain` | [0, 1] |  |" in shown
    assert "| `Solution` | `table()` | the user's | names |" in shown
    assert "|  | `regret_lower_bound()` | the user's |  |" in shown
    assert table.on_page_markdown(f"a\n{table.PLACE}\n", None, None, None) == f"a\n{shown}\n"


def test_what_counts_in_unit_rewards_says_so():
    """By its name, or because only formulas and learners look into it."""
    letters = {"r_mean", "seen", "found", "policy_gap", "estimates", "models", "counts", "pair_belief", "action_values"}
    unit = [row for row in answers(table.objects()) if row.unit == "[0, 1]"]
    assert {row.method.removesuffix("()") for row in unit if not row.method.startswith("unit_")} <= letters
    assert all(row.unit == "[0, 1]" for row in answers(table.objects()) if row.method.startswith("unit_"))
