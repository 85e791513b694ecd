"""How commands compute the runs of a study and tell how it ended: for people, or as JSON with messages on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from equirl.lab.cli.console import print_table, regret_cells, say
from equirl.lab.cli.exit_codes import INTERRUPTED, STOPPED

if TYPE_CHECKING:
    from equirl.lab.studies.engines import Engine
    from equirl.lab.studies.expansion import PlannedRun
    from equirl.lab.studies.store import Store

SUMMARIES = (  # curve, title, file
    ("regret", "Regret at T", "summary.csv"),
    ("sample_complexity", "Steps up to T at which the policy was not near-optimal", "summary-sample-complexity.csv"),
)


def compute_runs(
    planned: list[PlannedRun], store: Store, engine: Engine, shard: tuple[int, int] | None, *, quiet: bool,
    as_json: bool,
) -> tuple[bool, dict[str, Any]]:  # fmt: skip
    """Compute what is missing of a study and say how it ended."""
    from equirl.lab.studies.engine_errors import EngineError
    from equirl.lab.studies.execution import run_study
    from equirl.lab.studies.store_errors import StoreError
    from equirl.words.formatting import counted

    try:
        outcome = run_study(planned, store, engine, shard=shard, quiet=quiet)
    except KeyboardInterrupt:
        say("\ninterrupted. Finished runs are kept; give the same command again to go on.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (StoreError, EngineError) as error:
        say(f"equirl: {error}", err=True)
        raise typer.Exit(STOPPED) from None
    n_ready, report = outcome.n_stored, outcome.report
    are = "is" if n_ready == 1 else "are"
    done = f"{counted(n_ready, 'run')} {are} done, {report.n_computed} computed now; results in {store.folder}"
    say(done, err=as_json)
    if outcome.plan_trouble:
        say(outcome.plan_trouble, err=True)
    if outcome.n_lost:
        gone = counted(outcome.n_lost, "result is", "results are")
        say(f"{gone} not in {store.folder} any more; the same command computes what is gone", err=True)
    failures = []
    for (learner, reason), alike in report.failures_alike().items():
        place = store.failure_path(alike[0].spec)
        say(f"failed: {len(alike)} of {learner}: {reason} (traceback: {place})", err=True)
        failures.append({"learner": learner, "runs": len(alike), "error": reason, "record": str(place)})
    if report.failures:
        n_failed = counted(len(report.failures), "run")
        say(f"{n_failed} failed; the same command tries again", err=True)
    return outcome.complete, {
        "folder": str(store.folder), "done": n_ready, "computed": report.n_computed, "failed": len(report.failures),
        "lost": outcome.n_lost, "failures": failures,
    }  # fmt: skip


def summary_of(planned: list[PlannedRun], store: Store, as_json: bool) -> list[dict[str, Any]]:
    """The regret at the horizon (and the sample complexity, where it was measured): as tables, and as files."""
    from equirl.files.whole_files import write_csv
    from equirl.lab.studies.export import finished_runs
    from equirl.lab.studies.summary import SUMMARY_COLUMNS, final_rows, summarise

    groups = summarise(finished_runs(planned, store))
    told: list[dict[str, Any]] = []
    for measure, title, name in SUMMARIES:
        measured = [group for group in groups if measure in group.curves]
        if groups and not measured:
            continue
        finals = final_rows(measured, measure)
        path = write_csv(store.folder / name, SUMMARY_COLUMNS, finals)
        told += [{"measure": measure, **dict(zip(SUMMARY_COLUMNS, row, strict=True))} for row in finals]
        if as_json:
            continue
        rows = [
            [group.part, group.world, group.learner, f"{group.horizon:,}", *regret_cells(group.curves.final(measure))]
            for group in measured
        ]
        first = 0 if len({group.part for group in groups}) > 1 else 1  # of one part its name says nothing
        headings = ["part", "world", "learner", "T#", "runs#", "mean#", "±95 %#", "median#"]
        print_table(headings[first:], [row[first:] for row in rows], title=title)
        say(f"summary: {path}")
    return told
