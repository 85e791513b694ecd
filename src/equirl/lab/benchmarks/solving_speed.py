"""Known MDPs of up to a million states and more: made, solved with a certificate, their classes found.

Others' solvers get the same accuracy and the same arrays, in the form they keep them in; making that form is not
counted. Ours looks at the structure of the MDP anew each time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial

import numpy as np

from equirl.interop.convert import to_quantecon
from equirl.lab.benchmarks.measurement import (
    Finding,
    Measure,
    Sizes,
    Skipped,
    in_new_process,
    peak_mebibytes,
    power,
    seconds_of,
    side_by_side,
)
from equirl.lab.benchmarks.planning_speed import lists_for_mdpsolver, random_mdp
from equirl.model import TabularMDP
from equirl.numerics.arrays import owners, places_in_rows
from equirl.solving import solve
from equirl.structure import equivalence_classes
from equirl.worlds import make

DISCOUNT, ACCURACY = 0.999, 1e-8
MANY_SUCCESSORS = 20
Case = Callable[[], object]


def measure_solving(sizes: Sizes) -> Iterator[Finding]:
    yield from _making(sizes)
    yield from _against_quantecon(sizes)
    yield from _against_mdpsolver(sizes)
    yield from _alone(sizes)
    yield from _classes(sizes)
    yield from _growth(sizes)
    yield from _on_gpu(sizes)
    ended = in_new_process(f"from equirl.lab.benchmarks.solving_speed import far_end; far_end({sizes.far_states})")
    for line in ended.printed.splitlines():
        name, seconds, peak = line.split("\t")
        note = f"random, S = {sizes.far_states}, 4 actions, 5 successors; one process, stage after stage"
        yield Measure(name, float(seconds), "s", note)
        yield Measure(f"{name}, peak so far", float(peak), "MiB", note)


def anew(mdp: TabularMDP) -> TabularMDP:
    """The same arrays as an MDP of which nothing is known yet."""
    twin = object.__new__(TabularMDP)
    twin.__dict__.update({field.name: getattr(mdp, field.name) for field in fields(mdp)})
    return twin


def _solved(mdp: TabularMDP, **more: object) -> Case:
    return lambda: solve(anew(mdp), ACCURACY, **more)  # type: ignore[call-overload]


def _making(sizes: Sizes) -> Iterator[Finding]:
    n, side = sizes.solve_states, round(sizes.solve_states**0.5)
    yield Measure(
        "making a random MDP", seconds_of(partial(random_mdp, n), 0), "s", f"S = {n}, 4 actions, 5 successors"
    )
    seconds = seconds_of(partial(make, "four-room", height=side, width=side), 0)
    yield Measure("making a grid", seconds, "s", f"four-room, {side}x{side}")


def _against_quantecon(sizes: Sizes) -> Iterator[Finding]:
    mdp = random_mdp(sizes.solve_states)
    note = f"random, S = {mdp.n_states}, discount {DISCOUNT}, values within {ACCURACY:g}"
    try:
        theirs = to_quantecon(mdp, DISCOUNT)
    except ImportError:
        yield Measure("solve, discounted", seconds_of(_solved(mdp, discount=DISCOUNT), 0), "s", note)
        yield Skipped("QuantEcon's modified policy iteration against ours", "quantecon is not installed")
        return
    cases: dict[str, Case] = {
        "ours": _solved(mdp, discount=DISCOUNT),
        "theirs": partial(theirs.solve, method="modified_policy_iteration", epsilon=2 * ACCURACY),
    }
    times = side_by_side(cases, 0)
    yield Measure("solve, discounted", times["ours"], "s", note)
    yield Measure("QuantEcon's modified policy iteration against ours", times["theirs"] / times["ours"], "times", note)


def _against_mdpsolver(sizes: Sizes) -> Iterator[Finding]:
    n = sizes.average_states
    mdp = make("random", n_states=n, n_actions=4, branching=min(n, MANY_SUCCESSORS), seed=0)
    note = f"random, S = {n}, 4 actions, {MANY_SUCCESSORS} successors, gain within {ACCURACY:g}"
    try:
        solver = lists_for_mdpsolver(mdp)
    except ImportError:
        yield Measure("solve, average reward", seconds_of(_solved(mdp), 0), "s", note)
        yield Skipped("mdpsolver against ours, average reward", "mdpsolver is not installed")
        return
    theirs = partial(
        solver.solve, algorithm="vi", criterion="average", tolerance=2 * ACCURACY, parallel=False,
        postProcessing=False, makeFinalCheck=False, initValueVector=[0.0] * n,
    )  # fmt: skip
    times = side_by_side({"ours": _solved(mdp), "theirs": theirs}, 0)
    yield Measure("solve, average reward", times["ours"], "s", note)
    yield Measure("mdpsolver against ours, average reward", times["theirs"] / times["ours"], "times", note)


def _alone(sizes: Sizes) -> Iterator[Finding]:
    rental, side = make("car-rental"), round(sizes.solve_states**0.5)
    seconds = seconds_of(_solved(rental), 0)
    yield Measure("solve, average reward", seconds, "s", f"car-rental, {len(rental.rows.succ)} successors")
    grid = make("four-room", height=side, width=side)
    seconds = seconds_of(_solved(grid, discount=DISCOUNT), 0)
    yield Measure("solve, discounted", seconds, "s", f"four-room, {side}x{side}, discount {DISCOUNT}")


def _classes(sizes: Sizes) -> Iterator[Finding]:
    side = round(sizes.class_pairs**0.5 / 2)
    for mdp, what in (
        (make("four-room", height=side, width=side), "four-room grid"),
        (random_mdp(sizes.class_pairs // 4), "all distinct"),
    ):
        times = side_by_side({"classes": partial(equivalence_classes, mdp), "rows": sorting(mdp)}, 0)
        note = f"M = {mdp.n_pairs}, {what}"
        yield Measure("exact classes", times["classes"], "s", note)
        yield Measure("... against sorting the rows", times["classes"] / times["rows"], "times", note)


def sorting(mdp: TabularMDP) -> Case:
    """Sorting each row, and then the rows, as they lie in a table filled up with zeros."""
    ptr = mdp.rows.ptr
    table = np.zeros((mdp.n_pairs, np.diff(ptr).max() + 1))
    table[:, 0] = mdp.r_mean
    table[owners(ptr), 1 + places_in_rows(ptr)] = mdp.rows.prob

    def sort() -> None:
        rows = table.copy()
        rows[:, 1:].sort(axis=1)
        rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel().sort()

    return sort


def _growth(sizes: Sizes) -> Iterator[Finding]:
    states = [n for n in sizes.growth_states if n >= sizes.growth_states[-1] // 10]
    mdps = [random_mdp(n) for n in states]
    ways: dict[str, Callable[[TabularMDP], Case]] = {
        "solve, discounted": partial(_solved, discount=DISCOUNT),
        "solve, average reward": _solved,
        "exact classes": lambda mdp: partial(equivalence_classes, mdp),
    }
    for name, way in ways.items():
        times = [seconds_of(way(mdp), sizes.seconds / 10) for mdp in mdps]
        yield Measure(
            f"growth with S: {name}", power(states, times), "power", f"S = {states[0]} to {states[-1]}, random"
        )


def _on_gpu(sizes: Sizes) -> Iterator[Finding]:
    mdp = random_mdp(sizes.solve_states)
    ways: dict[str, Callable[[str], object]] = {
        "solve, discounted": lambda device: solve(anew(mdp), ACCURACY, discount=DISCOUNT, device=device),
        "solve, average reward": lambda device: solve(anew(mdp), ACCURACY, device=device),
    }
    try:
        solve(random_mdp(10), device="gpu")
    except (ImportError, RuntimeError) as error:
        yield Skipped("the processor against a GPU", str(error))
        return
    for name, way in ways.items():
        times = side_by_side({device: partial(way, device) for device in ("cpu", "gpu")}, 0)
        note = f"random, S = {mdp.n_states}, upload and certificate included"
        yield Measure(f"{name}: the processor against a GPU", times["cpu"] / times["gpu"], "times", note)
        yield Measure(f"{name}, on a GPU", times["gpu"], "s", note)


def far_end(n_states: int) -> None:
    """Make, solve and sort out a random MDP; a line per stage: its name, its seconds and the peak so far in MiB."""
    kept: dict[str, TabularMDP] = {}
    stages: dict[str, Case] = {
        "made": lambda: kept.setdefault("mdp", random_mdp(n_states)),
        "discounted 0.99": lambda: _certified(solve(kept["mdp"], 1e-6, discount=0.99).converged),
        "average": lambda: _certified(solve(kept["mdp"], 1e-6).converged),
        "classes": lambda: equivalence_classes(kept["mdp"]),
    }
    for name, stage in stages.items():
        start = time.perf_counter()
        stage()
        sys.stdout.write(f"{name}\t{time.perf_counter() - start:.3f}\t{peak_mebibytes():.0f}\n")
        sys.stdout.flush()


def _certified(converged: bool) -> None:
    if not converged:
        raise ArithmeticError("the accuracy asked for was not certified")
