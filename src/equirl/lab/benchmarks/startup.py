"""Start-up: processes of their own, timed from their start to their end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equirl.lab.benchmarks.measurement import Finding, Measure, in_new_process

if TYPE_CHECKING:
    from equirl.lab.benchmarks.suite import Sizes

SUBJECT = "start"
LEARN = "import equirl as eq; eq.simulate(eq.make('ergodic-riverswim', n_states=25), 'c-ucrl', 1000)"


def measure_startup(sizes: Sizes) -> Iterator[Finding]:
    """Seconds from the start of a process: importing, and having learned with cold and with warm kernels."""
    bare, package = _quickest("pass", sizes.starts), _quickest("import equirl", sizes.starts)
    yield Measure(SUBJECT, "import equirl", package - bare, "s", "Python's own start taken off")
    yield Measure(
        SUBJECT, "equirl --help", _quickest("from equirl.lab.cli import app; app(['--help'])", sizes.starts), "s"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cold = in_new_process(LEARN, NUMBA_CACHE_DIR=folder)
        warm = min(in_new_process(LEARN, NUMBA_CACHE_DIR=folder).seconds for _ in range(sizes.starts))
    note = "c-ucrl, 1000 steps, from the start of the process to its end"
    yield Measure(SUBJECT, "learning with a cold cache", cold.seconds, "s", note)
    yield Measure(SUBJECT, "... processor time", cold.processor, "s", note)
    yield Measure(SUBJECT, "learning with a warm cache", warm, "s", note)


def _quickest(code: str, starts: int) -> float:
    quiet = "import contextlib\nwith contextlib.suppress(SystemExit):\n "
    return min(in_new_process(quiet + code).seconds for _ in range(starts))
