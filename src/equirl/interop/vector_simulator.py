"""A vector of Gymnasium environments: all take a step at once, and what each of them taught comes out one by one.

An episode that ends is followed by the next, when and how is the vector's own choice (its autoreset mode). A step that
is terminated leads to the first state of the next episode, which may be known one step later; it comes out then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.interop.encoder import Encoder, batch_entry, episode_flag
from equirl.interop.simulators import check_encoder, encoded_pairs
from equirl.model.reward_distributions import reward_map_of
from equirl.words.formatting import shown

PARTS = ("num_envs", "single_observation_space", "single_action_space", "reset", "step", "metadata")
SAME_STEP, DISABLED = "SameStep", "Disabled"  # autoreset modes; what is neither resets in the step after
Learned = tuple[int, Any, int, bool]  # pair, reward, successor, whether an episode ended


def is_vector(env: Any) -> bool:
    return all(hasattr(env, name) for name in PARTS)


def vector_of(
    env: Any, reward_range: tuple[float, float] | None, default: tuple[float, float], encoder: Encoder | None = None
) -> VectorSimulator:
    return VectorSimulator(env, encoder, default if reward_range is None else reward_range)


class VectorSimulator:
    def __init__(self, env: Any, encoder: Encoder | None, reward_range: tuple[float, float]) -> None:
        check_encoder(encoder)
        reward_map_of(reward_range)
        self.env, self.reward_range = env, reward_range
        self.encoder = Encoder(env.single_observation_space) if encoder is None else encoder
        self.actions = Encoder(env.single_action_space)
        self.pairs = encoded_pairs(self.encoder, self.actions)
        mode = env.metadata.get("autoreset_mode")
        self.mode = getattr(mode, "value", mode)
        self.over = [False] * int(env.num_envs)  # whose episode has ended, and begins anew with the next step
        self.waiting: list[tuple[int, Any] | None] = [None] * int(env.num_envs)  # terminated: the successor is to come

    def reset(self, seed: np.random.SeedSequence) -> list[int]:
        """Begin: the states, by number."""
        observations, _ = self.env.reset(seed=int(seed.generate_state(1)[0]))
        self.over, self.waiting = [False] * len(self.over), [None] * len(self.over)
        return self._states(observations)

    def step(self, chosen: list[int]) -> tuple[list[int], list[Learned]]:
        """Play a pair in each environment: the states after, and what there is to learn."""
        actions = [self.actions.decode(int(self.pairs.action[pair])) for pair in chosen]
        given = self.env.step(np.array(actions))
        try:
            observations, rewards, terminated, truncated, info = given
        except (TypeError, ValueError):
            wanted = "(observations, rewards, terminations, truncations, infos)"
            raise TypeError(f"env.step(actions) returned {shown(given)}, not {wanted}") from None
        ends = [episode_flag("terminated", one) for one in terminated]
        breaks = [episode_flag("truncated", one) for one in truncated]
        states, done = self._states(observations), [a or b for a, b in zip(ends, breaks, strict=True)]
        last = states
        if self.mode == SAME_STEP:
            last = [self._state(info["final_obs"][i]) if done[i] else state for i, state in enumerate(states)]
        elif self.mode == DISABLED and any(done):
            states = self._states(self.env.reset(options={"reset_mask": np.array(done)})[0])
        found: list[Learned] = []
        for i, pair in enumerate(chosen):
            reward = np.asarray(rewards)[i].item()
            if self.over[i]:  # this step only began the next episode
                if (before := self.waiting[i]) is not None:
                    found.append((*before, states[i], True))
                    self.waiting[i] = None
            elif not ends[i]:
                found.append((pair, reward, last[i], done[i]))
            elif self.mode in (SAME_STEP, DISABLED):
                found.append((pair, reward, states[i], True))
            else:
                self.waiting[i] = pair, reward
        self.over = done if self.mode not in (SAME_STEP, DISABLED) else self.over
        return states, found

    def _states(self, observations: Any) -> list[int]:
        return [self._state(batch_entry(observations, i)) for i in range(len(self.over))]

    def _state(self, observation: Any) -> int:
        return self.encoder.encode(observation)

    def __repr__(self) -> str:
        return f"VectorSimulator({len(self.over)} environments, S={self.pairs.n_states}, M={self.pairs.n_pairs})"
