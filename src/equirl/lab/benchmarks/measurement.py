"""How things are measured, and at which sizes: compared cases take turns, and the quiet moments count.

A shared machine is disturbed now and then, never sped up. So every round runs each case once, and a case is judged by
the lowest decile of its rounds. Cases that need a process of their own (start-up, memory, uncompiled code) get one.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

MOST_ROUNDS = 1000
Large = tuple[int, str, tuple[tuple[str, Any], ...]]  # side of a four-room grid, learner, its settings


class Measure(NamedTuple):
    name: str
    value: float
    unit: str  # "times", "ms", "s", "MiB", "million steps/s", "power"
    note: str = ""
    subject: str = ""  # given by the suite


class Skipped(NamedTuple):
    """A figure that could not be had here, and why."""

    name: str
    reason: str
    subject: str = ""


Finding = Measure | Skipped


def side_by_side(cases: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Seconds per call of each case; they take turns."""
    for run in cases.values():  # compile, fill the caches
        run()
    rounds: dict[str, list[float]] = {name: [] for name in cases}
    end = time.perf_counter() + seconds
    while len(next(iter(rounds.values()))) < 3 or time.perf_counter() < end:
        for name, run in cases.items():
            start = time.perf_counter()
            run()
            rounds[name].append(time.perf_counter() - start)
        if len(next(iter(rounds.values()))) == MOST_ROUNDS:
            break
    return {name: float(np.quantile(times, 0.1, method="lower")) for name, times in rounds.items()}


def seconds_of(run: Callable[[], object], seconds: float) -> float:
    """Seconds per call of one case alone."""
    return side_by_side({"run": run}, seconds)["run"]


def power(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent e of ``values ~ sizes^e``: the least-squares slope in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


class Ended(NamedTuple):
    """A process that ran to its end."""

    seconds: float  # on the clock, from its start to its end
    processor: float  # seconds of processor time, which a busy machine does not stretch
    printed: str


def in_new_process(code: str, **environment: str) -> Ended:
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    seconds, after = time.perf_counter() - start, os.times()
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"a benchmark's process failed: {last[0]}")
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Ended(seconds, processor, done.stdout.strip())


def peak_mebibytes() -> float:
    """The most memory this process has held so far; nan where the system does not say, as on Windows."""
    try:
        with open("/proc/self/status") as status:  # unlike ru_maxrss, not inherited from the parent
            peak = next(line for line in status if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    except (OSError, StopIteration):
        try:
            import resource
        except ImportError:
            return math.nan
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


@dataclass(frozen=True)
class Sizes:
    """How large and how long."""

    seconds: float = 2.0
    sweep_states: int = 10_000
    dense_states: int = 400
    growth_states: tuple[int, ...] = (1_000, 3_000, 10_000, 30_000, 100_000)
    horizon: int = 500_000
    loop_steps: int = 50_000
    plain_steps: int = 1_000
    growth_horizons: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    oracle_pairs: int = 200
    growth_pairs: tuple[int, ...] = (1_000, 2_000, 4_000, 10_000)
    large: tuple[Large, ...] = ((20, "c-ucrl-c-sigma", ()), (20, "c-ucrl", ()), (20, "ucrl2-l", ()))
    large_horizon: int = 100_000
    starts: int = 5
    log_rows: int = 1_000_000
    log_side: int = 51
    solve_states: int = 100_000
    average_states: int = 20_000
    class_pairs: int = 1_000_000
    far_states: int = 100_000
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def chosen(self, learner: str) -> dict[str, Any]:
        """The settings of a learner that differ from its defaults."""
        return dict(self.settings.get(learner, {}))

    def settings_note(self, learner: str) -> str:
        """The same, to be added to a note."""
        return "".join(f", {key}={value}" for key, value in self.chosen(learner).items())


SIZES = {
    "quick": Sizes(
        seconds=0.3, growth_states=(1_000, 10_000), horizon=100_000, loop_steps=5_000, plain_steps=200,
        growth_horizons=(10_000, 100_000), oracle_pairs=100, growth_pairs=(1_000, 2_000),
        large=((11, "c-ucrl", ()),), large_horizon=20_000, starts=2, log_rows=100_000, log_side=21,
        solve_states=30_000, average_states=10_000, class_pairs=100_000, far_states=30_000,
    ),
    "standard": Sizes(),
    "full": Sizes(
        growth_pairs=(1_000, 4_000, 10_000, 40_000), large=(
            *Sizes.large, (20, "c-ucrl", (("effort", 1e4),)), (100, "c-ucrl-c-sigma", ()),
            (100, "c-ucrl", (("effort", 1e4),)),
        ),
        large_horizon=1_000_000, solve_states=1_000_000, average_states=100_000, far_states=1_000_000,
    ),
}  # fmt: skip
