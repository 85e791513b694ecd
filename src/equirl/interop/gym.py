"""MDPs, and our worlds by name, as environments of Gymnasium.

``import equirl`` registers every world: ``gymnasium.make("equirl/RiverSwim-v0", n_states=6)``. They have no time limit
and never end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.reward_distributions import draw_rewards, original_rewards
from equirl.words.checking import unknown_name, whole_number
from equirl.words.formatting import shown
from equirl.worlds.world_registry import load_world


class TabularEnv(gymnasium.Env[Any, Any]):
    """A TabularMDP, or a world by name or text, as a Gymnasium environment.

    ``info["action_mask"]`` marks the actions the state allows; another one is an error. Rewards are those of the MDP,
    in its units, drawn as its ``reward_law`` says.

    Parameters
    ----------
    mdp : TabularMDP or str
        An MDP, or a world such as "riverswim:n_states=6".
    render_mode : {"ansi"}, optional
        How :meth:`render` draws.
    **params
        Parameters of the world, where one is named.

    Examples
    --------
    >>> env = TabularEnv("riverswim", n_states=6)
    >>> env.reset(seed=0)
    (0, {'action_mask': array([1, 1], dtype=int8)})
    >>> env.step(1)[:4]
    (0, 0.005, False, False)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]

    def __init__(self, mdp: TabularMDP | str, render_mode: str | None = None, **params: Any) -> None:
        if isinstance(mdp, str):
            mdp = load_world(mdp, **params)
        elif params:
            raise TypeError(f"parameters ({', '.join(params)}) go with the name of a world, not with an MDP")
        check_mdp(mdp)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(unknown_name("render mode", render_mode, self.metadata["render_modes"]))
        self.mdp = mdp
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(mdp.n_states)
        self.action_space = spaces.Discrete(mdp.pairs.n_action_ids)
        self.state: int | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Go to a first state.

        Parameters
        ----------
        seed : int, optional
            Seeds the environment's generator.
        options : dict, optional
            ``{"state": s}`` starts in a chosen state, by number or name; otherwise it is drawn.
        """
        super().reset(seed=None if seed is None else whole_number("seed", seed, least=0))
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"options must be a dict, such as {{'state': 0}}, not {shown(options)}")
        if options and "state" in options:
            self.state = self.mdp.pairs.state_number(options["state"])
        else:
            self.state = self._draw(self.mdp.initial)
        return self.state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play an action that the state allows; no step is ever terminated or truncated."""
        if self.state is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        k = self.mdp.pairs.find(self.state, self.mdp.pairs.action_number(action))
        if k < 0:
            allowed = self.mdp.pairs.allowed(self.state)
            raise ValueError(
                f"action {action!r} is not allowed in {self.mdp.pairs.call(self.state)} (allowed: {allowed})"
            )
        first, last = self.mdp.rows.ptr[k : k + 2]
        mean = self.mdp.r_mean[k : k + 1]
        drawn = draw_rewards(self.mdp.reward_law, mean, self.mdp.concentration, self.np_random)
        reward = float(original_rewards(drawn, self.mdp.reward_map)[0])
        self.state = int(self.mdp.rows.succ[first + self._draw(self.mdp.rows.prob[first:last])])
        return self.state, reward, False, False, self._info()

    def render(self) -> str | None:  # type: ignore[override]
        """The map with ``@`` on the state, or the state in words; None without a ``render_mode``."""
        if self.render_mode is None or self.state is None:
            return None
        picture, names = self.mdp.picture, self.mdp.pairs.state_names
        if picture is None:
            return f"state {names[self.state] if names else self.state} of {self.mdp.n_states}\n"
        row, column = picture.cell[self.state]
        lines = [list(line) for line in picture.rows]
        lines[row][column] = "@"
        return "\n".join(map("".join, lines)) + "\n"

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:  # noqa: N802 (Gymnasium's name)
        """The transition table, as Gymnasium's own environments have it; rewards are means."""
        mdp, rewards = self.mdp, self.mdp.rewards
        table: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {s: {} for s in range(mdp.n_states)}
        for k, (s, a) in enumerate(zip(mdp.pairs.state.tolist(), mdp.pairs.action.tolist(), strict=True)):
            part, mean = slice(mdp.rows.ptr[k], mdp.rows.ptr[k + 1]), float(rewards[k])
            successors = zip(mdp.rows.prob[part].tolist(), mdp.rows.succ[part].tolist(), strict=True)
            table[s][a] = [(p, x, mean, False) for p, x in successors]
        return table

    @property
    def initial_state_distrib(self) -> np.ndarray:
        """(S,) the distribution of the first state, under the name that Gymnasium's own environments use."""
        return self.mdp.initial

    def _draw(self, probs: np.ndarray) -> int:
        place = np.searchsorted(np.cumsum(probs), self.np_random.random(), side="right")
        return int(min(place, np.flatnonzero(probs)[-1]))  # the sum may be a rounding error below 1

    def _info(self) -> dict[str, Any]:
        pairs, s = self.mdp.pairs, self.state
        assert s is not None
        mask = np.zeros(pairs.n_action_ids, np.int8)
        mask[pairs.action[pairs.ptr[s] : pairs.ptr[s + 1]]] = 1
        return {"action_mask": mask}
