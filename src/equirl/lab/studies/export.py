"""One tidy table of a study: a row per run and checkpoint, the same bytes however the runs were computed."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from equirl.files.whole_files import DamagedFile, write_aside, write_csv
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.runs import RUN_COLUMNS, RunResult
from equirl.lab.studies.store import Store
from equirl.simulation import USUAL_CURVES, in_usual_order

TABLE_FORMATS = (".parquet", ".csv")


class TableError(ValueError):
    """A table that cannot be written as asked."""


def finished_runs(
    planned: Iterable[PlannedRun], store: Store, damaged: list[str] | None = None
) -> Iterator[tuple[PlannedRun, RunResult]]:
    """The runs that are done, in the order of the study.

    Parameters
    ----------
    planned : iterable of PlannedRun
        The runs of a study.
    store : Store
        Their results.
    damaged : list of str, optional
        Is given the reason for each file that cannot be trusted.

    Yields
    ------
    (PlannedRun, RunResult)
        Runs that are missing or damaged are left out.
    """
    for run in planned:
        try:
            yield run, store.read(run.spec)
        except FileNotFoundError:
            continue
        except DamagedFile as error:
            if damaged is not None:
                damaged.append(str(error))


def export(
    planned: Sequence[PlannedRun], store: Store, path: str | os.PathLike[str], damaged: list[str] | None = None
) -> tuple[Path, int]:
    """Write the table of all runs that are done.

    Parameters
    ----------
    planned : sequence of PlannedRun
        The runs of a study.
    store : Store
        Their results.
    path : str or path
        The table; its ending, ``.parquet`` or ``.csv``, chooses the format.
    damaged : list of str, optional
        Is given the reason for each file that is left out because it cannot be trusted.

    Returns
    -------
    path : Path
        Where the table is.
    n_rows : int
        A row per run and checkpoint.

    Raises
    ------
    TableError
        For another ending, or where Parquet cannot be written.
    """
    path = Path(path)
    if path.suffix not in TABLE_FORMATS:
        raise TableError(f"{path} should end in {' or '.join(TABLE_FORMATS)}: the ending chooses the format")
    columns = _columns(finished_runs(planned, store, damaged))
    if path.suffix == ".parquet":
        write_aside(path, _parquet(columns))
    else:
        write_csv(path, columns, zip(*columns.values(), strict=True))
    return path, len(columns["t"])


def _columns(finished: Iterable[tuple[PlannedRun, RunResult]]) -> dict[str, list[Any]]:
    """Whole columns; ``None`` where a run has no such value. The usual curves come first, then the others, sorted."""
    columns: dict[str, list[Any]] = {name: [] for name in (*RUN_COLUMNS, *USUAL_CURVES)}
    n_rows = 0
    for run, result in finished:
        curves, spec = result.curves, run.spec
        n = len(curves.t)
        shared = {"part": run.part, "world": run.world, "learner": run.learner} | result.facts
        shared |= {"replicate": spec.replicate, "seed": spec.seed, "world_seed": spec.world_seed}
        own = {"t": curves.t.tolist()} | {name: curves[name][0].tolist() for name in curves}
        for name in own.keys() - columns.keys():
            columns[name] = [None] * n_rows
        for name, column in columns.items():
            column += own[name] if name in own else [shared.get(name)] * n
        n_rows += n
    others = in_usual_order(columns.keys() - {*RUN_COLUMNS, *USUAL_CURVES})
    return {name: columns[name] for name in (*RUN_COLUMNS, *USUAL_CURVES, *others)}


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
