"""Problems of the literature on learning from logs, with the policies that their logs came from, and the logs.

Wet Chicken (Hans and Udluft 2009; behaviour of Scholl and others 2022), the grid and the random MDPs of SPIBB (Laroche,
Trichelair and Tachet des Combes 2019). All are discounted by 0.95 and pay by where one arrives. Arrays are dense: S is
at most 50.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.estimation import Snapshot
from equirl.logs.log import Log
from equirl.model import Pairs
from equirl.numerics.compiling import kernel

DISCOUNT = 0.95


class OfflineWorld(NamedTuple):
    """A problem with the policy in use."""

    laws: np.ndarray  # (S, A, S)
    reward: np.ndarray  # (S, A) mean, in [0, 1]
    pays: np.ndarray  # (S, S) reward of arriving, from state to state
    behaviour: np.ndarray  # (S, A)
    end: int  # the state that ends an episode, -1 for none; episodes begin in state 0

    def worth(self, policy: np.ndarray) -> float:
        """The discounted value of a policy from the start."""
        return float(values(self.laws, self.reward, policy)[0])

    def best(self) -> float:
        return self.worth(greedy(self.laws, self.reward))


def values(laws: np.ndarray, reward: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """(S,) discounted values of a policy (S, A)."""
    chain = np.einsum("sa,sax->sx", policy, laws)
    return np.linalg.solve(np.eye(len(chain)) - DISCOUNT * chain, (policy * reward).sum(axis=1))


def action_values(laws: np.ndarray, reward: np.ndarray, policy: np.ndarray) -> np.ndarray:
    return reward + DISCOUNT * laws @ values(laws, reward, policy)


def greedy(laws: np.ndarray, reward: np.ndarray) -> np.ndarray:
    """(S, A) the best policy, by policy iteration."""
    policy = np.full(reward.shape, 1.0 / reward.shape[1])
    while True:
        q = action_values(laws, reward, policy)
        new = np.eye(reward.shape[1])[q.argmax(axis=1)]
        if ((new * q).sum(axis=1) <= (policy * q).sum(axis=1) + 1e-12).all():
            return policy
        policy = new


def wet_chicken() -> OfflineWorld:
    """A canoe on a river of 5 by 5 with a waterfall at its end: the closer, the better; over it, back to the start.

    Actions: drift, paddle, paddle hard, left, right. The behaviour keeps to the middle, one action in ten at random.
    """
    side, turbulence, speed = 5, 3.5, 3.0
    laws, behaviour = np.zeros((25, 5, 25)), np.full((25, 5), 0.02)
    for s in range(25):
        x, y = divmod(s, side)
        drift = speed * y / side
        for a, (dx, dy) in enumerate(((0, 0), (-1, 0), (-2, 0), (0, -1), (0, 1))):
            low, high = x + dx + drift - (turbulence - drift), x + dx + drift + (turbulence - drift)
            lane = min(max(y + dy, 0), side - 1)
            edges = np.clip(np.array([-np.inf, *(np.arange(side) + 0.5), np.inf]), low, high)
            mass = np.diff(edges) / (high - low)  # at 0, 1, ..., 4 and over the fall; what is on land is at 0
            for to, p in enumerate(mass[:-1]):
                laws[s, a, to * side + lane] += p
            laws[s, a, 0] += mass[-1]
        wanted = 2 if x > 2 else 4 if y < 2 else 3 if y > 2 else (0, 1, 2)[x]
        behaviour[s, wanted] += 0.9
    pays = np.tile(np.arange(25) // side / (side - 1), (25, 1))
    return OfflineWorld(laws, np.einsum("sax,sx->sa", laws, pays), pays, behaviour, -1)


def spibb_grid() -> OfflineWorld:
    """A slippery grid of 5 by 5 with two walls; the far corner pays 1 and ends. The behaviour is half as good as can
    be, measured from random play.
    """
    side, steps = 5, ((0, 1), (1, 0), (0, -1), (-1, 0))
    walls = {((2, y), (3, y)) for y in (0, 1, 2)} | {((3, y), (4, y)) for y in (2, 3)}
    laws = np.zeros((25, 4, 25))
    for s in range(24):
        x, y = s % side, s // side
        for a in range(4):
            for way, (dx, dy) in enumerate(steps):
                to = (x + dx, y + dy)
                shut = not (0 <= to[0] < side and 0 <= to[1] < side) or tuple(sorted(((x, y), to))) in walls
                laws[s, a, s if shut else to[0] + side * to[1]] += (0.75, 0.1, 0.05, 0.1)[(way - a) % 4]
    return _ending(laws, 24, np.random.default_rng(0))


def random_mdp(rng: np.random.Generator) -> OfflineWorld:
    """50 states, 4 actions, 4 successors each; the state that is hardest to reach, but can be, pays 1 and ends."""
    S, A = 50, 4
    laws = np.zeros((S, A, S))
    for s in range(S):
        for a in range(A):
            cuts = np.sort(rng.random(3))
            laws[s, a, rng.choice(S, 4, replace=False)] = np.diff(np.concatenate([[0.0], cuts, [1.0]]))
    worth = {end: _rewarded(laws, end)[2] for end in range(1, S)}
    reachable = {end: value for end, value in worth.items() if value > DISCOUNT**50}
    return _ending(laws, min(reachable, key=reachable.__getitem__), rng)


def _rewarded(laws: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The laws and rewards when a state ends and pays 1, and what the best policy is worth from the start."""
    laws = laws.copy()
    laws[end] = np.eye(len(laws))[end]
    reward = laws[:, :, end].copy()
    reward[end] = 0.0
    return laws, reward, float(values(laws, reward, greedy(laws, reward))[0])


