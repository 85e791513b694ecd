"""What many runs say together: one tidy table, means with their confidence, quantiles, comparisons of two learners.

A table has a row per run and checkpoint, the same bytes however the runs were computed.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.whole_files import DamagedFile, write_aside, write_csv
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.runs import RUN_COLUMNS, RunResult
from equirl.lab.studies.store import Store
from equirl.simulation import USUAL_CURVES, Curves, half_width, in_usual_order

TABLE_FORMATS = (".parquet", ".csv")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BLOCK = 1000  # runs that are put into a table at once

Finished = Sequence[tuple[PlannedRun, RunResult]]


class TableError(ValueError):
    """A table that cannot be written as asked."""


def finished_runs(
    planned: Iterable[PlannedRun], store: Store, damaged: list[str] | None = None
) -> Iterator[tuple[PlannedRun, RunResult]]:
    """The runs that are done, in the order of the study; missing and damaged ones are left out.

    Parameters
    ----------
    planned : iterable of PlannedRun
        The runs of a study.
    store : Store
        Their results.
    damaged : list of str, optional
        Is given the reason for each file that cannot be trusted.
    """
    index = store.index()
    for run in planned:
        try:
            yield run, store.read(run.spec, index)
        except FileNotFoundError:
            continue
        except DamagedFile as error:
            if damaged is not None:
                damaged.append(str(error))


@dataclass(frozen=True)
class Group:
    """All finished runs of one learner in one world of one part of a study.

    Parameters
    ----------
    part, world, learner : str
        Their labels.
    learner_name : str
        The learner's name in the registry.
    curves : Curves
        One row per replicate, in order.
    replicates : tuple of int
        Which replicates they are.
    gain : float
        The optimal gain of the world.
    paired : bool
        Whether replicates of other learners met the same randomness of the world.
    facts : mapping of str to (n_runs,) array
        ``n_episodes`` and ``n_unconverged``.
    seconds : (n_runs,) array
        Processor time of each run; NaN where its file does not say. Never part of a table that is exported.
    """

    part: str
    world: str
    learner: str
    learner_name: str
    curves: Curves
    replicates: tuple[int, ...]
    gain: float = math.nan
    paired: bool = False
    facts: Mapping[str, np.ndarray] = field(default_factory=dict)
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def n_runs(self) -> int:
        """How many runs are finished."""
        return len(self.replicates)

    @property
    def horizon(self) -> int:
        """The last checkpoint."""
        return int(self.curves.t[-1])


def summarise(runs: Iterable[tuple[PlannedRun, RunResult]]) -> list[Group]:
    """Group finished runs by part, world and learner, in the order of the study.

    Parameters
    ----------
    runs : iterable of (PlannedRun, RunResult)
        What :func:`finished_runs` yields.
    """
    bundles: dict[tuple[str, str, str], list[tuple[PlannedRun, RunResult]]] = {}
    for run, result in runs:
        bundles.setdefault((run.part, run.world, run.learner), []).append((run, result))
    return [_group(sorted(bundle, key=lambda item: item[0].spec.replicate)) for bundle in bundles.values()]


def _group(bundle: Sequence[tuple[PlannedRun, RunResult]]) -> Group:
    run, first = bundle[0]
    results = [result for _, result in bundle]
    return Group(
        part=run.part,
        world=run.world,
        learner=run.learner,
        learner_name=run.spec.learner,
        curves=Curves.stack([result.curves for result in results]),
        replicates=tuple(run.spec.replicate for run, _ in bundle),
        gain=first.facts["gain"],
        paired=run.spec.world_seed is not None,
        facts={name: np.array([result.facts[name] for result in results]) for name in ("n_episodes", "n_unconverged")},
        seconds=np.array([result.provenance.get("seconds", math.nan) for result in results]),
    )


def find(groups: Iterable[Group], part: str, learner: str, world: str | None = None) -> Group:
    for group in groups:
        if group.part == part and group.learner == learner and world in (None, group.world):
            return group
    raise KeyError(f"no finished run of {learner!r} in part {part!r}")


SUMMARY_COLUMNS: tuple[str, ...] = ("part", "world", "learner", "runs", "horizon", "mean", "ci95_low", "ci95_high")
SUMMARY_COLUMNS += tuple(f"q{100 * q:g}" for q in QUANTILES)


def final_rows(groups: Iterable[Group], measure: str = "regret") -> list[tuple[Any, ...]]:
    """One row per group: a measure at the horizon."""
    rows = []
    for group in groups:
        if measure not in group.curves:
            continue
        last = group.curves.final(measure)
        mean, half = float(last.mean()), float(half_width(last))
        quantiles = [float(np.quantile(last, q)) for q in QUANTILES]
        row = (group.part, group.world, group.learner, group.n_runs, group.horizon, mean, mean - half, mean + half)
        rows.append((*row, *quantiles))
    return rows


@dataclass(frozen=True)
class Comparison:
    """One learner against another at the horizon."""

    first: str
    second: str
    difference: float
    half_width: float
    ratio: float
    share_below: float
    paired: bool
    n_runs: int

    @property
    def decided(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        return abs(self.difference) > self.half_width


def compare_groups(first: Group, second: Group, measure: str = "regret") -> Comparison:
    """Compare two learners of one world; by replicate where both met the same randomness of the world.

    Parameters
    ----------
    first, second : Group
        The runs of the two learners.
    measure : str
        The name of a curve that both have.
    """
    a, b = first.curves.final(measure), second.curves.final(measure)
    common = sorted(set(first.replicates) & set(second.replicates))
    paired = first.paired and second.paired and len(common) > 1
    if paired:
        a = a[[first.replicates.index(k) for k in common]]
        b = b[[second.replicates.index(k) for k in common]]
        half, below = float(half_width(a - b)), float(np.mean(a < b))
    else:
        half = math.hypot(float(half_width(a)), float(half_width(b)))
        below = float(np.mean(a[:, None] < b[None, :]))
    difference = float(a.mean() - b.mean())
    ratio = float(a.mean() / b.mean()) if b.mean() else math.nan
    return Comparison(first.learner, second.learner, difference, half, ratio, below, paired, min(len(a), len(b)))


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
    (Path, int)
        Where the table is, and how many rows it has: one per run and checkpoint.
    """
    path = Path(path)
    if path.suffix not in TABLE_FORMATS:
        raise TableError(f"{path} should end in {' or '.join(TABLE_FORMATS)}: the ending chooses the format")
    finished = list(finished_runs(planned, store, damaged))
    others = {name for _, result in finished for name in result.curves}.difference(USUAL_CURVES)
    names = (*RUN_COLUMNS, *USUAL_CURVES, *in_usual_order(others))
    blocks = [finished[k : k + BLOCK] for k in range(0, len(finished), BLOCK)]
    if path.suffix == ".parquet":
        write_aside(path, _parquet(names, blocks))
    else:
        write_csv(path, names, (row for block in blocks for row in _rows(names, block)))
    return path, sum(len(result.curves.t) for _, result in finished)


