"""What whole processes cost, each one of its own: the time to start, the peak of memory, and large problems.

Peaks are of all of Python and its libraries.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from equirl.lab.benchmarks.measurement import Finding, Measure, Sizes, in_new_process

LEARN = "import equirl as eq; eq.simulate(eq.make('ergodic-riverswim', n_states=25), 'c-ucrl', 1000)"
PEAK = "from equirl.lab.benchmarks.measurement import peak_mebibytes; {}; print(peak_mebibytes())"


def measure_startup(sizes: Sizes) -> Iterator[Finding]:
    """Seconds from the start of a process: importing, and having learned with cold and with warm kernels."""
    bare, package = _quickest("pass", sizes.starts), _quickest("import equirl", sizes.starts)
    yield Measure("import equirl", package - bare, "s", "Python's own start taken off")
    shown = _quickest("from equirl.lab.cli import app; app(['--help'])", sizes.starts)
    yield Measure("equirl --help", shown, "s")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cold = in_new_process(LEARN, NUMBA_CACHE_DIR=folder)
        warm = min(in_new_process(LEARN, NUMBA_CACHE_DIR=folder).seconds for _ in range(sizes.starts))
    note = "c-ucrl, 1000 steps, from the start of the process to its end"
    yield Measure("learning with a cold cache", cold.seconds, "s", note)
    yield Measure("... processor time", cold.processor, "s", note)
    yield Measure("learning with a warm cache", warm, "s", note)


def _quickest(code: str, starts: int) -> float:
    quiet = "import contextlib\nwith contextlib.suppress(SystemExit):\n "
    return min(in_new_process(quiet + code).seconds for _ in range(starts))


def measure_memory(sizes: Sizes) -> Iterator[Finding]:
    """The most memory that planning and clustering hold, beside that of a process that only imports."""
    for name, code in memory_cases(sizes).items():
        peak = float(in_new_process(PEAK.format(code)).printed)
        yield Measure(name, peak, "MiB", "peak of the whole process")


def memory_cases(sizes: Sizes) -> dict[str, str]:
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
        yield Measure(learner, ended.seconds, "s", note)
        yield Measure(f"{learner}, peak", float(ended.printed), "MiB", note)