def _ending(laws: np.ndarray, end: int, rng: np.random.Generator) -> OfflineWorld:
    laws, reward, best = _rewarded(laws, end)
    pays = np.zeros((len(laws), len(laws)))
    pays[:, end], pays[end, end] = 1.0, 0.0
    random = np.full(reward.shape, 1.0 / reward.shape[1])
    least = float(values(laws, reward, random)[0])
    q = action_values(laws, reward, greedy(laws, reward))
    heat, policy = 1e-3, random
    while True:  # a softmax of the best action values three quarters as good as can be, measured from random play
        policy = np.exp((q - q.max(axis=1, keepdims=True)) / heat)
        policy /= policy.sum(axis=1, keepdims=True)
        if values(laws, reward, policy)[0] <= least + 0.75 * (best - least):
            break
        heat *= 1.1
    while values(laws, reward, policy)[0] > least + 0.5 * (best - least):  # then worse, state by state, to one half
        s = rng.integers(len(laws))
        policy[s, q[s].argmax()] *= 0.9
        policy[s] /= policy[s].sum()
    policy[end] = np.eye(reward.shape[1])[0]
    return OfflineWorld(laws, reward, pays, policy, end)


def counts_of(world: OfflineWorld, size: int, rng: np.random.Generator) -> np.ndarray:
    """(S, A, S) transitions of a log: ``size`` steps, or episodes, each with one more step at its end."""
    cells = world.laws.cumsum(axis=2)
    counts = np.zeros(world.laws.shape, np.int64)
    state, left = 0, size
    while left > 0:
        state, left = _play(
            cells, world.behaviour.cumsum(axis=1), rng.random((4096, 2)), counts, state, world.end, left
        )
    return counts


@kernel
def _play(
    cells: np.ndarray, choice: np.ndarray, draw: np.ndarray, counts: np.ndarray, state: int, end: int, left: int
) -> tuple[int, int]:
    """Play until the draws are used up, or the steps, with an end the episodes; the state, and how many are left."""
    for i in range(len(draw)):
        if left == 0:
            break
        a = min(np.searchsorted(choice[state], draw[i, 0], side="right"), choice.shape[1] - 1)
        x = min(np.searchsorted(cells[state, a], draw[i, 1], side="right"), choice.shape[0] - 1)
        counts[state, a, x] += 1
        if x == end:
            counts[end, 0, end] += 1
            x = 0
            left -= 1
        elif end < 0:
            left -= 1
        state = x
    return state, left


def estimated(world: OfflineWorld, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(S, A, S) frequencies, (S, A) mean rewards; nothing where there are no counts."""
    laws = counts / np.maximum(1, counts.sum(axis=2, keepdims=True))
    return laws, np.einsum("sax,sx->sa", laws, world.pays)


def counting(world: OfflineWorld, counts: np.ndarray) -> np.ndarray:
    """The policy that is optimal by frequencies."""
    return greedy(*estimated(world, counts))


def log_of(world: OfflineWorld, counts: np.ndarray) -> Log:
    """The log that has these counts."""
    S, A = world.reward.shape
    flat = counts.reshape(S * A, S)
    pair, succ = np.nonzero(flat)
    n = flat[pair, succ]
    order = np.lexsort((-succ, -n, pair))
    paid = world.pays[np.repeat(np.arange(S), A)]
    seen = Snapshot(
        np.searchsorted(pair, np.arange(S * A + 1)), succ[order].astype(np.int32), n[order], flat.sum(axis=1),
        (flat * paid).sum(axis=1), (flat * paid**2).sum(axis=1),
    )  # fmt: skip
    each = paid[pair, succ][order]
    came = (n[order] * each, n[order] * each**2)
    return Log(Pairs.uniform(S, A), seen, (1.0, 0.0), np.eye(S)[0], int(flat.sum()), 0, False, came)
