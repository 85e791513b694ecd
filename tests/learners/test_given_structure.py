"""Classes and corresponding successors as users state them, and what becomes of a statement that data refute."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import equirl as eq
from equirl.learners import RefutedStructure
from equirl.learners.refuted_structure import StructureWatch

RING = 5


def ring(names=None, odd=None):
    """A ring: "on" goes one further with chance 0.7, "back" one back; a pair ``odd`` does it with chance 0.1."""
    names = names or [f"at{s}" for s in range(RING)]
    pairs = []
    for s in range(RING):
        for a, step in (("on", 1), ("back", -1)):
            p = 0.1 if (s, a) == odd else 0.7
            law = {names[(s + step) % RING]: p, names[s]: 1 - p}
            pairs.append((names[s], a, law, float(s == 0)))
    return eq.TabularMDP.from_pairs(pairs)


def ahead(state, action):
    """The successors of a pair in the user's own names: where it wants to go, and where it stays."""
    s = int(state.removeprefix("at"))
    return [f"at{(s + (1 if action == 'on' else -1)) % RING}", state]


def by_action(state, action):
    return action, state == "at0"


def by_place(state, action):
    """Both actions move with the same chance, each its own way."""
    return state == "at0"


LEARNERS = ("c-ucrl-c-sigma", "c-ucrl2-b-c-sigma", "c-psrl-c-sigma", "c-imed-rl-c-sigma", "c-q-learning-c-sigma")


@pytest.mark.parametrize("name", LEARNERS)
def test_a_stated_order_does_what_the_true_profiles_do(name):
    world = ring()
    table = eq.profiles(world)  # 0.7 before 0.3: the order given, with probabilities that are all different
    order = eq.agent_for(world, name, classes=by_action, order=ahead).given
    np.testing.assert_array_equal(order.profiles.succ, table.succ)
    runs = [
        eq.simulate(world, name, 800, seed=3, classes=by_action, **how)
        for how in ({"order": ahead}, {"profiles": table})
    ]
    np.testing.assert_array_equal(runs[0].reward, runs[1].reward)
    assert len(runs[0].agent.beliefs.refuted()) == 0


def test_an_order_is_taken_wherever_classes_are(tmp_path):
    world, name = ring(), "c-psrl-c-sigma"
    names, actions = world.pairs.state_names, ["on", "back"]
    made = eq.make_agent(name, names, actions, classes=by_action, order=ahead)
    lists = [ahead(names[s], actions[a]) for s in range(RING) for a in range(2)]
    listed = eq.make_agent(name, names, actions, classes=by_action, order=lists)
    np.testing.assert_array_equal(made.given.profiles.succ, listed.given.profiles.succ)

    step = eq.Simulator(lambda s, a, rng: (ahead(s, a)[int(rng.random() > 0.7)], 0.0), names, actions, "at0")
    played = eq.play(step, name, 50, classes=by_action, order=ahead)
    assert played.agent.given.profiles.succ.tolist() == made.given.profiles.succ.tolist()
    compared = eq.simulate_many(world, {"told": (name, {"classes": by_action, "order": ahead})}, 50, seeds=[0], jobs=1)
    assert list(compared.final()) == ["told"]

    rows = [(s, a, 0.0, ahead(s, a)[0]) for s in names for a in actions]
    log = eq.from_log(rows)
    assert log.agent(name, classes=by_action, order=ahead).t == 11
    with eq.open_agent(
        tmp_path / "kept", name, n_states=names, n_actions=actions, classes=by_action, order=ahead
    ) as kept:
        kept.observe("at0", "on", 0.0, "at1")
    with eq.open_agent(
        tmp_path / "kept", name, n_states=names, n_actions=actions, classes=by_action, order=ahead
    ) as kept:
        assert kept.n_observed == 1
        assert kept.agent.given.refutable


