"""Commands for studies: ``study``, ``status``, ``export``, ``paper``, ``leaderboard``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.cli.console import print_table, regret_cells, say

if TYPE_CHECKING:
    from equirl.studies.engines import Engine
    from equirl.studies.expansion import PlannedRun
    from equirl.studies.store import Store

FAILED, STOPPED, INTERRUPTED = 1, 3, 130  # exit codes: some runs failed; results cannot be kept or computed; Ctrl-C


class EngineName(StrEnum):
    """Where runs are computed."""

    local = "local"
    dask = "dask"
    slurm = "slurm"


StudyFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The study, a TOML file; or paper, leaderboard, discounted, ready: those shipped.",
        show_default=False,
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder of the results. [default: results/NAME]")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Processes. [default: the cores there are]")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="Where runs are computed.")]
Address = Annotated[str | None, typer.Option(help="A running dask scheduler, such as tcp://127.0.0.1:8786.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Queue = Annotated[str | None, typer.Option(help="Slurm: the partition.")]
Account = Annotated[str | None, typer.Option(help="Slurm: the account.")]
Workers = Annotated[int, typer.Option(min=1, help="Slurm: how many workers to ask for.")]
Walltime = Annotated[str, typer.Option(help="Slurm: the time limit of a worker.")]
Memory = Annotated[str, typer.Option(help="Slurm: the memory of a worker.")]

SUMMARIES = (  # curve, title, file
    ("regret", "Regret at T", "summary.csv"),
    ("sample_complexity", "Steps up to T at which the policy was not near-optimal", "summary-sample-complexity.csv"),
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(study)
    app.command()(status)
    app.command()(export)
    app.command()(paper)
    app.command()(leaderboard)


def study(
    file: StudyFile,
    out: Out = None,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    shard: Annotated[str | None, typer.Option(help="Compute a share only: i/n, such as 2/8.")] = None,
    figures: Annotated[bool, typer.Option("--figures", help="Draw figures of what is done (PDF, SVG, PNG).")] = False,
    bounds: Annotated[bool, typer.Option("--bounds", help="With --figures: the bounds of theory as well.")] = False,
    quiet: Quiet = False,
    queue: Queue = None,
    account: Account = None,
    workers: Workers = 4,
    walltime: Walltime = "01:00:00",
    memory: Memory = "2GB",
) -> None:
    """Compute what is missing of a study; interrupted, it goes on where it was."""
    from equirl.studies.execution import parse_shard

    planned, store = _open(file, out)
    share = parse_shard(shard) if shard else None
    chosen = _engine(engine, jobs, address, len(planned), (workers, queue, walltime, memory, account))
    complete = _compute(planned, store, chosen, share, quiet)
    if share is None:
        _summary(planned, store, figures, bounds)
    raise typer.Exit(0 if complete else FAILED)


def status(file: StudyFile, out: Out = None) -> None:
    """Show which runs of a study are done, missing, failed or damaged."""
    from equirl.studies.execution import status_rows
    from equirl.studies.expansion import unique_specs

    planned, store = _open(file, out)
    state = store.status(unique_specs(planned))
    headings = ["part", "world", "learner", "done#", "missing#", "failed#", "damaged#"]
    rows = [list(map(str, row)) for row in status_rows(planned, state)]
    print_table(headings, rows, title=f"{file.name}: results in {store.folder}")
    for spec in state.failed:
        record = store.failure(spec)
        say(f"failed: {record['error'] if record else 'no readable record'} ({store.failure_path(spec)})")
    for _, reason in state.damaged:
        say(f"damaged: {reason}")
    if len(state.versions) > 1:
        say(f"results come from several versions of equirl: {state.versions}")
    counts = (len(state.done), len(state.missing), len(state.failed), len(state.damaged))
    say("{} done, {} missing, {} failed, {} damaged".format(*counts))


def export(
    file: StudyFile,
    table: Annotated[Path, typer.Option("--table", "-o", help="The table: .parquet or .csv.", show_default=False)],
    out: Out = None,
) -> None:
    """Write one tidy table of all finished runs: a row per run and checkpoint."""
    from equirl.core.formatting import counted
    from equirl.studies.export import export as write_table

    planned, store = _open(file, out)
    damaged: list[str] = []
    path, n_rows = write_table(planned, store, table, damaged)
    for reason in damaged:
        say(f"damaged, left out: {reason}", err=True)
    say(f"{path}: {counted(n_rows, 'row')}")


def paper(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each learner in each world.")] = 100,
    out: Annotated[Path, typer.Option("--out", help="Folder of the results and the report.")] = Path("results/paper"),
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper: every figure and table, next to the published values, in one report."""
    from equirl.paper.figures import draw_paper
    from equirl.paper.paper_study import paper_runs
    from equirl.paper.report import write_report
    from equirl.studies.export import finished_runs
    from equirl.studies.store import Store
    from equirl.studies.summary import summarise

    planned, store = paper_runs(runs), Store(out)
    chosen = _engine(engine, jobs, address, len(planned), None)
    complete = _compute(planned, store, chosen, None, quiet)
    groups = summarise(finished_runs(planned, store))
    say("drawing figures and writing the report", err=True)
    figures = draw_paper(groups, out / "figures")
    path = write_report(groups, figures, out, f"equirl paper --runs {runs} --out {out}")
    say(f"report: {path}")
    raise typer.Exit(0 if complete else FAILED)