def _of_run(run: PlannedRun, result: RunResult) -> dict[str, Any]:
    """What all rows of a run share."""
    spec, place = run.spec, {"part": run.part, "world": run.world, "learner": run.learner}
    return place | result.facts | {"replicate": spec.replicate, "seed": spec.seed, "world_seed": spec.world_seed}


def _rows(names: Sequence[str], block: Finished) -> Iterator[tuple[Any, ...]]:
    """A row per checkpoint; ``None`` where a run has no such value."""
    for run, result in block:
        shared, n = _of_run(run, result), len(result.curves.t)
        own = {"t": result.curves.t.tolist()} | {name: result.curves[name][0].tolist() for name in result.curves}
        yield from zip(*(own[name] if name in own else [shared.get(name)] * n for name in names), strict=True)


def _parquet(names: Sequence[str], blocks: Sequence[Finished]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError("Parquet needs pyarrow: pip install 'equirl[table]'; or choose a .csv file") from None
    words, integers = ("part", "world", "learner"), ("replicate", "seed", "world_seed", "n_episodes", "n_unconverged")
    kinds = dict.fromkeys(words, pa.string()) | dict.fromkeys((*integers, "t", "n_classes"), pa.int64())
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in names])
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema, compression="zstd") as writer:
        for block in blocks:
            lengths = [len(result.curves.t) for _, result in block]
            owner = np.repeat(np.arange(len(block)), lengths)
            shared = [_of_run(run, result) for run, result in block]
            columns = []
            for name, kind in zip(schema.names, schema.types, strict=True):
                if name in RUN_COLUMNS and name != "t":
                    columns.append(pa.array([values.get(name) for values in shared], kind).take(pa.array(owner)))
                else:
                    columns.append(_curve_column(name, kind, block, owner))
            writer.write_table(pa.table(columns, schema=schema))
    return buffer.getvalue()


def _curve_column(name: str, kind: Any, block: Finished, owner: np.ndarray) -> Any:
    """A curve of several runs, or their checkpoints, as a column; null where a run lacks it."""
    import pyarrow as pa

    own = [result.curves.t if name == "t" else result.curves.values.get(name) for _, result in block]
    lacking = np.array([rows is None for rows in own])
    parts = [
        np.zeros(len(result.curves.t)) if rows is None else rows.ravel()
        for rows, (_, result) in zip(own, block, strict=True)
    ]
    whole = [part for part, none in zip(parts, lacking, strict=True) if not none]
    exact = np.int64 if whole and all(part.dtype.kind == "i" for part in whole) else np.float64
    values = np.concatenate([part.astype(exact, copy=False) for part in parts])
    return pa.array(values, mask=lacking[owner]).cast(kind)
