"""How things are measured: compared cases take turns, and the quiet moments count.

A shared machine is disturbed now and then, never sped up. So every round runs each case once, and a case is judged by
the lowest decile of its rounds. Cases that need a process of their own (start-up, memory, uncompiled code) get one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

MOST_ROUNDS = 1000


class Measure(NamedTuple):
    """One figure."""

    subject: str
    name: str
    value: float
    unit: str  # "times", "ms", "s", "MiB", "million steps/s", "power"
    note: str = ""


class Skipped(NamedTuple):
    """A figure that could not be had here, and why."""

    subject: str
    name: str
    reason: str


Finding = Measure | Skipped


def side_by_side(cases: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Seconds per call of each case; they take turns.

    Examples
    --------
    >>> times = side_by_side({"short": lambda: sum(range(10)), "long": lambda: sum(range(10_000))}, seconds=0.05)
    >>> times["long"] > times["short"] > 0
    True
    """
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


def power(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent e of ``values ~ sizes^e``: the least-squares slope in logarithms.

    Examples
    --------
    >>> round(power([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


class Ended(NamedTuple):
    """A process that ran to its end."""

    seconds: float  # on the clock, from its start to its end
    processor: float  # seconds of processor time, which a busy machine does not stretch
    printed: str


def in_new_process(code: str, **environment: str) -> Ended:
    """Run Python code in a process of its own."""
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
    """The most memory this process has held so far."""
    try:
        with open("/proc/self/status") as status:  # unlike ru_maxrss, not inherited from the parent
            peak = next(line for line in status if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    except (OSError, StopIteration):
        import resource

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
