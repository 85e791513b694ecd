"""Encoders: states and actions of a Gymnasium space, or any list of them, as numbers, and back into the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from equirl.model.pairs import Name, is_name, plain_name
from equirl.words.checking import plain_array, real_array, several, whole_number
from equirl.words.formatting import shown

MOST_VALUES = 10**6  # of a space that is listed in full


class Encoder:
    """Numbers 0, 1, ... for the values of a space, and the values of the numbers.

    A space is a ``Discrete``, ``MultiDiscrete`` or ``MultiBinary`` of Gymnasium, a ``Box``, which is divided into
    cells, or a ``Tuple`` or ``Dict`` of such, nested as it may be. For states that no space describes see :meth:`of`
    and :meth:`from_play`.

    Parameters
    ----------
    space : gymnasium.Space
        A finite one, or one with boxes.
    bins : int or sequence, optional
        Into how many cells of equal width each dimension of a ``Box`` is divided; or one entry per dimension: a number
        of cells, or the edges between them, which is what a dimension without bounds needs. What lies outside belongs
        to the outermost cells. For a ``Tuple`` also a list with the bins of each part, for a ``Dict`` a mapping.

    Examples
    --------
    >>> from gymnasium import spaces
    >>> hand = Encoder(spaces.Tuple([spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2)]))
    >>> hand.n, hand.encode((14, 10, 0)), hand.decode(328)
    (704, 328, (14, 10, 0))
    >>> Encoder.of(["red", "green"]).encode("green")
    1
    >>> level = spaces.Box(np.array([0.0, -np.inf]), np.array([10.0, np.inf]), dtype=np.float64)
    >>> tank = Encoder(level, bins=[5, [-1.0, 1.0]])
    >>> tank.n, tank.encode([7.5, 0.3]), tank.names[10], tank.decode(10)
    (15, 10, (3, 1), array([7., 0.]))
    """

    def __init__(self, space: Any, bins: Any = None) -> None:
        self.n, self._decode, self._plain = _numbered(space, bins)
        if self.n > MOST_VALUES:
            raise ValueError(
                f"{shown(space)} has {shown(self.n)} values, too many to list; Encoder.from_play(env) lists those met "
                "in play, Encoder.of(values) those that you give"
            )
        self.is_plain = type(space).__name__ == "Discrete" and int(space.start) == 0
        self._number: dict[Hashable, int] | None = None
        if not self.is_plain:
            self._number = {self._plain(self._decode(k)): k for k in range(self.n)}

    @classmethod
    def of(cls, values: Iterable[Any]) -> Encoder:
        """An encoder of the values listed, in that order: strings, numbers, tuples, arrays or dicts, all different."""
        listed = several("values", values)
        encoder = cls.__new__(cls)
        encoder.n, encoder._decode, encoder.is_plain = len(listed), listed.__getitem__, False
        encoder._plain = plain_value
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
            number = self._number.get(self._plain(value), -1)
        if not 0 <= number < self.n:
            raise ValueError(
                f"{shown(value)} is none of the {self.n} values that the encoder knows; "
                "Encoder.of(values) takes a list of all, Encoder.from_play(env, steps) meets more in more steps"
            )
        return number

    def decode(self, number: int) -> Any:
        """The value of a number, as the space has it: a tuple for ``Tuple``, a dict for ``Dict``, a cell's middle."""
        return self._decode(whole_number("number", number, least=0, most=self.n - 1))

    @property
    def names(self) -> tuple[Name, ...] | None:
        """The values, or the places of the cells, as names of states; None where they are the numbers 0, 1, ..."""
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


def _numbered(space: Any, bins: Any = None) -> Numbering:
    """How many values a space has, from a number to a value, and to its name; the last part varies fastest."""
    kind = type(space).__name__
    if kind == "Box" and bins is not None:
        return _cells(space, bins)
    if kind in ("Tuple", "Dict"):
        return _numbered_parts(space, bins, kind)
    if kind == "Discrete":
        return Numbering(int(space.n), lambda number: number + int(space.start), plain_value)
    if kind == "MultiDiscrete":
        sizes, first = [int(n) for n in np.ravel(space.nvec)], np.ravel(getattr(space, "start", 0))
        return Numbering(math.prod(sizes), lambda number: _array(_digits(number, sizes) + first, space), plain_value)
    if kind == "MultiBinary":
        width = int(np.prod(space.shape))
        return Numbering(2**width, lambda number: _array(_digits(number, [2] * width), space), plain_value)
    raise ValueError(
        f"space {shown(space)} is not finite: Discrete, MultiDiscrete, MultiBinary and Tuple and Dict of them are; "
        "Encoder(space, bins=10) divides a Box into cells, Encoder.of(values) takes a list of states"
    )


