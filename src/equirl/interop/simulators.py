"""Simulators: a step function of the user's, or a Gymnasium environment with discrete spaces, behind one face."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from equirl.interop.encoder import Encoder, episode_flag
from equirl.interop.gym import TabularEnv
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs, checked_names, pairs_from
from equirl.model.reward_distributions import reward_map_of
from equirl.words.checking import flag
from equirl.words.formatting import shown

PARTS = ("unwrapped", "reset", "step", "observation_space", "action_space")  # of a Gymnasium environment


class Outcome(NamedTuple):
    """What one step of a simulator gave."""

    state: int  # -1 where the step ended the process: what follows is a first state
    reward: float
    terminated: bool
    truncated: bool


class Playable(Protocol):
    """What can be played: pairs, the range of rewards, a first state, a step."""

    pairs: Pairs
    reward_range: tuple[float, float]

    def reset(self, seed: np.random.SeedSequence | None = None) -> int:
        """Go to a first state; with a seed all randomness starts anew."""

    def step(self, pair: int) -> Outcome:
        """Play a pair of the state it is in."""


class Simulator:
    """A problem that can be played and not looked into, from a function that makes one step, or an object that does.

    Parameters
    ----------
    step : function or object
        ``step(state, action, rng)``, or ``step(state, action)`` where it needs no randomness, returns (next_state,
        reward) or (next_state, reward, terminated). States and actions are numbers or names as declared below. Or an
        object that keeps its state: ``reset(rng)`` or ``reset()`` begins anew and returns the first state,
        ``step(action)`` returns as above. It keeps the generator that it was given, for its randomness.
    states : int or sequence of names
        How many states there are, or their names: strings, numbers or tuples.
    actions : int, sequence or mapping
        As ``n_actions`` of :func:`equirl.make_agent`: how many, their names, or sets by state.
    start : state or function
        The first state, or ``start(rng)``, which draws it; also after a terminated step. By default number 0; an
        object says it itself.
    reward_range : (float, float)
        The least and the largest reward there can be.

    Examples
    --------
    >>> def step(floor, action, rng):
    ...     floor = min(floor + 1, 3) if action == "up" and rng.random() < 0.8 else max(floor - 1, 0)
    ...     return floor, float(floor == 3)
    >>> Simulator(step, states=4, actions=["up", "down"])
    Simulator(S=4, M=8)

    >>> class Lift:
    ...     def reset(self, rng):
    ...         self.rng, self.floor = rng, 0
    ...         return self.floor
    ...     def step(self, action):
    ...         self.floor, reward = step(self.floor, action, self.rng)
    ...         return self.floor, reward
    >>> Simulator(Lift(), states=4, actions=["up", "down"]).reset()
    0
    """

    def __init__(
        self,
        step: Any,
        states: Any,
        actions: Any,
        start: Any = 0,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        if isinstance(step, type) and hasattr(step, "reset"):
            raise TypeError(f"step must be an object, such as {step.__name__}(), not the class {step.__name__} itself")
        if hasattr(step, "reset") and hasattr(step, "step"):
            machine = Machine(step)
            step, start = machine.step, machine.start
        elif not callable(step) or not (_takes(step, 3) or _takes(step, 2)):
            wanted = "a function step(state, action, rng), or an object with reset and step"
            raise TypeError(f"step must be {wanted}, not {shown(step)}")
        if callable(start) and not _takes(start, 1):
            raise TypeError(f"start must be a state or a function start(rng), not {shown(start)}")
        reward_map_of(reward_range)
        try:
            self.pairs = pairs_from(states, actions)
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("n_states", "states").replace("n_actions", "actions")) from None
        self.reward_range = reward_range
        self._step, self._start, self._random = step, start, _takes(step, 3)
        self._rng, self._state = np.random.default_rng(0), 0
        if not callable(start):
            self._number(start, "start is")

    def reset(self, seed: np.random.SeedSequence | None = None) -> int:
        """Go to a first state, by number; a seed starts all randomness anew."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        first = self._start(self._rng) if callable(self._start) else self._start
        self._state = self._number(first, "start gives")
        return self._state

    def step(self, pair: int) -> Outcome:
        """Play a pair of the state it is in."""
        pairs, a = self.pairs, int(self.pairs.action[pair])
        state = self._state if pairs.state_names is None else pairs.state_names[self._state]
        action = a if pairs.action_names is None else pairs.action_names[a]
        given = self._step(state, action, self._rng) if self._random else self._step(state, action)
        try:
            after, reward, *rest = given
            if len(rest) > 1:
                raise TypeError
        except (TypeError, ValueError):
            raise TypeError(
                f"step({state!r}, {action!r}) returned {shown(given)}, not (next_state, reward[, terminated])"
            ) from None
        if rest and flag(f"terminated, which step({state!r}, {action!r}) returned,", rest[0]):
            return Outcome(-1, reward, True, False)
        self._state = self._number(after, f"step({state!r}, {action!r}) leads to")
        return Outcome(self._state, reward, False, False)

    def _number(self, state: Any, what: str) -> int:
        try:
            return self.pairs.state_number(state)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{what} {shown(state)}: {error}") from None

    def __repr__(self) -> str:
        return f"Simulator(S={self.pairs.n_states}, M={self.pairs.n_pairs})"


