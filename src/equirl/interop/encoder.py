"""Encoders: states and actions of a Gymnasium space, or any list of them, as numbers, and back into the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from equirl.model.pairs import Name, is_name, plain_name
from equirl.words.checking import plain_array, several, whole_number
from equirl.words.formatting import shown

MOST_VALUES = 10**6  # of a space that is listed in full


class Encoder:
    """Numbers 0, 1, ... for the values of a discrete space, and the values of the numbers.

    A space is a ``Discrete``, ``MultiDiscrete`` or ``MultiBinary`` of Gymnasium, or a ``Tuple`` or ``Dict`` of such,
    nested as it may be. For states that no space describes see :meth:`of` and :meth:`from_play`.

    Parameters
    ----------
    space : gymnasium.Space
        A finite one.

    Examples
    --------
    >>> from gymnasium import spaces
    >>> hand = Encoder(spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]))
    >>> hand.n, hand.encode((14, 10, 0)), hand.decode(328)
    (704, 328, (14, 10, 0))
    >>> Encoder.of(["red", "green"]).encode("green")
    1
    """

    def __init__(self, space: Any) -> None:
        self.n, self._decode = _numbered(space)
        if self.n > MOST_VALUES:
            raise ValueError(
                f"{shown(space)} has {shown(self.n)} values, too many to list; Encoder.from_play(env) lists those met "
                "in play, Encoder.of(values) those that you give"
            )
        self.is_plain = type(space).__name__ == "Discrete" and int(space.start) == 0
        self._number: dict[Hashable, int] | None = None
        if not self.is_plain:
            self._number = {plain_value(self._decode(k)): k for k in range(self.n)}

    @classmethod
    def of(cls, values: Iterable[Any]) -> Encoder:
        """An encoder of the values listed, in that order: strings, numbers, tuples, arrays or dicts, all different."""
        listed = several("values", values)
        encoder = cls.__new__(cls)
        encoder.n, encoder._decode, encoder.is_plain = len(listed), listed.__getitem__, False
        encoder._number = {plain_value(value): k for k, value in enumerate(listed)}
        if not listed or len(encoder._number) < len(listed):
            raise ValueError("values must be different, and at least one")
        return encoder

    @classmethod
    def from_play(cls, env: Any, steps: int = 10_000, seed: int = 0) -> Encoder:
        """An encoder of the states met in random play, sorted; for spaces that are unknown, huge, or mostly empty.

        A state met later for the first time is an error that names it: play longer, or list the states.

        Parameters
        ----------
        env : gymnasium.Env
            The environment, which is reset.
        steps : int
            How many steps to play.
        seed : int
            Seed of the environment and of the actions.
        """
        steps, met = whole_number("steps", steps), {}
        if not hasattr(env, "action_space") or not hasattr(env, "step"):
            raise TypeError(f"env must be a Gymnasium environment, not {shown(env)}")
        seed = whole_number("seed", seed, least=0)
        env.action_space.seed(seed)
        state, _ = env.reset(seed=seed)
        for _ in range(steps):
            met[plain_value(state)] = state
            state, _, terminated, truncated, _ = env.step(env.action_space.sample())
            met[plain_value(state)] = state
            if episode_flag("terminated", terminated) or episode_flag("truncated", truncated):
                state, _ = env.reset()
        try:
            order = sorted(met)
        except TypeError:  # of several kinds
            order = sorted(met, key=str)
        return cls.of([met[name] for name in order])

    def encode(self, value: Any) -> int:
        """The number of a value; an error where the encoder does not know it."""
        if self._number is None:
            plain = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
            number = int(plain) if isinstance(plain, int | np.integer) else -1
        else:
            number = self._number.get(plain_value(value), -1)
        if not 0 <= number < self.n:
            raise ValueError(
                f"{shown(value)} is none of the {self.n} values that the encoder knows; "
                "Encoder.of(values) takes a list of all, Encoder.from_play(env, steps) meets more in more steps"
            )
        return number

    def decode(self, number: int) -> Any:
        """The value of a number, as the space has it: a tuple for ``Tuple``, a dict for ``Dict``."""
        return self._decode(whole_number("number", number, least=0, most=self.n - 1))

    @property
    def names(self) -> tuple[Name, ...] | None:
        """The values as names of states; None where they are the numbers 0, 1, ... themselves."""
        return None if self._number is None else tuple(self._number)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Encoder({self.n} values)"


def plain_value(value: Any) -> Any:
    """A value of a space as a name: arrays as tuples, dicts as tuples of their values in the order of their keys."""
    if isinstance(value, dict):
        return tuple(plain_value(value[key]) for key in sorted(value))
    if isinstance(value, tuple | list):
        return tuple(plain_value(part) for part in value)
    name = plain_name(value)
    if not is_name(name):
        can = "strings, numbers, tuples, arrays and dicts of them can"
        raise TypeError(f"the value {shown(value)} cannot stand for a state; {can}")
    return name


def _numbered(space: Any) -> tuple[int, Callable[[int], Any]]:
    """How many values a space has, and from a number to a value; the last part varies fastest."""
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n), lambda number: number + int(space.start)
    if kind == "MultiDiscrete":
        sizes, first = [int(n) for n in np.ravel(space.nvec)], np.ravel(getattr(space, "start", 0))
        return math.prod(sizes), lambda number: _array(_digits(number, sizes) + first, space)
    if kind == "MultiBinary":
        width = int(np.prod(space.shape))
        return 2**width, lambda number: _array(_digits(number, [2] * width), space)
    if kind not in ("Tuple", "Dict"):
        raise ValueError(
            f"space {shown(space)} is not finite: Discrete, MultiDiscrete, MultiBinary and Tuple and Dict of them are; "
            "divide it into cells in a wrapper (gymnasium.wrappers.TransformObservation), or list its states: "
            "Encoder.of"
        )
    keys = sorted(space.spaces) if kind == "Dict" else range(len(space.spaces))
    parts = [_numbered(space.spaces[key]) for key in keys]

    def decode(number: int) -> Any:
        digits = _digits(number, [n for n, _ in parts]).tolist()
        values = [own(digit) for (_, own), digit in zip(parts, digits, strict=True)]
        return tuple(values) if kind == "Tuple" else dict(zip(keys, values, strict=True))

    return math.prod(n for n, _ in parts), decode


def _array(values: np.ndarray, space: Any) -> np.ndarray:
    return values.reshape(space.shape).astype(space.dtype)


def _digits(number: int, sizes: list[int]) -> np.ndarray:
    digits = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        digits.append(digit)
    return np.array(digits[::-1], np.int64)


def episode_flag(name: str, value: Any) -> bool:
    """True or False: also 0 and 1, as numbers of any type, and arrays of one such entry."""
    if isinstance(value, bool):
        return value
    plain = plain_array(name, value)
    if plain.size != 1 or plain.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    if plain.item() not in (0, 1):
        raise ValueError(f"{name} must be True or False, not {shown(value)}")
    return bool(plain.item())
