"""A policy as an estimator: fit, predict, and what scikit-learn's own checks ask of one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import equirl as eq
from equirl.logs import NotFitted

ROWS = {
    "state": ["low", "low", "high"] * 40,
    "action": ["wait", "fill", "sell"] * 40,
    "reward": [0.0, -1.0, 3.0] * 40,
    "next_state": ["low", "high", "low"] * 40,
}
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_estimators_unfitted",
]  # fmt: skip  those that ask nothing of numbers: a log is no matrix of features


@pytest.mark.parametrize("name", CHECKS)
def test_it_passes_the_checks_of_scikit_learn_that_apply(name):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, name):
        pytest.skip(f"this scikit-learn has no {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(checks, name)("LogPolicy", eq.LogPolicy(draws=2))


def test_the_tools_of_scikit_learn_take_it():
    base, pipeline = pytest.importorskip("sklearn.base"), pytest.importorskip("sklearn.pipeline")
    policy = eq.LogPolicy(draws=3, seed=4)
    twin = base.clone(policy)
    assert twin is not policy
    assert twin.get_params() == policy.get_params()
    assert pipeline.make_pipeline(policy).fit(ROWS).predict(["high"]).tolist() == ["sell"]


def test_it_finds_the_policy_that_learn_finds():
    policy, found = eq.LogPolicy(draws=5, seed=2).fit(ROWS), eq.learn(ROWS, draws=5, seed=2)
    assert policy.policy_ == found.named_policy() == {"high": "sell", "low": "fill"}
    assert policy.learned_.gain == found.gain
    assert policy.predict(["low", "high", "low"]).tolist() == ["fill", "sell", "fill"]
    assert eq.LogPolicy(draws=5, seed=2).fit(eq.from_log(ROWS)).learned_.gain == found.gain


def test_settings_reach_the_log_and_the_policy():
    costs = {**ROWS, "cost": [-r for r in ROWS["reward"]], "s": ROWS["state"]}
    del costs["reward"], costs["state"]
    renamed = {"reward": "cost", "state": "s"}
    policy = eq.LogPolicy(columns=renamed, costs=True, reward_range=(-2, 4), draws=3, discount=0.5).fit(costs)
    assert policy.learned_.log.reward_map == (6.0, -2.0)
    assert (policy.learned_.discount, len(policy.learned_.policy_gain)) == (0.5, 3)
    assert policy.predict({"s": ["high"]}).tolist() == ["sell"]
    actions = eq.LogPolicy(actions="all", draws=2).fit(ROWS).learned_.log.pairs
    assert actions.n_pairs == 6


def test_numbers_are_predicted_as_numbers():
    rows = [(0, 0, 0.0, 1), (0, 1, 1.0, 1), (1, 0, 0.0, 0), (1, 1, 1.0, 0)] * 30
    found = eq.LogPolicy(draws=3).fit(rows).predict([1, 0])
    assert (found.tolist(), found.dtype) == ([1, 1], np.int64)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_go_in_and_their_column_of_states_is_predicted(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(ROWS)
    policy = eq.LogPolicy(draws=3).fit(frame)
    assert policy.predict(frame)[:3].tolist() == ["fill", "fill", "sell"]
    assert eq.from_log(frame).n_steps == 120
    with pytest.raises(ValueError, match="unknown column 'state'"):
        policy.predict(frames.DataFrame({"states": ["low"]}))


class Frame:
    """As little as a data frame has: names of columns, and columns by name."""

    columns = ("state", "action", "reward", "next_state")

    def __getitem__(self, name):
        return np.array(ROWS[name])


def test_whatever_has_named_columns_is_predicted_as_a_frame():
    policy = eq.LogPolicy(draws=3).fit(Frame())
    assert policy.predict(Frame())[:3].tolist() == ["fill", "fill", "sell"]


def test_predict_before_fit_and_states_unknown_are_errors():
    with pytest.raises((NotFitted, ValueError), match="not fitted yet; call fit with a log first"):
        eq.LogPolicy().predict(["low"])
    policy = eq.LogPolicy(draws=2).fit(ROWS)
    with pytest.raises(ValueError, match="unknown state 'lw'; did you mean 'low'"):
        policy.predict(["lw"])
    with pytest.raises(ValueError, match="unknown setting 'drws'; did you mean 'draws'"):
        policy.set_params(drws=3)


def test_it_shows_what_differs_from_the_defaults():
    assert repr(eq.LogPolicy(draws=3, costs=True)) == "LogPolicy(costs=True, draws=3)"
    assert repr(eq.LogPolicy()) == "LogPolicy()"


def test_scikit_learn_is_not_loaded():
    import subprocess
    import sys

    code = "import sys, equirl as eq; eq.LogPolicy().get_params(); print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
