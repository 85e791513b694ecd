"""Gymnasium, both ways: our worlds as environments, and environments with a transition table as MDPs.

``import equirl`` registers every world: ``gymnasium.make("equirl/RiverSwim-v0", n_states=6)``. They have no time limit
and never end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from equirl.interop.gym_tables import OutcomeTable, absorbed, compare_with_rollouts, read_table, restarted
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.reward_laws import REWARD_LAWS, draw_rewards, unit_map
from equirl.model.row_readers import initial_law
from equirl.model.transition_rows import Rows, rows_from_triplets
from equirl.words.checking import choice, flag, unknown_name, warn_caller, whole_number
from equirl.words.formatting import shown
from equirl.worlds.world_registry import load_world

ON_TERMINAL = ("restart", "absorb", "error")


class TabularEnv(gymnasium.Env[Any, Any]):
    """A TabularMDP, or a world by name or text, as a Gymnasium environment.

    ``info["action_mask"]`` marks the actions the state allows; another one is an error. Rewards are those of the MDP,
    in [0, 1], drawn as its ``reward_law`` says.

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

        Returns
        -------
        state : int
        info : dict
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
        """Play an action.

        Parameters
        ----------
        action : int
            One that the state allows.

        Returns
        -------
        state : int
        reward : float
        terminated, truncated : bool
            Always False.
        info : dict
        """
        if self.state is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        k = self.mdp.pairs.find(self.state, self.mdp.pairs.action_number(action))
        if k < 0:
            allowed = self.mdp.pairs.allowed(self.state)
            raise ValueError(f"action {action!r} is not allowed in state {self.state} (allowed: {allowed})")
        first, last = self.mdp.rows.ptr[k : k + 2]
        mean = self.mdp.r_mean[k : k + 1]
        reward = float(draw_rewards(self.mdp.reward_law, mean, self.mdp.concentration, self.np_random)[0])
        self.state = int(self.mdp.rows.succ[first + self._draw(self.mdp.rows.prob[first:last])])
        return self.state, reward, False, False, self._info()

    def render(self) -> str | None:  # type: ignore[override]
        """The map with ``@`` on the state, or the state in words (``render_mode="ansi"``).

        Returns
        -------
        str or None
        """
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
        mdp = self.mdp
        table: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {s: {} for s in range(mdp.n_states)}
        for k, (s, a) in enumerate(zip(mdp.pairs.state.tolist(), mdp.pairs.action.tolist(), strict=True)):
            part, mean = slice(mdp.rows.ptr[k], mdp.rows.ptr[k + 1]), float(mdp.r_mean[k])
            law = zip(mdp.rows.prob[part].tolist(), mdp.rows.succ[part].tolist(), strict=True)
            table[s][a] = [(p, x, mean, False) for p, x in law]
        return table

    @property
    def initial_state_distrib(self) -> np.ndarray:
        """(S,) the distribution of the first state, under the name that Gymnasium's own environments use."""
        return self.mdp.initial

    def _draw(self, law: np.ndarray) -> int:
        place = np.searchsorted(np.cumsum(law), self.np_random.random(), side="right")
        return int(min(place, np.flatnonzero(law)[-1]))  # the sum may be a rounding error below 1

    def _info(self) -> dict[str, Any]:
        pairs, s = self.mdp.pairs, self.state
        assert s is not None
        mask = np.zeros(pairs.n_action_ids, np.int8)
        mask[pairs.action[pairs.ptr[s] : pairs.ptr[s + 1]]] = 1
        return {"action_mask": mask}