def leaderboard(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each learner in each world.")] = 20,
    learners: Annotated[str | None, typer.Option(help="Some learners only, by commas. [default: all]")] = None,
    worlds: Annotated[str | None, typer.Option(help="Some worlds only, by commas. [default: all]")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the results and the page.")] = Path(
        "results/leaderboard"
    ),
    bounds: Annotated[bool, typer.Option("--bounds", help="Draw the lower bound c log T, where there is one.")] = False,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    quiet: Quiet = False,
) -> None:
    """Compare every learner in many worlds, renumbered at random: one page of standings."""
    from equirl.leaderboard.board_figures import draw_boards
    from equirl.leaderboard.board_page import write_page
    from equirl.leaderboard.leaderboard_study import leaderboard_study, raised
    from equirl.leaderboard.standings import boards
    from equirl.studies.expansion import expand
    from equirl.studies.export import finished_runs
    from equirl.studies.store import Store
    from equirl.studies.summary import summarise

    planned = expand(leaderboard_study(runs, _names(learners), _names(worlds)))
    store = Store(out)
    chosen = _engine(engine, jobs, address, len(planned), None)
    complete = _compute(planned, store, chosen, None, quiet)
    standings = boards(summarise(finished_runs(planned, store)), planned)
    say("drawing figures and writing the page", err=True)
    figures = draw_boards(standings, out / "figures", with_bounds=bounds)
    given = {"--learners": learners, "--worlds": worlds, "--bounds": "" if bounds else None}
    options = "".join(f" {name} {value}".rstrip() for name, value in given.items() if value is not None)
    command = f"equirl leaderboard --runs {runs}{options} --out {out}"
    path = write_page(standings, figures, out, command, raised(planned, store))
    say(f"page: {path}")
    raise typer.Exit(0 if complete else FAILED)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _open(file: Path, out: Path | None) -> tuple[list[PlannedRun], Store]:
    from equirl.leaderboard.leaderboard_study import leaderboard_study
    from equirl.paper.paper_study import paper_study
    from equirl.studies.expansion import expand
    from equirl.studies.shipped import discounted_study, ready_study
    from equirl.studies.store import Store
    from equirl.studies.study_file import StudyError, load_study

    shipped = {
        "paper": paper_study, "leaderboard": leaderboard_study, "discounted": discounted_study, "ready": ready_study,
    }  # fmt: skip
    try:
        loaded = shipped[str(file)]() if str(file) in shipped and not file.is_file() else load_study(file)
        planned = expand(loaded, file.parent)
    except StudyError as error:
        say(f"equirl: {error}", err=True)
        raise typer.Exit(2) from None
    return planned, Store(out or Path("results") / loaded.name)


def _engine(name: EngineName, jobs: int | None, address: str | None, n_runs: int, slurm: Any) -> Engine:
    from equirl.studies.engines import DaskEngine, LocalEngine, SlurmEngine, available_cores

    if address is not None and name is not EngineName.dask:
        raise ValueError("--address belongs to --engine dask")
    workers = min(jobs or available_cores(), n_runs)
    if name is EngineName.slurm:
        return SlurmEngine(*slurm) if slurm else SlurmEngine(workers)
    return DaskEngine(workers, address) if name is EngineName.dask else LocalEngine(workers)


def _compute(
    planned: list[PlannedRun], store: Store, engine: Engine, shard: tuple[int, int] | None, quiet: bool
) -> bool:
    """Compute what is missing and say how it ended; whether every run succeeded and is stored."""
    from equirl.core.formatting import counted
    from equirl.studies.engines import EngineError
    from equirl.studies.execution import run_study
    from equirl.studies.store_errors import StoreError

    try:
        outcome = run_study(planned, store, engine, shard=shard, quiet=quiet)
    except KeyboardInterrupt:
        say("\ninterrupted. Finished runs are kept; give the same command again to go on.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (StoreError, EngineError) as error:
        say(f"equirl: {error}", err=True)
        raise typer.Exit(STOPPED) from None
    n_ready = outcome.n_stored
    are = "is" if n_ready == 1 else "are"
    say(f"{counted(n_ready, 'run')} {are} done, {outcome.report.n_computed} computed now; results in {store.folder}")
    if outcome.n_lost:
        gone = counted(outcome.n_lost, "result is", "results are")
        say(f"{gone} not in {store.folder} any more; the same command computes what is gone", err=True)
    for (learner, reason), alike in outcome.report.failures_alike().items():
        place = store.failure_path(alike[0].spec)
        say(f"failed: {len(alike)} of {learner}: {reason} (traceback: {place})", err=True)
    if outcome.report.failures:
        n_failed = counted(len(outcome.report.failures), "run")
        say(f"{n_failed} failed; the same command tries again", err=True)
    return outcome.complete


def _summary(planned: list[PlannedRun], store: Store, figures: bool, bounds: bool) -> None:
    """The regret at the horizon (and the sample complexity, where it was measured) as tables, and figures if asked."""
    from equirl.core.csv_files import write_csv
    from equirl.studies.export import finished_runs
    from equirl.studies.summary import SUMMARY_COLUMNS, final_rows, summarise

    groups = summarise(finished_runs(planned, store))
    for measure, title, name in SUMMARIES:
        measured = [group for group in groups if measure in group.curves]
        if groups and not measured:
            continue
        path = write_csv(store.folder / name, SUMMARY_COLUMNS, final_rows(measured, measure))
        rows = [
            [group.part, group.world, group.learner, f"{group.horizon:,}", *regret_cells(group.curves.final(measure))]
            for group in measured
        ]
        first = 0 if len({group.part for group in groups}) > 1 else 1  # of one part its name says nothing
        headings = ["part", "world", "learner", "T#", "runs#", "mean#", "±95 %#", "median#"]
        print_table(headings[first:], [row[first:] for row in rows], title=title)
        say(f"summary: {path}")
    if figures:
        from equirl.plots.study_figures import draw_study

        files = draw_study(groups, planned, store.folder / "figures", with_bounds=bounds)
        say(f"figures: {len(files)} files in {store.folder / 'figures'}")
