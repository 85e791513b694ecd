"""What a policy earns where it can only be played: nothing is learned, rewards are counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.interop.encoder import Encoder
from equirl.interop.simulators import simulator_of
from equirl.interop.vector_simulator import is_vector
from equirl.learners.contract import Learner
from equirl.model.pairs import Pairs
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.simulation.curves import half_width
from equirl.solving.policies import Policy, policy_weights
from equirl.words.answer_units import InUnits
from equirl.words.checking import whole_number
from equirl.words.progress_bar import Advance, progress_called

BATCHES = 20  # parts of a run, whose means vary as the mean of all does, if they are long against its memory


@dataclass(frozen=True)
class Evaluation:
    """What a policy earned in play, in the units of the rewards. Made by :func:`evaluate`.

    Attributes
    ----------
    mean_reward : float
        Per step.
    half_width : float
        Of its 95 % confidence interval, from the means of 20 parts of the run; NaN where there are fewer steps.
    steps : int
        Steps played.
    episodes : int
        Episodes that ended.
    mean_return : float
        What an episode that ended earned in all, on average; NaN where none did.
    """

    mean_reward: InUnits[float]
    half_width: InUnits[float]
    steps: int
    episodes: int
    mean_return: InUnits[float]

    def __repr__(self) -> str:
        ended = f", {self.episodes:,} episodes of {self.mean_return:.6g} each" if self.episodes else ""
        return f"Evaluation({self.mean_reward:.6g} ± {self.half_width:.2g} a step in {self.steps:,} steps{ended})"


def evaluate(
    policy: Any,
    env: Any,
    steps: int = 10_000,
    seed: Seed = 0,
    *,
    encoder: Encoder | None = None,
    progress: bool | Advance = False,
) -> Evaluation:
    """Play a policy, or what an agent would play without exploring, and count what it earns.

    Parameters
    ----------
    policy : Learner, Policy, mapping or array
        An agent, which is not changed; what :func:`equirl.solve` or :func:`equirl.learn` found; ``{state: action}``; an
        action per state; or a probability per pair. States and actions go by number or name.
    env : gymnasium.Env, Simulator or TabularMDP
        What is played.
    steps : int
        The number of steps.
    seed : int or SeedSequence
        From which all randomness follows, the environment's too.
    encoder : Encoder, optional
        Of the observations, as in :func:`equirl.play`.
    progress : bool or function
        True shows a bar on a terminal or in a notebook; a function is called as ``progress(done, steps)``.

    Examples
    --------
    >>> from equirl.solving.optimal_gain import solve
    >>> from equirl.worlds.world_registry import make
    >>> river = make("riverswim", n_states=6)
    >>> found = evaluate(solve(river), river, steps=2000, seed=1)
    >>> abs(found.mean_reward - solve(river).gain) < 3 * found.half_width
    True
    """
    if is_vector(env):
        raise TypeError(f"env must be one environment, not a vector of {env.num_envs}; env.envs[0] may be one")
    steps, simulator = whole_number("steps", steps), simulator_of(env, None, encoder=encoder)
    weight = _weights(policy, simulator.pairs)
    world_root, own_root = seed_sequence("seed", seed).spawn(2)
    rng, ptr = np.random.default_rng(own_root), simulator.pairs.ptr
    rewards, returns, since = np.empty(steps), [], 0.0
    state = simulator.reset(world_root)
    with progress_called(progress, "steps") as advanced:
        for t in range(steps):
            first, last = int(ptr[state]), int(ptr[state + 1])
            along = np.cumsum(weight[first:last])
            outcome = simulator.step(first + int(np.searchsorted(along, rng.random() * along[-1], side="right")))
            rewards[t] = outcome.reward
            since += rewards[t]
            state = outcome.state
            if outcome.terminated or outcome.truncated:
                returns.append(since)
                state, since = simulator.reset(), 0.0
            if (t + 1) % max(1, steps // BATCHES) == 0:
                advanced(t + 1, steps)
    parts = rewards[: steps - steps % BATCHES].reshape(BATCHES, -1).mean(axis=1) if steps >= BATCHES else np.zeros(0)
    mean_return = float(np.mean(returns)) if returns else math.nan
    return Evaluation(float(rewards.mean()), float(half_width(parts)), steps, len(returns), mean_return)


def _weights(policy: Any, pairs: Pairs) -> np.ndarray:
    """(M,) the probability of each pair in its state."""
    agent = getattr(policy, "agent", policy)  # of a trace, or of one with a journal
    if isinstance(agent, Learner):
        policy = agent.beliefs.greedy_policy()
    elif isinstance(policy, Policy):
        policy = policy.weights
    elif hasattr(policy, "policy"):  # what was solved or learned
        policy = policy.policy
    return policy_weights(pairs, policy)
