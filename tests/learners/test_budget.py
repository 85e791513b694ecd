"""With a budget a step does so many look-ups at most: plans are made in portions while the old one is played on."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest

import equirl as eq
from equirl.files import DamagedFile
from equirl.files.archives import load_npz, save_npz
from equirl.keeping.saving import KIND, VERSION
from equirl.learners.posterior_sampling import PosteriorLearner
from equirl.posterior import drawn_plan, row_priors

RIVER = eq.make("ergodic-riverswim", n_states=12)
GRID = eq.make("four-room", height=35, width=35)  # of 1,028 states: large
LEARNERS = ("c-psrl", "psrl", "psrl-published", "c-psrl-c", "c-psrl-c-sigma")


def played(agent, mdp, steps, seed=3, after=lambda step: None):
    """The pairs that an agent plays, step by step, in a world whose chances follow from the number of the step."""
    state, found = 0, []
    for step in range(steps):
        pair = mdp.pairs.index(state, agent.act_id(state))
        rng = np.random.default_rng([seed, step])
        law = mdp.rows.prob[mdp.rows.row(pair)]
        following = int(mdp.rows.succ[mdp.rows.row(pair)][rng.choice(len(law), p=law)])
        agent.observe(state, int(mdp.pairs.action[pair]), float(mdp.r_mean[pair]), following)
        found.append(pair)
        state = following
        after(step)
    return found


def fingerprint(agent):
    arrays, values = agent.state()
    bits = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    return bits, values, agent.t, agent.episode_starts, agent.n_unconverged


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("mdp", "steps"), [(RIVER, 400), (GRID, 25)], ids=["river", "grid"])
def test_a_budget_that_is_never_spent_changes_no_decision(name, mdp, steps):
    free, bounded = (eq.agent_for(mdp, name, seed=2, budget=budget) for budget in (math.inf, 1e15))
    assert played(free, mdp, steps) == played(bounded, mdp, steps)
    assert free.episode_starts == bounded.episode_starts


def costs_by_call(monkeypatch):
    """The look-ups announced in each call of decide."""
    calls, episode, decide = [], PosteriorLearner._episode, PosteriorLearner.decide

    def noted(self, state, t, seen):
        work = episode(self, state, t, seen)
        try:
            cost = next(work)
            while True:
                yield cost
                calls[-1] += cost
                cost = next(work)
        except StopIteration as end:
            return end.value

    monkeypatch.setattr(PosteriorLearner, "_episode", noted)
    monkeypatch.setattr(PosteriorLearner, "decide", lambda self, state: calls.append(0.0) or decide(self, state))
    return calls


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("mdp", "steps", "budget"), [(RIVER, 500, 60), (RIVER, 300, 3000), (GRID, 150, 40_000)])
def test_no_call_does_more_than_the_budget_or_one_pass(name, mdp, steps, budget, monkeypatch):
    calls = costs_by_call(monkeypatch)
    agent = eq.agent_for(mdp, name, seed=1, budget=budget)
    passes = []
    played(agent, mdp, steps, after=lambda step: passes.append(one_pass(agent)))
    assert agent.n_episodes > 1
    assert max(calls) > 0
    for cost, largest in zip(calls, passes, strict=True):
        assert cost <= max(budget, largest)


def one_pass(agent):
    """Of the pairs with their successors, seen or drawn; cheap sweeps are five passes over a pair per state."""
    M, counted = agent.pairs.n_pairs, int(agent.counts.table.size.sum())
    drawn = 0 if agent.model is None else agent.model.n_entries
    return 2 * (M + counted) + 18 * M + drawn


def test_the_work_of_portions_is_what_was_announced(monkeypatch):
    """Classes drawn anew, rows and sweeps are counted where they are done, and never exceed what was asked for."""
    done, resample, sweep = [], row_priors.resample_range, drawn_plan.sweep_exact

    def resampled(*call):
        found = resample(*call)
        done.append(found[1])
        return found

    def swept(choices, model, *call):
        done.append(model.n_entries)
        return sweep(choices, model, *call)

    monkeypatch.setattr(row_priors, "resample_range", resampled)
    monkeypatch.setattr(drawn_plan, "sweep_exact", swept)
    agent = eq.agent_for(RIVER, "c-psrl", seed=1, budget=40)
    agent.act_id(0)
    for _ in range(3):
        played(agent, RIVER, 200)
        work = agent._episode(0, agent.t, agent.counts.snapshot())
        try:
            cost = next(work)
            while True:
                done.clear()
                after = next(work)
                assert sum(done) <= cost
                cost = after
        except StopIteration:
            pass


def test_the_old_plan_is_played_on_while_the_new_one_is_made():
    agent = eq.agent_for(RIVER, "c-psrl", seed=0, budget=50)
    policies, underway = [], []

    def look(step):
        policies.append(None if agent.drawn_plan is None else agent.drawn_plan.policy.copy())
        underway.append(agent.underway is not None)

    pairs = played(agent, RIVER, 600, after=look)
    assert all(pair == RIVER.pairs.ptr[RIVER.pairs.state[pair]] for pair, policy in zip(pairs, policies, strict=True)
               if policy is None)  # fmt: skip
    assert 0.1 < np.mean(underway) < 1.0
    changed = [i for i in range(1, 600) if policies[i] is not policies[i - 1] and policies[i - 1] is not None
               and (policies[i] != policies[i - 1]).any()]  # fmt: skip
    assert changed
    assert all(underway[i - 1] and not underway[i] for i in changed)


def test_asking_again_at_the_same_step_does_no_more_work():
    agent = eq.agent_for(RIVER, "c-psrl", seed=0, budget=50)
    played(agent, RIVER, 60)
    while agent.underway is None:
        played(agent, RIVER, 1)
    first = agent.act_id(3)
    before = fingerprint(agent)
    assert [agent.act_id(3) for _ in range(4)] == [first] * 4
    assert fingerprint(agent) == before


@pytest.mark.parametrize("name", ["c-psrl", "psrl"])
@pytest.mark.parametrize(("mdp", "steps", "budget"), [(RIVER, 1500, 60.0), (GRID, 150, 60_000.0)])
def test_simulate_decides_as_act_and_observe_do(name, mdp, steps, budget):
    start = eq.agent_for(mdp, name, seed=4, budget=budget)
    trace = eq.simulate(mdp, start, steps, seed=5)
    seen, paths, record = start.copy(), [], PosteriorLearner.record

    def noted(self, path, rewards, final):
        paths.append((path.copy(), rewards.copy(), final))
        record(self, path, rewards, final)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PosteriorLearner, "record", noted)
        again = eq.simulate(mdp, start, steps, seed=5)
    assert fingerprint(again.agent) == fingerprint(trace.agent)
    owner = mdp.pairs.state
    for path, rewards, final in paths:
        successors = [*owner[path[1:]], final]
        for pair, reward, successor in zip(path, rewards, successors, strict=True):
            assert mdp.pairs.index(int(owner[pair]), seen.act_id(int(owner[pair]))) == pair
            seen.observe(int(owner[pair]), int(mdp.pairs.action[pair]), float(reward), int(successor))
    assert fingerprint(seen) == fingerprint(trace.agent)


@pytest.mark.parametrize(
    ("mdp", "budget", "stops"), [(RIVER, 60.0, (0, 3, 7, 40, 41, 200)), (GRID, 60_000.0, (1, 9, 40))]
)
@pytest.mark.parametrize("name", ["c-psrl", "psrl", "c-psrl-c-sigma"])
def test_saved_or_copied_in_the_middle_of_a_plan_it_goes_on_bit_by_bit(name, mdp, budget, stops, tmp_path):
    agent, twins, midway = eq.agent_for(mdp, name, seed=6, budget=budget), [], []
    state = 0

    def go(learner, number, at):
        pair = mdp.pairs.index(at, learner.act_id(at))
        law = mdp.rows.prob[mdp.rows.row(pair)]
        draw = np.random.default_rng([8, number]).choice(len(law), p=law)
        following = int(mdp.rows.succ[mdp.rows.row(pair)][draw])
        learner.observe(at, int(mdp.pairs.action[pair]), float(mdp.r_mean[pair]), following)
        return following

    end = max(stops) + 60
    for number in range(end):
        if number in stops:
            path = tmp_path / f"{number}.npz"
            agent.save(path)
            midway.append(agent.underway is not None)
            twins += [(number, state, eq.load_agent(path)), (number, state, agent.copy())]
            assert fingerprint(twins[-1][2]) == fingerprint(twins[-2][2]) == fingerprint(agent)
        state = go(agent, number, state)
    assert any(midway)
    for number, at, twin in twins:
        for later in range(number, end):
            at = go(twin, later, at)
        assert fingerprint(twin) == fingerprint(agent)
        assert twin.budget == budget


def test_a_journal_replays_a_plan_made_in_portions(tmp_path):
    learner = eq.agent_for(RIVER, "c-psrl", seed=3, budget=60)
    agent = eq.open_agent(tmp_path / "live", learner, snapshot_every=70, sync="os")
    places = []

    def look(step):
        if step in (20, 45, 46, 90):
            places.append((step, shutil.copytree(tmp_path / "live", tmp_path / f"at{step}")))

    pairs = played(agent, RIVER, 120, after=look)
    agent.close()
    plain = learner.copy()
    assert played(plain, RIVER, 120) == pairs
    assert fingerprint(plain) == fingerprint(agent.agent)
    for step, place in places:
        with eq.open_agent(place, learner) as again:
            assert again.n_observed == step + 1
            expected = learner.copy()
            played(expected, RIVER, step + 1)
            assert fingerprint(again.agent) == fingerprint(expected)


@pytest.mark.parametrize("damage", [[0, 1, 10**6, 0], [99, 1, 2, 0], [0, 1, 2], [0, 1, -1, 0], [0, 1, "2", 0]])
def test_a_plan_under_way_that_cannot_be_is_refused(damage, tmp_path):
    agent = eq.agent_for(RIVER, "c-psrl", seed=0, budget=50)
    agent.act_id(0)
    assert agent.underway is not None
    agent.save(tmp_path / "agent.npz")
    arrays, meta = load_npz(tmp_path / "agent.npz", KIND, VERSION)
    save_npz(tmp_path / "agent.npz", KIND, VERSION, arrays, meta | {"values": {**meta["values"], "underway": damage}})
    with pytest.raises(DamagedFile, match="does not hold a valid learner"):
        eq.load_agent(tmp_path / "agent.npz")


@pytest.mark.parametrize("budget", [0, -1.0, math.nan])
def test_a_budget_is_positive(budget):
    with pytest.raises(ValueError, match="budget"):
        eq.make_agent("c-psrl", 3, 2, budget=budget)


def test_the_first_action_is_played_until_the_first_plan_is_made():
    agent = eq.make_agent("c-psrl", 3, 2, budget=1)
    assert agent.act_id(2) == 0
    assert agent.n_episodes == 0