def from_gymnasium(
    env: Any,
    on_terminal: str = "restart",
    *,
    initial: Any = None,
    drop_unreachable: bool | None = None,
    normalize: bool = False,
    check: bool = False,
    seed: int = 0,
    reward_law: str | None = None,
    name: str | None = None,
) -> TabularMDP:
    """The MDP in the transition table of an environment (``env.unwrapped.P``): FrozenLake, CliffWalking, Taxi, yours.

    Rewards are averaged over the outcomes of each pair. If one lies outside [0, 1] they are first mapped affinely onto
    it, and ``mdp.reward_map`` = (scale, shift) keeps the map: original = scale * reward + shift. An environment of
    equirl gives back its own MDP.

    Parameters
    ----------
    env : gymnasium.Env
        ``env.unwrapped.P[s][a]`` lists (probability, next, reward, terminated).
    on_terminal : {"restart", "absorb", "error"}
        What follows an outcome that ends the episode: a first state instead; a state that is never left and pays 0; or
        there must be none.
    initial : int or array_like, shape (S,), optional
        The first state or its distribution, where the environment does not give it (``initial_state_distrib``).
    drop_unreachable : bool, optional
        True leaves out states that cannot be reached; the others are renumbered, and named by their old numbers
        ("14", a str). False keeps them all. By default they are kept, with a warning where there are any: learners
        stay optimistic about states they never see, and learn the slower. They are not dropped unasked because state
        numbers would then differ from the observations of ``env``, and ``agent.act(observation)`` would silently mean
        another state. Drop them for :func:`equirl.simulate`; keep them to drive a learner in ``env`` itself.
    normalize : bool, default False
        Divide rows of probabilities by their sums, as in ``TabularMDP.from_arrays``.
    check : bool, default False
        Compare the table with 20,000 random steps of ``env``, which is reset.
    seed : int, default 0
        The seed of those steps.
    reward_law : {"deterministic", "bernoulli", "beta"}, optional
        How rewards are drawn around their means; default "deterministic", or that of an equirl environment.
    name : str, optional
        A title; default the id of the environment.

    Returns
    -------
    TabularMDP

    Raises
    ------
    TypeError, ValueError
        If the environment has no such table, or it makes no sense; the message names the state and action.

    Examples
    --------
    >>> lake = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), drop_unreachable=False)
    >>> lake.law(14, 2), lake.mean_reward(14, 2)  # into the goal, and back to the start
    ({0: 1.0}, 1.0)
    """
    choice("on_terminal", on_terminal, ON_TERMINAL)
    normalize = flag("normalize", normalize)
    if not hasattr(env, "unwrapped"):
        remedy = f"; gymnasium.make({env!r}) makes one" if isinstance(env, str) else ""
        raise TypeError(f"env must be a Gymnasium environment, not {shown(env)}{remedy}")
    law_of_rewards = None if reward_law is None else choice("reward_law", reward_law, REWARD_LAWS)
    bare = env.unwrapped
    table = read_table(env)
    law = initial_law(_initial(bare) if initial is None else initial, table.pairs, normalize=normalize)
    if flag("check", check):
        compare_with_rollouts(env, table, law, whole_number("seed", seed, least=0))
    if isinstance(bare, TabularEnv):
        law = bare.mdp.initial if initial is None else law
        mdp = replace(bare.mdp, reward_law=law_of_rewards or bare.mdp.reward_law, initial=law)
    else:
        rows, means, reward_map = _read_outcomes(_endless(table, law, on_terminal), normalize)
        mdp = TabularMDP(table.pairs, rows, means, law, law_of_rewards or "deterministic", reward_map=reward_map)
        mdp = replace(mdp, name=_name(bare))
    mdp = mdp if name is None else replace(mdp, name=name)
    if drop_unreachable is not None:
        return mdp.restrict_to_reachable() if flag("drop_unreachable", drop_unreachable) else mdp
    lost = int((~mdp.reachable()).sum())
    if lost:
        warn_caller(
            f"{lost} of the {mdp.n_states} states cannot be reached, and learners stay optimistic about them: "
            "drop_unreachable=True leaves them out and renumbers the others, drop_unreachable=False keeps them",
            UserWarning,
        )
    return mdp


def _read_outcomes(table: OutcomeTable, normalize: bool) -> tuple[Rows, np.ndarray, tuple[float, float]]:
    """Rows, mean rewards in [0, 1] and the map back; rewards already inside are kept as they are."""
    possible = table.reward[table.prob > 0]
    inside = possible.min() >= 0 and possible.max() <= 1
    scale, shift = (1.0, 0.0) if inside else unit_map(possible)
    total, paid = (
        np.bincount(table.pair, weights=weights, minlength=table.pairs.n_pairs)
        for weights in (table.prob, table.prob * ((table.reward - shift) / scale))
    )
    rows = rows_from_triplets(table.pairs, table.pair, table.succ, table.prob, normalize=normalize)
    return rows, np.clip(paid / total, 0.0, 1.0), (scale, shift)


def _name(bare: Any) -> str:
    return bare.spec.id if getattr(bare, "spec", None) else type(bare).__name__


def _initial(bare: Any) -> Any:
    for attribute in ("initial_state_distrib", "isd"):
        if getattr(bare, attribute, None) is not None:
            return getattr(bare, attribute)
    raise ValueError(
        f"{type(bare).__name__} does not give the distribution of its first state (initial_state_distrib); "
        "give a state or a distribution as initial="
    )


def _endless(table: OutcomeTable, initial: np.ndarray, on_terminal: str) -> OutcomeTable:
    if on_terminal == "restart":
        return restarted(table, initial)
    if on_terminal == "absorb":
        return absorbed(table, initial)
    if table.ends.any():
        k = int(np.flatnonzero(table.ends)[0])
        raise ValueError(
            f"({table.pairs.describe(int(table.pair[k]))}) ends the episode in state {table.succ[k]}; "
            "on_terminal='restart' or 'absorb' says what follows"
        )
    return table
