"""Sweeps shared among threads, for one big problem on a machine with cores to spare.

Kernels hold no lock, and the pairs of different states share nothing, so each thread sweeps a run of states with
about equally many successors. The numbers are the same, bit for bit, with any number of threads. A sweep costs a few
tens of microseconds more than its share of the work: worth it from about 10^5 states.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np

from equirl.planning.l1_ball import Rows, sweep


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
    follow: Callable[[float, float], tuple[float, float]] | None = None,
) -> tuple[int, float, float]:
    """Sweep from u (minimum 0) until the span of u' - u is at most ``accuracy``, or ``max_sweeps``.

    u and q hold the last sweep's. ``follow(least, largest)`` may improve u between sweeps. Returns the number of
    sweeps and the least and largest of u' - u.
    """
    load = rows.ptr[pair_ptr] + pair_ptr
    cuts = np.searchsorted(load, load[-1] * np.arange(threads + 1) / threads)
    cuts[0], cuts[-1] = 0, len(u)
    parts = [slice(a, b) for a, b in pairwise(cuts.tolist()) if a < b]

    def share(part: slice, u_max: float, shift: float) -> tuple[float, float, float, float]:
        first, last = pair_ptr[:-1][part], pair_ptr[1:][part]
        return sweep(first, last, *rows, moved, reward, u[part], u, u_max, shift, q, other[part])

    u_min, u_max, n = 0.0, float(u.max()), 0
    with ThreadPoolExecutor(len(parts)) as pool:
        while True:
            done = np.array(list(pool.map(partial(share, u_max=u_max, shift=u_min), parts)))
            n += 1
            low, high = float(done[:, 0].min()), float(done[:, 1].max())
            if high - low <= accuracy or n == max_sweeps:
                return n, low, high
            u_min, u_max = float(done[:, 2].min()), float(done[:, 3].max())
            u[:] = other
            if follow is not None:
                u_min, u_max = follow(u_min, u_max)
