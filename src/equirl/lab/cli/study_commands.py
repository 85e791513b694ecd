"""Commands for studies: ``study``, ``status``, ``export``, ``paper``, ``leaderboard``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.lab.cli.completing import complete_learners, complete_study
from equirl.lab.cli.console import AsJson, print_json, print_table, say
from equirl.lab.cli.exit_codes import FAILED, MISTAKE
from equirl.lab.cli.learner_commands import Setting
from equirl.lab.cli.study_reports import compute_runs, summary_of

if TYPE_CHECKING:
    from equirl.lab.studies.engines import Engine
    from equirl.lab.studies.expansion import PlannedRun
    from equirl.lab.studies.store import Store


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
        autocompletion=complete_study,
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
KeepAgents = Annotated[
    bool, typer.Option("--keep-agents", help="Keep the learner of every run, as the run left it, in agents/.")
]


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
    setting: Setting = None,
    keep_agents: KeepAgents = False,
    queue: Queue = None,
    account: Account = None,
    workers: Workers = 4,
    walltime: Walltime = "01:00:00",
    memory: Memory = "2GB",
    as_json: AsJson = False,
) -> None:
    """Compute what is missing of a study; interrupted, it goes on where it was."""
    from equirl.lab.studies.execution import parse_shard

    planned, store = _open(file, out, setting, keep_agents)
    share = parse_shard(shard) if shard else None
    chosen = _engine(engine, jobs, address, len(planned), (workers, queue, walltime, memory, account))
    complete, told = compute_runs(planned, store, chosen, share, quiet=quiet, as_json=as_json)
    if share is None:
        told["summary"] = summary_of(planned, store, as_json)
        told["figures"] = [str(path) for path in _drawn(planned, store, bounds, as_json)] if figures else []
    if as_json:
        print_json(told)
    raise typer.Exit(0 if complete else FAILED)


def status(
    file: StudyFile, out: Out = None, setting: Setting = None, keep_agents: KeepAgents = False, as_json: AsJson = False
) -> None:
    """Show which runs of a study are done, missing, failed or damaged."""
    from equirl.lab.studies.execution import status_rows
    from equirl.lab.studies.expansion import unique_specs
    from equirl.lab.studies.plan_file import plan_damage

    planned, store = _open(file, out, setting, keep_agents)
    state = store.status(unique_specs(planned))
    damages = [reason for reason in (plan_damage(store.folder), *(told for _, told in state.damaged)) if reason]
    headings = ["part", "world", "learner", "done#", "missing#", "failed#", "damaged#"]
    rows = status_rows(planned, state)
    records = [(store.failure(spec), store.failure_path(spec)) for spec in state.failed]
    failed = [{"error": record["error"] if record else None, "record": str(path)} for record, path in records]
    counts: dict[str, list[Any]] = {
        "done": state.done,
        "missing": state.missing,
        "failed": state.failed,
        "damaged": state.damaged,
    }
    if as_json:
        names = [heading.rstrip("#") for heading in headings]
        print_json({
            "study": str(file), "folder": str(store.folder), **{name: len(runs) for name, runs in counts.items()},
            "places": [dict(zip(names, row, strict=True)) for row in rows], "failures": failed,
            "damages": damages, "versions": state.versions,
        })  # fmt: skip
        return
    print_table(headings, [list(map(str, row)) for row in rows], title=f"{file.name}: results in {store.folder}")
    for failure in failed:
        say(f"failed: {failure['error'] or 'no readable record'} ({failure['record']})")
    for reason in damages:
        say(f"damaged: {reason}")
    if len(state.versions) > 1:
        say(f"results come from several versions of equirl: {state.versions}")
    say(", ".join(f"{len(runs)} {name}" for name, runs in counts.items()))


def export(
    file: StudyFile,
    table: Annotated[Path, typer.Option("--table", "-o", help="The table: .parquet or .csv.", show_default=False)],
    out: Out = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Write one tidy table of all finished runs: a row per run and checkpoint."""
    from equirl.lab.studies.export import export as write_table
    from equirl.words.formatting import counted

    planned, store = _open(file, out, setting)
    damaged: list[str] = []
    path, n_rows = write_table(planned, store, table, damaged)
    for reason in damaged:
        say(f"damaged, left out: {reason}", err=True)
    if as_json:
        print_json({"table": str(path), "rows": n_rows, "damages": damaged})
    else:
        say(f"{path}: {counted(n_rows, 'row')}")