def test_a_saved_learner_knows_the_order_and_that_it_was_stated(tmp_path):
    agent = eq.simulate(ring(), "c-ucrl-c-sigma", 200, classes=by_action, order=ahead).agent
    agent.save(tmp_path / "agent.npz")
    back = eq.load_agent(tmp_path / "agent.npz")
    np.testing.assert_array_equal(back.given.profiles.succ, agent.given.profiles.succ)
    assert np.isnan(back.given.profiles.prob).all()
    assert back.given.refutable
    assert back.act_id("at2") == agent.act_id("at2")


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        (lambda s, a: [s, "nowhere"], ValueError, r"order\('at0', 'on'\) lists 'nowhere'"),
        (lambda s, a: [s, s], ValueError, r"order\('at0', 'on'\) lists 'at0' twice"),
        (lambda s, a: [], ValueError, r"order\('at0', 'on'\) lists no state"),
        (lambda s, a: s, TypeError, r"order\('at0', 'on'\) must be a list of states, not 'at0'"),
        (lambda s, a: None, TypeError, r"order\('at0', 'on'\) must be a list of states, not None"),
        (lambda s, a: [s] if s == "at3" else ahead(s, a), ValueError, "(?s)s='at1'.*s='at3'.*lists 2.*and 1"),
        ([["at0"]], ValueError, "order has 1 lists of successors, the problem has 10 pairs"),
        (7, TypeError, "order"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_by_pair(order, error, message):
    with pytest.raises(error, match=message):
        eq.agent_for(ring(), "c-ucrl-c-sigma", classes=by_action, order=order)


def test_profiles_or_an_order_and_only_where_they_are_of_use():
    world = ring()
    with pytest.raises(ValueError, match="give one of them"):
        eq.agent_for(world, "c-ucrl-c-sigma", order=ahead, profiles=eq.profiles(world))
    with pytest.raises(ValueError, match="makes no use of order"):
        eq.agent_for(world, "c-ucrl-c", order=ahead)
    with pytest.raises(ValueError, match=r"profiles=\.\.\. or order="):
        eq.make_agent("c-ucrl-c-sigma", 2, 1, classes=[0, 0])


@pytest.mark.parametrize("name", LEARNERS)
def test_a_successor_outside_the_order_is_an_error_that_names_it(name):
    def short(state, action):
        return ahead(state, action)[:1]

    agent = eq.agent_for(ring(), name, classes=by_action, order=short)
    with pytest.raises(ValueError, match=r"s='at1', a='on'\) cannot lead to state 'at1': the order given"):
        agent.observe("at1", "on", 0.0, "at1")
    assert agent.t == 1
    with pytest.raises(ValueError, match="the order given leaves it out"):
        eq.simulate(ring(), name, 500, classes=by_action, order=short)


# --- what data refute


@pytest.mark.parametrize(
    ("name", "told"),
    [("c-ucrl-c-sigma", {"order": ahead}), ("c-psrl-c-sigma", {"order": ahead}), ("c-ucrl-c", {})],
)
def test_a_statement_that_data_refute_is_reported_once_with_the_pair_and_the_evidence(name, told):
    world = ring(odd=(1, "back"))
    with pytest.warns(RefutedStructure, match=r"s='at1', a='back'.*visits.*differ by.*bound") as caught:
        trace = eq.simulate(world, name, 20_000, seed=2, classes=by_place, **told)
    messages = [str(one.message) for one in caught if one.category is RefutedStructure]
    assert len(messages) == 1
    assert {one.filename for one in caught if one.category is RefutedStructure} == {__file__}  # the caller's line
    table = trace.agent.beliefs.refuted()
    assert len(table) == 1
    assert "at1" in f"{table['state'][0]} {table['against'][0]}"
    assert table["evidence"][0] > table["bound"][0]


def test_it_is_reported_before_it_costs_much():
    world = ring(odd=(1, "back"))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", RefutedStructure)
        for seed in range(5):
            with pytest.raises(RefutedStructure) as caught:
                eq.simulate(world, "c-psrl-c-sigma", 20_000, seed=seed, classes=by_place, order=ahead)
            found.append(caught.value.trace.t[-1])
    assert np.median(found) < 1000


@pytest.mark.parametrize("name", ["c-ucrl-c", "c-ucrl-c-sigma"])
def test_a_true_statement_is_left_in_peace(name):
    told = {"order": ahead} if name.endswith("sigma") else {}
    for seed in range(10):  # a warning is an error
        agent = eq.simulate(ring(), name, 3_000, seed=seed, classes=by_place, **told).agent
        assert len(agent.beliefs.refuted()) == 0


def test_what_the_mdp_itself_hands_out_is_not_watched():
    agent = eq.simulate(ring(), "c-ucrl-c", 500).agent
    assert agent._watch is None
    assert not agent.given.refutable
    assert eq.simulate(ring(), "c-ucrl-c", 500, classes=by_place).agent._watch is not None


def test_watching_changes_no_decision():
    runs = []
    for watched in (True, False):
        agent = eq.agent_for(ring(odd=(1, "back")), "c-ucrl-c", classes=by_place)
        agent._watch_at = agent._watch_at if watched else 10**9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RefutedStructure)
            runs.append(eq.simulate(ring(odd=(1, "back")), agent, 5_000, seed=2))
    assert runs[0].agent._watch is not None
    assert runs[1].agent._watch is None
    np.testing.assert_array_equal(runs[0].reward, runs[1].reward)


def test_rewards_are_reported_in_the_units_of_the_user():
    agent = eq.make_agent("c-ucrl-c", 2, 1, classes=[0, 0], reward_range=(-100.0, 100.0))
    rng = np.random.default_rng(0)
    for k in range(400):
        agent.observe(k % 2, 0, (-50.0, 40.0)[k % 2], int(rng.random() < 0.5))
    table = agent.beliefs.refuted()
    assert table["what"] == ["rewards"]
    assert table["difference"][0] == pytest.approx(90.0)
    with pytest.warns(RefutedStructure, match="mean rewards differ by 90"):
        agent.act_id(0)
    agent.act_id(1)  # not again


def test_known_rewards_are_not_part_of_the_statement():
    agent = eq.make_agent("c-ucrl-c", 2, 1, classes=[0, 0], mean_rewards=[0.0, 1.0], rewards="known")
    for k in range(400):
        agent.observe(k % 2, 0, float(k % 2), k % 2)
    assert len(agent.beliefs.refuted()) == 0


def test_learners_told_nothing_have_nothing_refuted():
    assert len(eq.make_agent("c-psrl", 2, 2).beliefs.refuted()) == 0
    assert len(eq.make_agent("random", 2, 2).beliefs.refuted()) == 0


@pytest.mark.parametrize(("steps", "later"), [(1, 64), (100, 64), (300, 150)])
def test_a_statement_is_looked_at_after_64_steps_or_half_as_many_again(steps, later):
    agent = eq.make_agent("c-ucrl-c", 2, 1, classes=np.zeros(2, int), seed=0)
    for i in range(steps):
        agent.observe(i % 2, 0, 0.5, (i + 1) % 2)
    assert StructureWatch(agent).look(agent) == agent.t + later


def test_a_statement_on_many_pairs_is_looked_at_less_often():
    agent = eq.make_agent("c-ucrl-c", 50, 1, classes=np.zeros(50, int), seed=0)
    for s in range(10):
        agent.observe(s, 0, 0.5, s)
    assert StructureWatch(agent).look(agent) == agent.t + 4 * (50 + 10)
