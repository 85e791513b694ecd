"""Starting and memory: processes of their own, timed from their start to their end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equirl.benchmarks.measuring import Finding, Measure, in_new_process

if TYPE_CHECKING:
    from equirl.benchmarks.running import Sizes

START, MEMORY = "start", "memory"
LEARN = "import equirl as eq; eq.simulate(eq.make('ergodic-riverswim', n_states=25), 'c-ucrl', 1000)"
PEAK = "from equirl.benchmarks.measuring import peak_mebibytes; {}; print(peak_mebibytes())"


def measure_starting(sizes: Sizes) -> Iterator[Finding]:
    """Seconds from the start of a process: importing, and having learned with cold and with warm kernels."""
    bare, package = _quickest("pass", sizes.starts), _quickest("import equirl", sizes.starts)
    yield Measure(START, "import equirl", package - bare, "s", "Python's own start taken off")
    yield Measure(START, "equirl --help", _quickest("from equirl.cli import app; app(['--help'])", sizes.starts), "s")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cold = in_new_process(LEARN, NUMBA_CACHE_DIR=folder)
        warm = min(in_new_process(LEARN, NUMBA_CACHE_DIR=folder).seconds for _ in range(sizes.starts))
    note = "c-ucrl, 1000 steps, from the start of the process to its end"
    yield Measure(START, "learning with a cold cache", cold.seconds, "s", note)
    yield Measure(START, "... processor time", cold.processor, "s", note)
    yield Measure(START, "learning with a warm cache", warm, "s", note)


def measure_memory(sizes: Sizes) -> Iterator[Finding]:
    """The most memory a process holds, all of Python and its libraries included."""
    for name, code in memory_cases(sizes).items():
        peak = float(in_new_process(PEAK.format(code)).printed)
        yield Measure(MEMORY, name, peak, "MiB", "peak of the whole process")


def memory_cases(sizes: Sizes) -> dict[str, str]:
    """What is held against the memory of a process that only imports: name -> code."""
    learner, side = "c-ucrl-c-sigma", sizes.memory_side
    return {
        "importing everything": "import equirl.simulation",
        f"planning, S = {sizes.sweep_states}, A = 4, 5 successors": (
            f"from equirl.benchmarks.planning import *; settled_sweep(random_mdp({sizes.sweep_states}))()"
        ),
        f"clustering, M about {sizes.growth_pairs[-1]}": (
            f"from equirl.benchmarks.clustering import *; cluster(count_in_grid({sizes.growth_pairs[-1]}))"
        ),
        f"{learner} on the {side}x{side} four-room grid, T = {sizes.memory_steps}": (
            f"import equirl as eq; eq.simulate(eq.make('four-room', height={side}, width={side}), {learner!r}, "
            f"{sizes.memory_steps}, gain=0)"
        ),
    }


def _quickest(code: str, starts: int) -> float:
    quiet = "import contextlib\nwith contextlib.suppress(SystemExit):\n "
    return min(in_new_process(quiet + code).seconds for _ in range(starts))
