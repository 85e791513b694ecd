"""Policies from logs are fit to be deployed: as good as counting, better where structure is, and honest about it."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq

WORLDS = ("zoo/advertising", "zoo/gate", "zoo/lights", "zoo/pig", "zoo/two-depots", "zoo/workshop")


def logged(world, steps, seed, chosen=0.5):
    """A log of a policy that plays the best action half of the time, and any else."""
    rng, best = np.random.default_rng(seed), eq.solve(world).policy
    state, rows, ptr = int(np.argmax(world.initial)), [], world.pairs.ptr
    laws = {}
    for _ in range(steps):
        pair = int(rng.integers(ptr[state], ptr[state + 1]))
        pair = world.pairs.find(state, int(best[state])) if rng.random() < chosen else pair
        action = int(world.pairs.action[pair])
        if pair not in laws:
            law = world.transition_probabilities(state, action)
            laws[pair] = np.array(list(law)), np.cumsum(list(law.values()))
        states, up_to = laws[pair]
        after = int(states[np.searchsorted(up_to, rng.random() * up_to[-1])])
        paid = float(world.r_mean[pair])
        rows.append((state, action, float(rng.random() < paid) if world.reward_law == "bernoulli" else paid, after))
        state = after
    return eq.from_log(rows, reward_range=(0, 1))


def true_gain(world, log, policy):
    """Where the log never was, the first action."""
    whole = world.pairs.action[world.pairs.ptr[:-1]].copy()
    for name, action in zip(log.pairs.state_names or range(log.pairs.n_states), policy.tolist(), strict=True):
        if action in world.pairs.action[world.pairs.ptr[name] : world.pairs.ptr[name + 1]]:
            whole[name] = action
    return eq.Policy(world, whole).gain


def lost(world, log, policy):
    """The part of what there is to win over playing anything that a policy does not."""
    uniform = eq.simulate(world, "random", 20_000, seed=0)
    best = eq.solve(world).gain
    return (best - true_gain(world, log, policy)) / (uniform.pseudo_regret[-1] / 20_000)


def test_learned_policies_lose_no_more_than_those_of_counts():
    ours, counted = [], []
    for name in WORLDS:
        for seed in range(2):
            world = eq.make(name, shuffle=seed)
            log = logged(world, 2000, seed)
            ours.append(lost(world, log, eq.learn(log, draws=20, seed=seed).policy))
            counted.append(lost(world, log, eq.solve(log.mdp()).policy))
    assert np.mean(ours) <= np.mean(counted) + 0.02
    assert np.mean(ours) < 0.6


def test_hope_for_reward_does_not_lead_astray():
    """Many pairs were seen once or twice and paid nothing; one far away pays."""
    world = eq.make("four-room")
    for seed in range(3):
        log = logged(world, 1500, seed)
        found = eq.learn(log, draws=20, seed=seed)
        best = eq.solve(world).gain
        assert true_gain(world, log, found.policy) > 0.95 * best
        assert found.gain < 1.5 * best  # and nothing is claimed that cannot be


def test_what_going_on_as_before_earns_is_told():
    world = eq.make("zoo/gate")
    log = logged(world, 3000, 1)
    found = eq.learn(log, draws=30)
    low, high = found.behaviour_interval
    assert low < log.mean_reward < high
    assert found.behaviour == pytest.approx(log.mean_reward, abs=0.01)
    assert found.behaviour < found.gain


def test_caution_avoids_what_is_hardly_known():
    """Two actions of one mean: one tried twice, one two hundred times. By caution the known one, however it looks."""
    rows = [(0, "known", float(k % 2), 0) for k in range(200)] + [(0, "lucky", 1.0, 0), (0, "lucky", 0.0, 0)] * 2
    rows += [(0, "lucky", 1.0, 0)]
    hopeful, careful = (
        eq.learn(rows, draws=40, rewards="per_pair"),
        eq.learn(rows, draws=40, caution=0.9, rewards="per_pair"),
    )
    assert hopeful.table()["action"] == ["lucky"]
    assert careful.table()["action"] == ["known"]
    with pytest.raises(ValueError, match="caution"):
        eq.learn(rows, caution=1.5)


def test_bounds_that_say_nothing_name_the_pair_and_the_visits_it_lacks():
    rows = [("a", "go", 0.0, "b"), ("b", "go", 1.0, "a")] * 3 + [("b", "go", 1.0, "b")]
    found = eq.learn(rows, draws=10)
    assert not found.is_certified
    pair, needed = found.lacking()
    assert found.why_uncertified() == f"go in a has 3 visits, and all on the way would need about {needed:,}"
    assert (found.log.pairs.state[pair], found.log.seen.visits[pair]) == (0, 3)
    enough, few = (eq.learn(rows * (-(-times // 3)), draws=10) for times in (needed, needed // 4))
    assert enough.is_certified
    assert not few.is_certified
    assert enough.lacking() is None
    assert enough.why_uncertified() == ""


def test_optimism_is_what_choosing_costs():
    """Fifty alike arms, few pulls each: the best seems far better than it is, and the claim is brought back."""
    rng = np.random.default_rng(0)
    rows = [(0, k % 50, float(rng.random() < 0.5), 0) for k in range(500)]
    found = eq.learn(rows, draws=40, rewards="per_pair")
    assert found.optimism > 0.05
    assert found.interval[0] < 0.5
