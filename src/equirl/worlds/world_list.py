"""The list of worlds: titles, descriptions and presets; what makes them is loaded when it is first used."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP

# Rivers as in a drawing by the paper's authors; the defaults ("figures") reproduce its curves.
DRAWING = {"forward": 0.35, "first_forward": 0.6, "small_reward": 0.05}
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
