"""Worlds: ready MDPs by name, with parameters, presets and one-line descriptions.

``make("four-room", height=17, width=17)`` and the text ``four-room:height=17,width=17`` name the same world. Beside its
own parameters every world takes ``reward_law``, ``concentration`` (of Beta rewards), ``shuffle`` (a seed: states, and
actions state by state, are renumbered at random) and, where it has presets, ``preset``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from equirl.model.mdp import TabularMDP
from equirl.model.reward_laws import REWARD_LAWS
from equirl.words.checking import between, checked_path, choice, unknown_name, whole_number
from equirl.words.formatting import parse_value, shown
from equirl.worlds.practice.zoo_list import ZOO, ZOO_PREFIX
from equirl.worlds.world_list import WORLDS, World


def make(name: str, **params: Any) -> TabularMDP:
    """A world by name.

    Parameters
    ----------
    name : str
        The name of a world; ``equirl worlds`` lists them with their parameters.
    **params
        Parameters of that world, and those of every world: ``preset`` (where it has presets), ``reward_law``
        ("deterministic", "bernoulli" or "beta"), ``concentration`` (of beta rewards) and ``shuffle`` (a seed by which
        states and actions are renumbered at random).

    Raises
    ------
    TypeError, ValueError
        If there is no such world or parameter, or a value makes no sense.

    Examples
    --------
    >>> make("ergodic-riverswim", n_states=6)
    TabularMDP('ergodic-riverswim:n_states=6', S=6, M=12, successors=27, deterministic rewards in [0, 1])
    """
    world = find_world(name)
    defaults = world.params
    for key in params:
        if key not in defaults:
            raise TypeError(unknown_name(f"parameter of {name}", key, defaults))
    given = {**defaults, **params}
    law = choice("reward_law", given.pop("reward_law"), REWARD_LAWS)
    concentration = between("concentration", given.pop("concentration"), most=1e300)
    shuffle = given.pop("shuffle")
    if "preset" in given:
        preset = world.presets[choice("preset", given.pop("preset"), world.presets)]
        given |= {key: value for key, value in preset.items() if key not in params}
    mdp = world.factory(**given).relabelled(law, float(concentration), world_text(name, params))
    return mdp if shuffle is None else mdp.shuffled(whole_number("shuffle", shuffle, least=0))


def find_world(name: str) -> World:
    """The row of a world; a wrong name is answered with the nearest right one."""
    known = ZOO if isinstance(name, str) and name.startswith(ZOO_PREFIX) else WORLDS
    if not isinstance(name, str) or name not in known:
        raise ValueError(unknown_name("world", name, known))
    return known[name]


def world_text(name: str, params: Mapping[str, Any]) -> str:
    """A world as text, with the parameters that differ from their defaults, in the order of its definition."""
    defaults = find_world(name).params
    given = {key: (_as_text(params[key]), _as_text(defaults[key])) for key in defaults if key in params}
    parts = [f"{key}={value}" for key, (value, default) in given.items() if value != default]
    return f"{name}:{','.join(parts)}" if parts else name


def parse_world(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters from text such as ``four-room:height=17,width=17``."""
    name, _, rest = text.partition(":")
    name = name.strip()
    defaults = find_world(name).params
    params: dict[str, Any] = {}
    for part in filter(None, map(str.strip, rest.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"{shown(part)} in {shown(text)} is not parameter=value")
        if key not in defaults:
            raise TypeError(unknown_name(f"parameter of {name}", key, defaults))
        if key in params:
            raise ValueError(f"{key} is given twice in {shown(text)}")
        params[key] = parse_value(value)
    return name, params


def load_world(text: str | os.PathLike[str], **params: Any) -> TabularMDP:
    """An MDP from a world's text, or from a file.

    Parameters
    ----------
    text : str or path
        A world such as ``riverswim:n_states=6``, a file saved by ``TabularMDP.save`` (.npz), or one that holds a grid
        map (.txt).
    **params
        Parameters that add to, or replace, those in the text.

    Examples
    --------
    >>> load_world("riverswim:n_states=6").n_states
    6
    """
    if not isinstance(text, (str, os.PathLike)):
        raise TypeError(f"text must name a world, such as riverswim:n_states=6, or a file, not {shown(text)}")
    text = os.fspath(text)
    if text.endswith(".npz"):
        if params:
            raise TypeError(f"{text} is a saved MDP and takes no parameters ({', '.join(params)})")
        return TabularMDP.load(text)
    if text.endswith(".txt"):
        return replace(make("grid", map=_map_in(checked_path("text", text)), **params), name=Path(text).stem)
    if text.lower().endswith((".csv", ".tsv", ".parquet")):
        raise ValueError(
            f"{text} is no problem but, by its ending, a log: equirl learn {text}, or equirl classes {text}"
        )
    name, given = parse_world(text)
    return make(name, **{**given, **params})


def _map_in(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text file; a map is made of # . S G") from None


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip().replace("\n", "/")
    is_list = isinstance(value, Iterable) and getattr(value, "shape", None) != ()
    return "/".join(map(str, value)) if is_list else str(value)