def paper(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each learner in each world.")] = 100,
    out: Annotated[Path, typer.Option("--out", help="Folder of the results and the report.")] = Path("results/paper"),
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: every figure and table, next to the published values, in one report."""
    from equirl.lab.paper.figures import draw_paper
    from equirl.lab.paper.paper_study import paper_runs
    from equirl.lab.paper.report import write_report
    from equirl.lab.studies.export import finished_runs
    from equirl.lab.studies.store import Store
    from equirl.lab.studies.summary import summarise

    planned, store = paper_runs(runs), Store(out)
    chosen = _engine(engine, jobs, address, len(planned), None)
    complete, told = compute_runs(planned, store, chosen, None, quiet=quiet, as_json=as_json)
    groups = summarise(finished_runs(planned, store))
    say("drawing figures and writing the report", err=True)
    figures = draw_paper(groups, out / "figures")
    path = write_report(groups, figures, out, f"equirl paper --runs {runs} --out {out}")
    if as_json:
        print_json({**told, "report": str(path)})
    else:
        say(f"report: {path}")
    raise typer.Exit(0 if complete else FAILED)


def leaderboard(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each learner in each world.")] = 20,
    learners: Annotated[
        str | None,
        typer.Option(help="Some learners only, by commas. [default: all]", autocompletion=complete_learners),
    ] = None,
    worlds: Annotated[str | None, typer.Option(help="Some worlds only, by commas. [default: all]")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the results and the page.")] = Path(
        "results/leaderboard"
    ),
    bounds: Annotated[bool, typer.Option("--bounds", help="Draw the lower bound c log T, where there is one.")] = False,
    setting: Setting = None,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare every learner in many worlds, renumbered at random: one page of standings."""
    from equirl.lab.leaderboard.board_figures import draw_boards
    from equirl.lab.leaderboard.board_page import write_page
    from equirl.lab.leaderboard.leaderboard_study import leaderboard_study, raised
    from equirl.lab.leaderboard.standings import boards
    from equirl.lab.studies.expansion import expand
    from equirl.lab.studies.export import finished_runs
    from equirl.lab.studies.setting_choices import with_settings
    from equirl.lab.studies.store import Store
    from equirl.lab.studies.summary import summarise

    planned = expand(with_settings(leaderboard_study(runs, _names(learners), _names(worlds)), setting or []))
    store = Store(out)
    chosen = _engine(engine, jobs, address, len(planned), None)
    complete, told = compute_runs(planned, store, chosen, None, quiet=quiet, as_json=as_json)
    standings = boards(summarise(finished_runs(planned, store)), planned)
    say("drawing figures and writing the page", err=True)
    figures = draw_boards(standings, out / "figures", with_bounds=bounds)
    given = {"--learners": learners, "--worlds": worlds, "--bounds": "" if bounds else None}
    options = "".join(f" {name} {value}".rstrip() for name, value in given.items() if value is not None)
    options += "".join(f" --set {text}" for text in setting or [])
    command = f"equirl leaderboard --runs {runs}{options} --out {out}"
    path = write_page(standings, figures, out, command, raised(planned, store))
    if as_json:
        print_json({**told, "page": str(path)})
    else:
        say(f"page: {path}")
    raise typer.Exit(0 if complete else FAILED)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _open(
    file: Path, out: Path | None, settings: list[str] | None, keep_agents: bool = False
) -> tuple[list[PlannedRun], Store]:
    from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
    from equirl.lab.paper.paper_study import paper_study
    from equirl.lab.studies.expansion import expand
    from equirl.lab.studies.setting_choices import with_settings
    from equirl.lab.studies.shipped import discounted_study, ready_study
    from equirl.lab.studies.store import Store
    from equirl.lab.studies.study_file import StudyError, load_study

    shipped = {
        "paper": paper_study, "leaderboard": leaderboard_study, "discounted": discounted_study, "ready": ready_study,
    }  # fmt: skip
    try:
        loaded = shipped[str(file)]() if str(file) in shipped and not file.is_file() else load_study(file)
        chosen = with_settings(loaded, settings or [])
        planned = expand(chosen.keeping_agents() if keep_agents else chosen, file.parent)
    except StudyError as error:
        say(f"equirl: {error}", err=True)
        raise typer.Exit(MISTAKE) from None
    return planned, Store(out or Path("results") / loaded.name)


def _engine(name: EngineName, jobs: int | None, address: str | None, n_runs: int, slurm: Any) -> Engine:
    from equirl.lab.studies.engines import DaskEngine, LocalEngine, SlurmEngine, available_cores

    if address is not None and name is not EngineName.dask:
        raise ValueError("--address belongs to --engine dask")
    workers = min(jobs or available_cores(), n_runs)
    if name is EngineName.slurm:
        return SlurmEngine(*slurm) if slurm else SlurmEngine(workers)
    return DaskEngine(workers, address) if name is EngineName.dask else LocalEngine(workers)


def _drawn(planned: list[PlannedRun], store: Store, bounds: bool, as_json: bool) -> list[Path]:
    """Draw the figures of what is done."""
    from equirl.lab.plots.study_figures import draw_study
    from equirl.lab.studies.export import finished_runs
    from equirl.lab.studies.summary import summarise

    groups = summarise(finished_runs(planned, store))
    files = draw_study(groups, planned, store.folder / "figures", with_bounds=bounds)
    say(f"figures: {len(files)} files in {store.folder / 'figures'}", err=as_json)
    return files