class GymSimulator:
    """A Gymnasium environment with discrete spaces, played through encoders. Make one to choose them.

    Parameters
    ----------
    env : gymnasium.Env
        Its observations and actions must be finite.
    encoder : Encoder, optional
        Of its observations; by default all values of its observation space. ``Encoder(space, bins=10)`` for a ``Box``.
    reward_range : (float, float), optional
        The least and the largest reward there can be; by default that of a ``TabularEnv``, (0, 1) of any other.
    """

    def __init__(
        self, env: Any, encoder: Encoder | None = None, *, reward_range: tuple[float, float] | None = None
    ) -> None:
        if not all(hasattr(env, name) for name in PARTS):
            remedy = "; equirl.Simulator(step, states, actions) makes one of a function" if callable(env) else ""
            raise TypeError(f"env must be a Gymnasium environment or a Simulator, not {shown(env)}{remedy}")
        check_encoder(encoder)
        if reward_range is None:
            reward_range = own_range(env) or (0.0, 1.0)
        reward_map_of(reward_range)
        self.env, self.reward_range = env, reward_range
        self.encoder = Encoder(env.observation_space) if encoder is None else encoder
        self.actions = Encoder(env.action_space)
        self.pairs: Pairs
        if isinstance(env.unwrapped, TabularEnv) and encoder is None:
            self.pairs = env.unwrapped.mdp.pairs
            return
        self.pairs = encoded_pairs(self.encoder, self.actions)

    def reset(self, seed: np.random.SeedSequence | None = None) -> int:
        """Begin an episode: the number of its first state. The environment's own seed comes from ``seed``."""
        number = None if seed is None else int(seed.generate_state(1)[0])
        given = self.env.reset(seed=number)
        try:
            observation, _ = given
        except (TypeError, ValueError):
            raise TypeError(f"env.reset() returned {shown(given)}, not (observation, info)") from None
        return self.encoder.encode(observation)

    def step(self, pair: int) -> Outcome:
        """Play a pair of the state it is in."""
        action = self.actions.decode(int(self.pairs.action[pair]))
        given = self.env.step(action)
        try:
            observation, reward, terminated, truncated, _ = given
        except (TypeError, ValueError):
            wanted = "(observation, reward, terminated, truncated, info)"
            raise TypeError(f"env.step({action!r}) returned {shown(given)}, not {wanted}") from None
        terminated = episode_flag(f"terminated, which env.step({action!r}) returned,", terminated)
        truncated = episode_flag(f"truncated, which env.step({action!r}) returned,", truncated)
        state = -1 if terminated else self.encoder.encode(observation)
        return Outcome(state, reward, terminated, truncated)

    def __repr__(self) -> str:
        return f"GymSimulator({self.env}, S={self.pairs.n_states}, M={self.pairs.n_pairs})"


def check_encoder(encoder: Any) -> None:
    if encoder is not None and not isinstance(encoder, Encoder):
        raise TypeError(f"encoder must be an Encoder, not {shown(encoder)}")


def encoded_pairs(states: Encoder, actions: Encoder) -> Pairs:
    """Every action in every state, with the names that the encoders give."""
    plain = Pairs.uniform(states.n, actions.n)
    of_actions = None if actions.is_plain else checked_names("action", actions.names or ())
    return Pairs(plain.ptr, plain.action, states.names, of_actions)


class Machine:
    """An object of the user's that keeps its state, as a step and a start."""

    def __init__(self, own: Any) -> None:
        self.own, self.draws = own, _takes(own.reset, 1)
        if not _takes(own.step, 1):
            raise TypeError(f"step of {shown(own)} must take the action alone: step(action)")

    def start(self, rng: np.random.Generator) -> Any:
        return self.own.reset(rng) if self.draws else self.own.reset()

    def step(self, state: Any, action: Any) -> Any:
        return self.own.step(action)


def own_range(env: Any) -> tuple[float, float] | None:
    """The range of the rewards of an MDP that is played as an environment; None for any other."""
    bare = getattr(env, "unwrapped", None)
    return (bare.mdp.reward_map[1], sum(bare.mdp.reward_map)) if isinstance(bare, TabularEnv) else None


def simulator_of(
    env: Any,
    reward_range: tuple[float, float] | None,
    default: tuple[float, float] = (0.0, 1.0),
    encoder: Encoder | None = None,
) -> Playable:
    """A simulator of whatever is to be played."""
    if isinstance(env, TabularMDP):
        env = TabularEnv(env)
    if isinstance(env, Simulator | GymSimulator):
        for name, given in {"reward_range": reward_range, "encoder": encoder}.items():
            if given is not None:
                raise TypeError(f"{name} goes with an environment; a Simulator has its own")
        return env
    limits = (own_range(env) or default) if reward_range is None else reward_range
    return GymSimulator(env, encoder, reward_range=limits)


def _takes(function: Callable[..., Any], n: int) -> bool:
    """Whether a function takes so many arguments by place; True where that cannot be known."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True
