"""The benchmarks behind ``equirl bench``: every figure a ratio of things measured side by side, or a count.

Times differ from machine to machine, ratios much less; no test asks for either. See ``running`` for what is measured
at which size, and ``measuring`` for how.
"""

from __future__ import annotations

import os
import sys

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def pin_threads() -> None:
    """One thread for every numerical library of this process and those it starts; they look when they are loaded."""
    if "numpy" not in sys.modules:
        for name in THREADS:
            os.environ.setdefault(name, "1")
