"""A rollout in an MDP under a fixed policy, and what it pays: the compiled inside of a stretch.

Within a stretch the policy is fixed and rewards decide nothing, so the path comes first and the rewards of its pairs
are drawn after. One uniform number per step moves the world and one more pays a random reward, each from its own
generator, so that learners can share the world's randomness step by step.
"""

from __future__ import annotations

import numpy as np

from equirl.learners.contract import Learner, Limits, Stretch, is_over, pair_played, spend
from equirl.model.dynamics import Chances, Dynamics, dynamics_of, successor_drawn
from equirl.model.mdp import TabularMDP
from equirl.model.reward_distributions import draw_rewards
from equirl.numerics.compiling import inlined, lean_kernel
from equirl.numerics.seeding import put_back

BLOCK = 1 << 15  # steps per compiled call at most: bounds memory and lets Ctrl-C be heard
_pair_played = inlined(pair_played)


@lean_kernel
def walk(state: int, draw: np.ndarray, world: Dynamics, stretch: Stretch, path: np.ndarray) -> tuple[int, int]:
    """Play at most ``len(draw)`` steps, until the limits of the stretch (which are spent) end it.

    Returns the number of steps played and the state reached; the pairs played are in ``path``.
    """
    for i in range(len(draw)):
        k = _pair_played(stretch, world.pair_ptr, state, i)
        if is_over(k, stretch.limits):
            return i, state
        spend(k, stretch.limits)
        path[i] = k
        state = successor_drawn(world.rows, k, draw[i])
    return len(draw), state


class Rollout:
    """An MDP being played: its state and its generators, one for moves and one for rewards."""

    def __init__(self, mdp: TabularMDP, seed: np.random.SeedSequence) -> None:
        first, moves, pay = (np.random.default_rng(child) for child in seed.spawn(3))
        self.mdp, self._moves, self._pay = mdp, moves, pay
        self.dynamics = dynamics_of(mdp)
        start = int(np.searchsorted(np.cumsum(mdp.initial), first.random(), side="right"))
        self.state = min(start, int(np.flatnonzero(mdp.initial)[-1]))
        self._draw, self._path, self._rewards = np.empty(0), np.empty(BLOCK, np.int64), np.empty(BLOCK)

    def play(self, stretch: Stretch, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Play a stretch, or what fits into a block of it and into ``most`` steps.

        The stretch is the learner's own; its limits are left as they are.
        """
        draw = self._drawn(most)
        if len(stretch.draws):
            draw = draw[: len(stretch.draws)]
        label, *left = stretch.limits
        own = stretch._replace(limits=Limits(label, *(array.copy() for array in left)))
        steps, self.state = walk(self.state, draw, self.dynamics, own, self._path)
        self._draw = self._draw[steps:]
        path = self._path[:steps]
        mdp = self.mdp
        return path, draw_rewards(mdp.reward_law, mdp.r_mean[path], mdp.concentration, self._pay)

    def play_steps(self, agent: Learner, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Let an agent play in a loop of its own, what fits into a block and into ``most`` steps; path and rewards."""
        draw = self._drawn(most)
        pay = self._pay.random(0 if self.mdp.reward_law == "deterministic" else len(draw))
        steps, self.state = agent.play_steps(self.dynamics, self.state, Chances(draw, pay), self._path, self._rewards)
        put_back(self._pay, max(0, len(pay) - steps))
        self._draw = self._draw[steps:]
        return self._path[:steps], self._rewards[:steps]

    def _drawn(self, most: int) -> np.ndarray:
        """Uniform numbers for the next steps, of a block drawn ahead."""
        if not len(self._draw):
            self._draw = self._moves.random(BLOCK)
        return self._draw[:most]
