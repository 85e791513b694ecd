"""Memory and large problems: the peak of a process, all of Python and its libraries included, and the time it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from equirl.lab.benchmarks.measurement import Finding, Measure, in_new_process

if TYPE_CHECKING:
    from equirl.lab.benchmarks.suite import Sizes

SUBJECT, LARGE = "memory", "scale"
PEAK = "from equirl.lab.benchmarks.measurement import peak_mebibytes; {}; print(peak_mebibytes())"


def measure_memory(sizes: Sizes) -> Iterator[Finding]:
    """The most memory that planning and clustering hold, beside that of a process that only imports."""
    for name, code in memory_cases(sizes).items():
        peak = float(in_new_process(PEAK.format(code)).printed)
        yield Measure(SUBJECT, name, peak, "MiB", "peak of the whole process")


def memory_cases(sizes: Sizes) -> dict[str, str]:
    """What is measured."""
    return {
        "importing everything": "import equirl.simulation.simulated_runs",
        f"planning, S = {sizes.sweep_states}, A = 4, 5 successors": (
            f"from equirl.lab.benchmarks.planning_speed import *; settled_sweep(random_mdp({sizes.sweep_states}))()"
        ),
        f"clustering, M about {sizes.growth_pairs[-1]}": (
            f"from equirl.lab.benchmarks.clustering_speed import *; cluster(count_in_grid({sizes.growth_pairs[-1]}))"
        ),
    }


def measure_scale(sizes: Sizes) -> Iterator[Finding]:
    """Whole runs on large grids: seconds and memory."""
    for side, learner, settings in sizes.large:
        own = dict(settings) | sizes.chosen(learner)
        code = (
            "from math import inf; import equirl as eq; "
            f"eq.simulate(eq.make('four-room', height={side}, width={side}), {learner!r}, "
            f"{sizes.large_horizon}, gain=0.0, **{own!r})"
        )
        ended = in_new_process(PEAK.format(code))
        chosen = "".join(f", {key}={value}" for key, value in own.items())
        where = f"{side}x{side} four-room grid, T = {sizes.large_horizon}"
        note = f"{where}{chosen}, from start to end of a process, optimal gain given"
        yield Measure(LARGE, learner, ended.seconds, "s", note)
        yield Measure(LARGE, f"{learner}, peak", float(ended.printed), "MiB", note)
