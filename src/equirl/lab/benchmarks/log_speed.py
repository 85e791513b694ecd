"""Logs: a CSV file of a large grid read and counted, beside pandas reading the same file; then its classes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from equirl.lab.benchmarks.measurement import Finding, Measure, Sizes, Skipped, side_by_side
from equirl.logs.log import from_log
from equirl.model import TabularMDP
from equirl.worlds import make


def measure_logs(sizes: Sizes) -> Iterator[Finding]:
    """Seconds to read and count a log and to cluster its pairs, and the ratio to pandas."""
    world = make("four-room", height=sizes.log_side, width=sizes.log_side)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "log.csv"
        write_log(world, sizes.log_rows, path)
        note = f"{sizes.log_rows} rows, {world.n_pairs} pairs"
        cases = {"ours": lambda: from_log(path)}
        try:
            import pandas  # type: ignore

            cases["pandas"] = lambda: pandas.read_csv(path)
        except ImportError:
            yield Skipped("reading and counting against pandas", "pandas is not installed")
        times = side_by_side(cases, sizes.seconds)
        yield Measure("reading and counting a CSV file", times["ours"], "s", note)
        if "pandas" in times:
            ratio = times["ours"] / times["pandas"]
            yield Measure("... against pandas reading it", ratio, "times", note)
        log = from_log(path)
        log.classes(draws=1)  # compile
        start = time.perf_counter()
        found = log.classes()
        took = time.perf_counter() - start
        yield Measure("classes of the log", took, "s", f"{note}, {found.n_classes} classes found")
        yield Measure("reading, counting and classes", times["ours"] + took, "s", note)


def write_log(mdp: TabularMDP, n_rows: int, path: Path) -> None:
    """Rows of uniformly drawn pairs, with names."""
    rng = np.random.default_rng(0)
    pair = rng.integers(mdp.n_pairs, size=n_rows)
    total = np.cumsum(mdp.rows.prob)
    start = np.concatenate([[0.0], total])[mdp.rows.ptr[:-1]]
    place = np.searchsorted(total, start[pair] + rng.random(n_rows), side="right")
    after = mdp.rows.succ[np.minimum(place, mdp.rows.ptr[pair + 1] - 1)]
    columns = (mdp.pairs.state[pair], mdp.pairs.action[pair], mdp.r_mean[pair], after)
    with path.open("w") as file:
        file.write("state,action,reward,next_state\n")
        file.writelines(
            f"cell{s},go{a},{r},cell{x}\n" for s, a, r, x in zip(*(c.tolist() for c in columns), strict=True)
        )
