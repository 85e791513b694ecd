"""Runs that end before their horizon: good enough, out of time, told to stop, or broken. The trace is whole."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners.beliefs import PolicyGap
from equirl.simulation import until as rules
from equirl.simulation.until import Until, Watch, until

RIVER = eq.make("ergodic-riverswim", n_states=4)
BEST = eq.solve(RIVER)


@pytest.mark.parametrize(("name", "gap", "how"), [("c-psrl", 0.02, "posterior"), ("ucrl2-l", 0.3, "certified")])
def test_a_run_stops_once_no_policy_is_better_by_more(name, gap, how):
    trace = eq.simulate(RIVER, name, 400_000, seed=0, until={"gap": gap})
    assert trace.t[-1] < 400_000
    assert how in trace.stopped
    assert trace.gap <= gap
    assert BEST.gain - eq.Policy(RIVER, trace.policy).gain <= gap
    assert trace.agent.t == trace.t[-1] + 1


def test_a_run_that_stops_early_is_the_beginning_of_the_whole_one():
    run = {"horizon": 5000, "seed": 1, "measure_clustering": True}
    short = eq.simulate(RIVER, "c-psrl", callback=lambda agent: agent.t > 150, checkpoints=[100, 5000], **run)
    whole = eq.simulate(RIVER, "c-psrl", checkpoints=[100, int(short.t[-1]), 5000], **run)
    assert short.t[-1] > 150
    for name in ("regret", "pseudo_regret", "reward", "misclustering_ratio", "misclustering_bias"):
        np.testing.assert_allclose(short.curves[name][0], whole.curves[name][0, :2])
    assert short.pseudo_regret[1] != short.pseudo_regret[0]
    assert short.n_classes.shape == short.t.shape
    assert short.stopped == "the callback said so"
    assert whole.stopped == ""


def test_looking_does_not_change_what_a_learner_does():
    plain = eq.simulate(RIVER, "c-psrl", 400, seed=2)
    watched = eq.simulate(RIVER, "c-psrl", 400, seed=2, until={"gap": 1e-9})
    n = len(watched.t)  # it may stop, where all draws of the last episodes agree
    assert n > 100
    np.testing.assert_array_equal(plain.regret[:n], watched.regret)
    assert bool(watched.stopped) == (watched.gap <= 1e-9) == (n < len(plain.t))


def test_a_gap_is_in_the_units_of_the_rewards():
    P, R = RIVER.to_arrays()
    euros = eq.TabularMDP.from_arrays(P, 100 * R, rescale=True)
    assert euros.reward_map == (100.0 * R.max() - 100 * R.min(), 100 * R.min())
    one = eq.simulate(RIVER, "psrl", 2000, seed=0, until={"gap": 0.03})
    other = eq.simulate(euros, "psrl", 2000, seed=0, until={"gap": 3.0})
    assert one.t[-1] == other.t[-1]
    assert other.gap == pytest.approx(100 * one.gap, rel=1e-6)


def test_a_run_stops_when_its_time_is_spent():
    trace = eq.simulate(RIVER, "random", 10**9, until="seconds=0.2")
    assert trace.t[-1] < 10**9
    assert "seconds are spent" in trace.stopped


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_exception_in_a_callback_keeps_the_trace(error):
    def broken(agent):
        if agent.t > 800:
            raise error

    with pytest.raises(type(error)) as caught:
        eq.simulate(RIVER, "c-psrl", 5000, seed=1, callback=broken, measure_clustering=True)
    trace = caught.value.trace
    assert 800 <= trace.t[-1] < 5000
    assert trace.agent.t == trace.t[-1] + 1
    assert len(trace.misclustering_ratio) == len(trace.t)
    assert any("attribute 'trace'" in note for note in caught.value.__notes__)


def test_an_exception_before_the_first_step_has_no_trace_to_keep():
    def broken(agent):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        eq.simulate(RIVER, "c-psrl", 100, callback=broken)
    assert not hasattr(caught.value, "trace")


def test_a_discounted_run_that_stops_early_has_whole_value_curves():
    trace = eq.simulate(RIVER, "mbie", 5000, seed=0, callback=lambda agent: agent.t > 700)
    assert len(trace.value_regret) == len(trace.t)
    assert trace.value_regret[-1] > 0


def test_the_posterior_is_seldom_wrong_when_it_says_enough():
    wrong = 0
    for seed in range(20):
        trace = eq.simulate(RIVER, "c-psrl", 20_000, seed=seed, until={"gap": 0.05}, checkpoints=1, gain=BEST.gain)
        wrong += BEST.gain - eq.Policy(RIVER, trace.policy).gain > 0.05
    assert wrong <= 4  # at a risk of 0.05 more than four of twenty have probability 0.003


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gap", "until must be key=value"),
        ("gpa=1", "unknown key of until 'gpa'; did you mean 'gap'"),
        ({"gap": -1}, "gap must lie strictly between 0"),
        ({"delta": 0.1}, "until needs a gap or seconds"),
        ({"gap": 0.1, "delta": 2}, "delta must lie strictly between 0 and 1"),
        (3, "until must be a dict or a text"),
    ],
)
def test_a_rule_that_makes_no_sense_is_named(value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        eq.simulate(RIVER, "psrl", 10, until=value)


def test_rules_are_read_from_texts():
    assert until(" gap=0.01, delta=0.1 ") == Until(0.01, 0.1)
    assert until(None) is None
    assert until(Until(seconds=3)) == Until(seconds=3)


@pytest.mark.parametrize("name", ["q-learning", "imed-rl", "random"])
def test_a_learner_that_cannot_tell_how_good_it_is_says_so(name):
    with pytest.raises(ValueError, match=f"'{name}' cannot tell how good its policy is"):
        eq.simulate(RIVER, name, 10, until="gap=0.1")


def test_a_smaller_risk_than_the_learners_own_is_refused():
    with pytest.raises(ValueError, match=r"cannot tell how good its policy is at risk 0\.001"):
        eq.simulate(RIVER, "ucrl2-l", 1000, until="gap=0.1,delta=0.001")


class Looked:
    """An agent that notes when it is asked how good its policy is."""

    name, t, has_gap, reward_map = "looked", 1, True, (2.0, 0.0)

    def __init__(self):
        self.beliefs, self.asked = self, []

    def policy_gap(self, state, delta):
        self.asked.append(self.t)
        return PolicyGap(np.array([0, 1]), 0.25, False)


def test_looks_come_after_a_hundred_steps_and_then_ever_more_seldom():
    agent = Looked()
    watch = Watch(Until(gap=0.1), agent)
    for agent.t in range(1, 1000):
        assert not watch.stops(0)
    assert agent.asked == [101, 201, 301, 401, 521, 677, 880]  # 100 more, or three tenths more
    assert (watch.gap, watch.policy.tolist(), watch.reason) == (0.5, [0, 1], "")


def test_a_gap_just_as_small_as_asked_for_is_small_enough_and_the_reason_says_how_it_is_known():
    agent = Looked()
    agent.t = 50
    watch = Watch(Until(gap=0.5, delta=0.1), agent)
    agent.t = 150
    assert watch.stops(0)
    assert watch.reason == "no policy earns more by 0.5, by its posterior with probability 0.9"


def test_time_is_spent_when_its_seconds_are_over(monkeypatch):
    now = 10.0
    monkeypatch.setattr(rules.time, "perf_counter", lambda: now)
    watch = Watch(Until(seconds=2), Looked())
    for now, over in ((11.9, False), (12.0, True)):  # noqa: B007
        assert watch.stops(0) is over
    assert watch.reason == "2 seconds are spent"
    assert not Watch(None, Looked()).stops(0)


@pytest.mark.parametrize("value", ["seconds=0", "gap=inf", "delta=0,gap=1", "seconds=-1"])
def test_limits_of_a_rule_are_exclusive(value):
    with pytest.raises(ValueError, match="must lie strictly between 0"):
        until(value)
