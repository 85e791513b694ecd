"""Policies from counts that others published, written anew: SPIBB and Soft-SPIBB.

SPIBB: Laroche, Trichelair and Tachet des Combes (2019). Soft-SPIBB: Nadjahi, Laroche and Tachet des Combes (2019), the
approximate version. All know the behaviour; pairs never played lead nowhere and are worth nothing, as in the papers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equirl.lab.yardsticks.offline_worlds import OfflineWorld, action_values, estimated

ENOUGH = 10  # visits; SPIBB trusts a pair that has more
LEEWAY = 2.0  # of Soft-SPIBB, its epsilon: how far from the behaviour a policy may be, in units of the errors of pairs
MOST_STEPS = 1000

Improve = Callable[[np.ndarray], np.ndarray]  # action values (S, A) to a policy (S, A)


def spibb(world: OfflineWorld, counts: np.ndarray) -> np.ndarray:
    """Pi_b-SPIBB: pairs seen too rarely are played as before, the rest of the time the best of the others."""
    trusted, behaviour = counts.sum(axis=2) > ENOUGH, world.behaviour

    def improve(q: np.ndarray) -> np.ndarray:
        policy = np.where(trusted, 0.0, behaviour)
        best = np.where(trusted, q, -np.inf).argmax(axis=1)
        rows = np.flatnonzero(trusted.any(axis=1))
        policy[rows, best[rows]] += 1.0 - policy[rows].sum(axis=1)
        return policy

    return _iterated(world, counts, improve)


def spibb_at_most(world: OfflineWorld, counts: np.ndarray) -> np.ndarray:
    """Pi_<=b-SPIBB: pairs seen too rarely are played at most as often as before."""
    trusted, behaviour = counts.sum(axis=2) > ENOUGH, world.behaviour

    def improve(q: np.ndarray) -> np.ndarray:
        policy = np.zeros_like(behaviour)
        for s, order in enumerate(np.argsort(-q, axis=1, kind="stable")):
            left = 1.0
            for a in order:
                policy[s, a] = left if trusted[s, a] else min(left, behaviour[s, a])
                left -= policy[s, a]
            policy[s, order[0]] += left  # rounding
        return policy

    return _iterated(world, counts, improve)


def soft_spibb(world: OfflineWorld, counts: np.ndarray) -> np.ndarray:
    """Approx-Soft-SPIBB: probability moves from the worst actions to the best, as far as errors of both allow."""
    visits, (S, A) = counts.sum(axis=2), world.reward.shape
    error = np.where(visits > 0, np.sqrt(2 * np.log(2 * S * A) / np.maximum(1, visits)), np.inf)

    def improve(q: np.ndarray) -> np.ndarray:
        policy = world.behaviour.copy()
        for s in range(S):
            budget = LEEWAY
            for low in np.argsort(q[s], kind="stable"):
                for high in np.argsort(-(q[s] - q[s, low]) / error[s], kind="stable"):
                    if q[s, high] <= q[s, low] or not np.isfinite(error[s, [low, high]]).all():
                        continue
                    moved = min(policy[s, low], budget / (error[s, low] + error[s, high]))
                    policy[s, low] -= moved
                    policy[s, high] += moved
                    budget -= moved * (error[s, low] + error[s, high])
        return policy

    return _iterated(world, counts, improve)


def _iterated(world: OfflineWorld, counts: np.ndarray, improve: Improve) -> np.ndarray:
    """Policy iteration from the behaviour within the policies that ``improve`` gives; no state becomes worse."""
    laws, reward = estimated(world, counts)
    policy = world.behaviour
    for _ in range(MOST_STEPS):
        q = action_values(laws, reward, policy)
        new = improve(q)
        gain = (new * q).sum(axis=1) - (policy * q).sum(axis=1)
        if (gain <= 1e-12).all():
            break
        policy = np.where((gain > 0)[:, None], new, policy)
    return policy