def _numbered_parts(space: Any, bins: Any, kind: str) -> Numbering:
    keys = sorted(space.spaces) if kind == "Dict" else range(len(space.spaces))
    if kind == "Dict" and isinstance(bins, Mapping):
        own_bins = [bins.get(key) for key in keys]
    elif kind == "Tuple" and isinstance(bins, Sequence) and not isinstance(bins, str) and len(bins) == len(keys):
        own_bins = list(bins)
    else:
        own_bins = [bins] * len(keys)
    parts = [_numbered(space.spaces[key], own) for key, own in zip(keys, own_bins, strict=True)]

    def decode(number: int) -> Any:
        digits = _digits(number, [part.n for part in parts]).tolist()
        values = [part.decode(digit) for part, digit in zip(parts, digits, strict=True)]
        return tuple(values) if kind == "Tuple" else dict(zip(keys, values, strict=True))

    def plain(value: Any) -> Any:
        try:
            return tuple(part.plain(value[key]) for key, part in zip(keys, parts, strict=True))
        except (TypeError, KeyError, IndexError):
            return plain_value(value)

    return Numbering(math.prod(part.n for part in parts), decode, plain)


def _cells(space: Any, bins: Any) -> Numbering:
    """The cells of a box: a name is the place of a cell in each dimension."""
    low, high = (np.ravel(np.asarray(bound, float)) for bound in (space.low, space.high))
    counts = several("bins", bins) if _is_several(bins) else [bins] * len(low)
    if len(counts) != len(low):
        raise ValueError(f"bins has {len(counts)} entries; the {len(low)} dimensions of {shown(space)} need one each")
    edges = [_edges(k, *own) for k, own in enumerate(zip(counts, low.tolist(), high.tolist(), strict=True))]
    sizes, middles = [len(own) + 1 for own in edges], [_middles(*own) for own in zip(edges, low, high, strict=True)]

    def decode(number: int) -> np.ndarray:
        digits = _digits(number, sizes).tolist()
        return _array(np.array([own[digit] for own, digit in zip(middles, digits, strict=True)]), space)

    def plain(value: Any) -> Any:
        numbers = np.ravel(real_array("the observation", value))
        if len(numbers) != len(edges) or np.isnan(numbers).any():
            raise ValueError(f"{shown(value)} is no value of {shown(space)}")
        return tuple(int(np.searchsorted(own, x, side="right")) for own, x in zip(edges, numbers.tolist(), strict=True))

    return Numbering(math.prod(sizes), decode, plain)


def _is_several(bins: Any) -> bool:
    return isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str) and getattr(bins, "ndim", 1) > 0


def _edges(dimension: int, bins: Any, low: float, high: float) -> np.ndarray:
    """The inner edges of the cells of one dimension."""
    if not _is_several(bins):
        n = whole_number(f"bins of dimension {dimension}", bins)
        if n > 1 and not math.isfinite(high - low):
            raise ValueError(f"dimension {dimension} has no bounds; bins must list the edges of its cells there")
        return np.linspace(low, high, n + 1)[1:-1] if n > 1 else np.zeros(0)
    found = real_array(f"bins of dimension {dimension}", bins)
    if found.ndim != 1 or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise ValueError(f"bins of dimension {dimension} must be increasing finite numbers, not {shown(bins)}")
    return found


def _middles(edges: np.ndarray, low: float, high: float) -> np.ndarray:
    """A value in each cell: its middle, or as far beyond the last edge as the others are apart."""
    if not len(edges):
        return np.array([(low + high) / 2 if math.isfinite(high - low) else min(max(0.0, low), high)])
    gap = float(np.diff(edges).mean()) if len(edges) > 1 else 1.0
    first = low if math.isfinite(low) else edges[0] - gap
    last = high if math.isfinite(high) else edges[-1] + gap
    return np.convolve([first, *edges, last], [0.5, 0.5], "valid")


class Numbering(NamedTuple):
    """The values of a space, numbered."""

    n: int
    decode: Callable[[int], Any]  # from a number to a value
    plain: Callable[[Any], Any]  # from a value to its name


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


def batch_entry(values: Any, i: int) -> Any:
    """The i-th of a batch of a space: tuples and dicts hold a batch for each part."""
    if isinstance(values, dict):
        return {key: batch_entry(part, i) for key, part in values.items()}
    if isinstance(values, tuple):
        return tuple(batch_entry(part, i) for part in values)
    return values[i]
