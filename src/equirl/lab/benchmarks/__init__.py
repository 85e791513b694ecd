"""The benchmarks behind ``equirl bench``: every figure a ratio of things measured side by side, or a count.

Times differ from machine to machine, ratios much less; no test asks for either. ``suite`` lists what is measured and
writes it down, ``measurement`` says how and at which sizes; the other files hold one subject each.
"""

from __future__ import annotations

import os

from equirl.numerics import ONE_THREAD


def pin_threads() -> None:
    """Give every numerical library of the processes that a benchmark starts one thread; they look when loaded."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
