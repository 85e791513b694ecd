"""The list of worlds, and how one is made: ready MDPs by name, with parameters, presets and one-line descriptions.

``make("four-room", height=17, width=17)`` and the text ``four-room:height=17,width=17`` name the same world. Beside its
own parameters every world takes ``reward_law``, ``concentration`` (of Beta rewards), ``shuffle`` (a seed: states, and
actions state by state, are renumbered at random) and, where it has presets, ``preset``. Rewards in other units, such as
costs, are mapped to [0, 1]; ``mdp.reward_map`` leads back.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from equirl.words.checking import between, checked_path, choice, unknown_name, whole_number
from equirl.words.formatting import parse_value, shown

if TYPE_CHECKING:  # ``import equirl`` registers the worlds with Gymnasium: nothing is loaded until one is made
    from pathlib import Path

    from equirl.model.mdp import TabularMDP

# Rivers as in a drawing by the paper's authors; the defaults ("figures") reproduce its curves.
DRAWING = {"forward": 0.35, "first_forward": 0.6, "small_reward": 0.05}
LISTS = {"zoo": ("practice.zoo_list", "ZOO"), "colosseum": ("colosseum", "COLOSSEUM")}  # by what stands before a slash
COMMON = {"reward_law": "deterministic", "concentration": 4.0, "shuffle": None}


@dataclass(frozen=True)
class World:
    """A family of MDPs: how one is made, and what it is."""

    source: str  # module.function of this folder, whose parameters all have defaults
    title: str  # its name in Gymnasium: equirl/<title>-v0; without one it is not there
    description: str  # one line
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # settings by name; the first is the default
    rewards: Mapping[str, Any] = field(default_factory=dict)  # how they are drawn, where not as ``COMMON`` has it

    @cached_property
    def factory(self) -> Callable[..., TabularMDP]:
        """The function that makes one; its module is loaded when first asked for."""
        module, _, name = self.source.rpartition(".")
        return cast("Callable[..., TabularMDP]", getattr(import_module(f"equirl.worlds.{module}"), name))

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter with its default value."""
        own = {name: p.default for name, p in inspect.signature(self.factory).parameters.items()}
        preset = {"preset": next(iter(self.presets))} if self.presets else {}
        return {**preset, **own, **COMMON, **self.rewards}


WORLDS: dict[str, World] = {
    "riverswim": World(
        "rivers.riverswim",
        "RiverSwim",
        "a river: a small reward downstream, a large one far upstream",
        {"figures": {}, "drawing": DRAWING},
    ),
    "ergodic-riverswim": World(
        "rivers.ergodic_riverswim",
        "ErgodicRiverSwim",
        "a river in which every policy visits every state",
        {"figures": {}, "drawing": DRAWING},
    ),
    "two-kinds-river": World(
        "rivers.two_kinds_river", "TwoKindsRiver", "a river of calm and rough water, in halves or in turn"
    ),
    "four-room": World("grids.four_room", "FourRoom", "four rooms joined by doors: walk from one corner to the other"),
    "two-room": World("grids.two_room", "TwoRoom", "two rooms, one above the other, joined by a door"),
    "grid": World("grids.grid", "Grid", "a grid-world from a text map (# wall, . floor, S start, G goal)"),
    "random-walls": World(
        "grids.random_walls", "RandomWalls", "a field with walls at random, the goal always in reach"
    ),
    "random": World("random_mdps.garnet", "Random", "a random MDP without structure (Garnet), communicating"),
    "planted": World(
        "random_mdps.planted", "Planted", "a random MDP with a given number of classes, a given distance apart"
    ),
    "cycle": World("textbook.cycle", "Cycle", "a deterministic cycle: go on or stay; the last step round pays"),
    "access-control": World(
        "queues.access_control", "AccessControl", "a queue for a few servers: accept or reject customers"
    ),
    "car-rental": World(
        "textbook.car_rental", "CarRental", "Jack's car rental: move cars overnight between two locations"
    ),
    "admission": World(
        "queues.admission", "Admission", "customer classes at a queue in continuous time: admit or reject"
    ),
    "lost-sales": World(
        "inventories.lost_sales", "LostSales", "inventory with a lead time; demand beyond the stock is lost"
    ),
    "perishable": World(
        "inventories.perishable", "Perishable", "stock that keeps a few periods: order, sell, throw away"
    ),
    "sites": World("like_units.sites", "Sites", "several like sites and one supplier, who reaches one of them a day"),
    "machines": World(
        "like_units.machines", "Machines", "like machines that wear, and one crew that repairs one of them a day"
    ),
    "delivery": World(
        "deliveries.delivery", "Delivery", "parcels over road, ice and sand: fetch them here, deliver them there"
    ),
    "pendulum": World(
        "pendulums.pendulum", "Pendulum", "a noisy pendulum with a weak motor: swing it up and keep it there"
    ),
    "toymaker": World("textbook.toymaker", "Toymaker", "Howard's toymaker: advertise or not, do research or not"),
    "taxicab": World(
        "textbook.taxicab", "Taxicab", "Howard's taxicab: cruise, drive to a stand or wait, in three towns"
    ),
    "frozen-lake": World(
        "toy_text.frozen_lake", "FrozenLake", "Gymnasium's FrozenLake without end: over the ice to the goal"
    ),
    "cliff-walking": World(
        "toy_text.cliff_walking", "CliffWalking", "Gymnasium's CliffWalking without end: keep off the cliff"
    ),
    "taxi": World(
        "toy_text.taxi", "Taxi", "Gymnasium's Taxi without end, in the rain: fetch passengers and drive them"
    ),
}


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
    from equirl.model.reward_distributions import REWARD_DISTRIBUTIONS

    if isinstance(name, str) and (":" in name or name.endswith((".npz", ".txt"))):
        raise ValueError(f"{shown(name)} is a world's text or a file: load_world reads it, make takes a name")
    world = find_world(name)
    defaults = world.params
    for key in params:
        if key not in defaults:
            raise TypeError(unknown_name(f"parameter of {name}", key, defaults))
    given = {**defaults, **params}
    law = choice("reward_law", given.pop("reward_law"), REWARD_DISTRIBUTIONS)
    concentration = between("concentration", given.pop("concentration"), most=1e300)
    shuffle = given.pop("shuffle")
    if "preset" in given:
        preset = world.presets[choice("preset", given.pop("preset"), world.presets)]
        given |= {key: value for key, value in preset.items() if key not in params}
    mdp = world.factory(**given).relabelled(law, float(concentration), world_text(name, params))
    return mdp if shuffle is None else mdp.shuffled(whole_number("shuffle", shuffle, least=0))


def find_world(name: str) -> World:
    """The row of a world; a wrong name is answered with the nearest right one."""
    known: Mapping[str, World] = WORLDS
    if isinstance(name, str) and "/" in name and name.partition("/")[0] in LISTS:
        module, listed = LISTS[name.partition("/")[0]]
        known = getattr(import_module(f"equirl.worlds.{module}"), listed)
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
        from equirl.model.mdp import TabularMDP

        return TabularMDP.load(text)
    if text.endswith(".txt"):
        path = checked_path("text", text)
        return replace(make("grid", map=_map_in(path), **params), name=path.stem)
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
