"""The benchmarks behind ``equirl bench``: every figure a ratio of things measured side by side, or a count.

Times differ from machine to machine, ratios much less; no test asks for either. See ``running`` for what is measured
at which size, and ``measuring`` for how.
"""

from __future__ import annotations

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pin_threads() -> None:
    """One thread for every numerical library of the processes that a benchmark starts; they look when loaded."""
    for name in THREADS:
        os.environ.setdefault(name, "1")
