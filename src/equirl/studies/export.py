"""One tidy table of a study: a row per run and checkpoint, the same bytes however the runs were computed."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equirl.core.files import DamagedFile, write_aside
from equirl.studies.expansion import PlannedRun
from equirl.studies.runs import CURVES, RunResult
from equirl.studies.store import Store

COLUMNS: tuple[str, ...] = (
    "part",
    "world",
    "learner",
    "replicate",
    "seed",
    "world_seed",
    "gain",
    "n_episodes",
    "n_unconverged",
    "t",
    *CURVES,
)
FORMATS = (".parquet", ".csv")


class TableError(ValueError):
    """A table that cannot be written as asked."""


def stored(planned: Iterable[PlannedRun], store: Store) -> Iterator[tuple[PlannedRun, RunResult]]:
    """The runs that are done, each with its result, in the order of the study."""
    for run in planned:
        try:
            yield run, store.read(run.spec)
        except (FileNotFoundError, DamagedFile):
            continue


def export(planned: Sequence[PlannedRun], store: Store, path: str | os.PathLike[str]) -> tuple[Path, int]:
    """Write the table of all runs that are done as Parquet or CSV, by the file's ending; where it is, and its rows."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise TableError(f"{path} should end in {' or '.join(FORMATS)}: the ending chooses the format")
    columns = _columns(planned, store)
    content = _parquet(columns) if path.suffix == ".parquet" else _csv(columns)
    return write_aside(path, content), len(columns["t"])


def _columns(planned: Sequence[PlannedRun], store: Store) -> dict[str, list[Any]]:
    """Whole columns; ``None`` where a run has no such value."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for run, result in stored(planned, store):
        n, spec = len(result.t), run.spec
        shared = {"part": run.part, "world": run.world, "learner": run.learner} | result.facts
        shared |= {"replicate": spec.replicate, "seed": spec.seed, "world_seed": spec.world_seed}
        curves = {"t": result.t} | result.curves
        for name in COLUMNS:
            column = curves.get(name)
            columns[name] += column.tolist() if column is not None else [shared.get(name)] * n
    return columns


def _csv(columns: dict[str, list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError("Parquet needs pyarrow: pip install 'equirl[table]'; or choose a .csv file") from None
    words, integers = ("part", "world", "learner"), ("replicate", "seed", "world_seed", "n_episodes", "n_unconverged")
    kinds = dict.fromkeys(words, pa.string()) | dict.fromkeys((*integers, "t", "n_classes"), pa.int64())
    table = pa.table({name: pa.array(values, kinds.get(name, pa.float64())) for name, values in columns.items()})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """A small table as CSV; floats in their shortest exact spelling."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[_plain(value) for value in row] for row in rows])
    return write_aside(path, text.getvalue().encode())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
