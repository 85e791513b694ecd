"""Planning to the accuracy 1/sqrt(t): plain EVI from 0 against cheap sweeps along a policy, and a warm start."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from equirl.lab.benchmarks.measurement import Finding, Measure, side_by_side
from equirl.lab.benchmarks.planning_speed import ACCURACY, balls, random_mdp
from equirl.learners import POLICY_SWEEPS
from equirl.model import TabularMDP
from equirl.planning import extended_value_iteration
from equirl.worlds import make

if TYPE_CHECKING:
    from equirl.lab.benchmarks.suite import Sizes

SUBJECT = "acceleration"
RADII = {"early": 0.5, "late": 0.02}  # largest L1 radius: while learning, and when nearly all is known


def measure_acceleration(sizes: Sizes) -> Iterator[Finding]:
    """Full sweeps and time of plain and of accelerated planning, in rivers, grids and a random MDP."""
    side = max(9, round(sizes.sweep_states**0.5) + 2)
    for mdp, what in (
        (make("ergodic-riverswim", n_states=50), "river of 50"),
        (make("four-room", height=22, width=22), "20x20 grid"),
        (make("four-room", height=side, width=side), f"{side - 2}x{side - 2} grid"),
        (random_mdp(sizes.sweep_states), f"random, S = {sizes.sweep_states}"),
    ):
        for stage, largest in RADII.items():
            yield from _one(mdp, f"{what}, {stage}", largest, sizes.seconds)


def _one(mdp: TabularMDP, where: str, largest: float, seconds: float) -> Iterator[Finding]:
    models = balls(mdp, largest)
    before = extended_value_iteration(mdp.pairs.ptr, models._replace(p_radius=1.05 * models.p_radius), ACCURACY)
    plan = partial(extended_value_iteration, mdp.pairs.ptr, models, ACCURACY)
    cases = {
        "plain": plan,
        "cheap": partial(plan, policy_sweeps=POLICY_SWEEPS),
        "warm": partial(plan, policy_sweeps=POLICY_SWEEPS, start=before.bias),
    }
    sweeps = {name: case().n_sweeps for name, case in cases.items()}
    times = side_by_side(cases, seconds)
    for name, what in (("cheap", "cheap sweeps between"), ("warm", "a warm start, and cheap sweeps")):
        note = f"{where}: {sweeps['plain']} full sweeps plain, {sweeps[name]} so"
        yield Measure(SUBJECT, f"plain EVI against EVI with {what}", times["plain"] / times[name], "times", note)
