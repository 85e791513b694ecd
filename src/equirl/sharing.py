"""Sweeps shared among threads, for one big problem on a machine with cores to spare.

Kernels hold no lock, and the pairs of different states share nothing, so each thread sweeps a run of states with
about equally many successors. The numbers are the same, bit for bit, with any number of threads. A sweep costs a few
tens of microseconds more than its share of the work: worth it from about 10^4 states.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from equirl.optimism import Rows, sweep


def iterate_shared(
    pair_ptr: np.ndarray,
    rows: Rows,
    moved: np.ndarray,
    reward: np.ndarray,
    accuracy: float,
    max_sweeps: int,
    threads: int,
    u: np.ndarray,
    other: np.ndarray,
    q: np.ndarray,
) -> tuple[int, float, float]:
    """Sweep until the span of u' - u is at most ``accuracy``, or ``max_sweeps``; u and q hold the last sweep's."""
    load = rows.ptr[pair_ptr] + pair_ptr
    cuts = np.searchsorted(load, load[-1] * np.arange(threads + 1) / threads)
    cuts[0], cuts[-1] = 0, len(u)
    parts = [slice(a, b) for a, b in pairwise(cuts.tolist()) if a < b]

    with ThreadPoolExecutor(len(parts)) as pool:
        n = 0
        while True:
            shift, u_max = float(u.min()), float(u.max())
            work = [
                pool.submit(
                    sweep,
                    pair_ptr[:-1][part],
                    pair_ptr[1:][part],
                    *rows,
                    moved,
                    reward,
                    u,
                    u_max,
                    shift,
                    q,
                    other[part],
                )
                for part in parts
            ]
            for done in work:
                done.result()
            n += 1
            difference = (other + shift) - u
            low, high = float(difference.min()), float(difference.max())
            if high - low <= accuracy or n == max_sweeps:
                return n, low, high
            u[:] = other
