"""Sweeps shared among threads, for one big problem on a machine with cores to spare.

Kernels hold no lock, and the pairs of different states share nothing, so each thread sweeps a run of states with
about equally many successors. The numbers are the same, bit for bit, with any number of threads. A sweep costs a few
tens of microseconds more than its share of the work: worth it from about 10^5 states.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from equirl.planning.sweeps import Choices, Solver, Stop, Work


def iterate_threaded(
    solver: Solver, choices: Choices, models: Any, work: Work, stop: Stop, threads: int
) -> tuple[int, float, float]:
    """What ``solver.iterate`` does, each full sweep shared among ``threads``. u starts with minimum 0."""
    parts = _parts(choices, models, work, threads)
    u_min, u_max, n = 0.0, float(work.u.max()), 0
    with ThreadPoolExecutor(len(parts)) as pool:
        while True:
            share = partial(_share, solver, models, stop, u_max, u_min)
            done = np.array(list(pool.map(share, parts)))
            n += 1
            low, high = float(done[:, 0].min()), float(done[:, 1].max())
            if high - low <= stop.accuracy or n == stop.max_sweeps:
                return n, low, high
            u_min, u_max = float(done[:, 2].min()), float(done[:, 3].max())
            work.u[:] = work.out
            if stop.policy_sweeps and solver.follow is not None:
                u_min, u_max = solver.follow(choices, models, work, stop, u_min, u_max)


def _parts(choices: Choices, models: Any, work: Work, threads: int) -> list[tuple[Choices, Work]]:
    """Runs of states with about equally many successors, each with its part of the arrays."""
    ends = np.append(choices.first, choices.last[-1])
    load = models.ptr[ends] + ends
    cuts = np.searchsorted(load, load[-1] * np.arange(threads + 1) / threads)
    cuts[0], cuts[-1] = 0, len(work.u)
    runs = [slice(a, b) for a, b in pairwise(cuts.tolist()) if a < b]
    return [
        (Choices(choices.first[run], choices.last[run]), work._replace(own=work.u[run], out=work.out[run]))
        for run in runs
    ]


def _share(
    solver: Solver, models: Any, stop: Stop, u_max: float, shift: float, part: tuple[Choices, Work]
) -> tuple[float, float, float, float]:
    choices, work = part
    return solver.sweep(choices, models, work, stop, u_max, shift)
