import math

import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.solving.optimal_gain import solve
from equirl.structure.partition import Partition
from equirl.theory.lower_bounds import confusion, regret_lower_bound
from equirl.worlds.rivers import ergodic_riverswim
from oracles_best_laws import kl_least

# Both actions of both states lead to either state with 1/2, so h* is what the best reward of a state adds.
HALVES = np.full((2, 2, 2), 0.5)


def random_ergodic(rng, law):
    S, A = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    laws = 0.9 * rng.dirichlet(np.full(S, 0.5), size=(S, A)) + 0.1 / S
    return TabularMDP.from_arrays(laws, rng.uniform(0.05, 0.95, (S, A)), reward_law=law)


def test_two_states_worked_by_hand():
    # g* = (0.2 + 0.8) / 2 = 0.5, h* = (0, 0.6). State 0: target 0.5; its second action has X = 0.1 or 0.7, mean 0.4,
    # gap 0.1. State 1: target 1.1; its second action has X = 0.5 or 1.1, mean 0.8, gap 0.3. Top 1.6.
    # First: y = (1.6 - X) / 1.1 = 15/11 or 9/11, E 1/y = 0.97778 <= 1, so K = E log y = log(135 / 121) / 2.
    # Second: y = 2.2 or 1, so E 1/y = 0.72727 <= 1 and K = log(2.2) / 2.
    mdp = TabularMDP.from_arrays(HALVES, [[0.2, 0.1], [0.8, 0.5]])
    found = confusion(mdp)
    assert found.gap == pytest.approx([0, 0.1, 0, 0.3], abs=1e-9)
    first, second = math.log(135 / 121) / 2, math.log(2.2) / 2
    assert found.divergence[[1, 3]] == pytest.approx([first, second], rel=1e-8)
    assert regret_lower_bound(mdp) == pytest.approx(0.1 / first + 0.3 / second, rel=1e-7)


def test_told_classes_share_what_is_learned():
    mdp = TabularMDP.from_arrays(HALVES, [[0.2, 0.1], [0.8, 0.5]])
    first, second = math.log(135 / 121) / 2, math.log(2.2) / 2
    apart = Partition.singletons(4)
    assert regret_lower_bound(mdp, classes=apart) == pytest.approx(regret_lower_bound(mdp))
    both = Partition.from_labels([0, 1, 2, 1])  # the two bad pairs: the smaller gap, the smaller divergence
    assert regret_lower_bound(mdp, classes=both) == pytest.approx(0.1 / min(first, second))
    free = Partition.from_labels([0, 0, 2, 1])  # one bad pair is learned with an optimal one
    assert regret_lower_bound(mdp, classes=free) == pytest.approx(0.3 / second)
    assert regret_lower_bound(mdp, classes=Partition.from_labels([0, 0, 0, 0])) == 0


@pytest.mark.parametrize("law", ["deterministic", "bernoulli"])
def test_divergences_lie_between_their_certified_bounds(law):
    rng = np.random.default_rng(0)
    for _ in range(25):
        mdp = random_ergodic(rng, law)
        answer, found = solve(mdp, 1e-11), confusion(mdp)
        h, total = answer.bias, 0.0
        for k in np.flatnonzero(found.gap):
            row = slice(mdp.rows.ptr[k], mdp.rows.ptr[k + 1])
            p, after, r = mdp.rows.prob[row], h[mdp.rows.succ[row]], mdp.r_mean[k]
            x, w = (
                (after + r, p)
                if law == "deterministic"
                else (np.append(after, after + 1), np.append(p * (1 - r), p * r))
            )
            target = answer.gain + h[mdp.pairs.state[k]]
            low, high = kl_least(w, x, target, 1 + h.max())
            assert found.gap[k] == pytest.approx(target - r - p @ after, abs=1e-9)
            assert low - 1e-9 <= found.divergence[k] <= high + 1e-9
            total += found.gap[k] / found.divergence[k]
        assert regret_lower_bound(mdp) == pytest.approx(total)


def test_a_bernoulli_bandit_has_the_bound_of_lai_and_robbins():
    means = [0.5, 0.6, 0.2]
    mdp = TabularMDP.from_arrays(np.ones((1, 3, 1)), [means], reward_law="bernoulli")
    kl = [p * math.log(p / 0.6) + (1 - p) * math.log((1 - p) / 0.4) for p in means]
    assert regret_lower_bound(mdp) == pytest.approx(0.1 / kl[0] + 0.4 / kl[2], rel=1e-8)


def test_noisier_rewards_are_harder_to_tell_apart():
    rng = np.random.default_rng(1)
    for _ in range(10):
        laws, means = 0.9 * rng.dirichlet(np.ones(3), size=(3, 2)) + 1 / 30, rng.uniform(0.1, 0.9, (3, 2))
        bounds = [
            regret_lower_bound(TabularMDP.from_arrays(laws, means, reward_law=law, concentration=c))
            for law, c in (("deterministic", 1), ("beta", 50.0), ("beta", 2.0), ("bernoulli", 1))
        ]
        assert (np.diff(bounds) > 0).all()


def test_renumbering_changes_nothing():
    mdp = random_ergodic(np.random.default_rng(2), "bernoulli")
    for seed in range(5):
        assert regret_lower_bound(mdp.shuffled(seed)) == pytest.approx(regret_lower_bound(mdp), rel=1e-6)


def test_a_pair_that_nothing_can_make_better_costs_nothing():
    mdp = TabularMDP.from_arrays(np.ones((1, 2, 1)), [[1.0, 0.3]])
    assert confusion(mdp).divergence[1] == math.inf
    assert regret_lower_bound(mdp) == 0
    assert regret_lower_bound(mdp, classes=Partition.singletons(2)) == 0


def test_classes_help_on_the_ergodic_river():
    from equirl.structure.equivalence import equivalence_classes

    mdp = ergodic_riverswim(n_states=6)
    alone, told = regret_lower_bound(mdp), regret_lower_bound(mdp, classes=equivalence_classes(mdp))
    assert 0 <= told < alone < math.inf


def test_other_mdps_are_refused_by_name():
    mdp = TabularMDP.from_arrays([[[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]], [[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="this mdp is communicating"):
        regret_lower_bound(mdp)


def test_wrong_arguments_are_named():
    mdp = TabularMDP.from_arrays(HALVES, [[0.2, 0.1], [0.8, 0.5]])
    with pytest.raises(ValueError, match="classes are a partition of 3 pairs; the mdp has 4"):
        regret_lower_bound(mdp, classes=Partition.singletons(3))
    with pytest.raises(TypeError, match="classes must be a Partition"):
        regret_lower_bound(mdp, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="tolerance"):
        regret_lower_bound(mdp, tolerance=-1)
