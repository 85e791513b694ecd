"""Commands for studies: ``study``, ``status``, ``export``, ``paper``, ``leaderboard``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.lab.cli.console import FAILED, INTERRUPTED, MISTAKE, STOPPED, AsJson, print_json, print_table, say
from equirl.lab.cli.learner_commands import Setting, regret_cells
from equirl.lab.cli.shell_completion import complete_learners, complete_study

if TYPE_CHECKING:
    from equirl.lab.studies.engines import Engine
    from equirl.lab.studies.expansion import PlannedRun
    from equirl.lab.studies.store import Store
    from equirl.lab.studies.summary import Group


class EngineName(StrEnum):
    """Where runs are computed."""

    local = "local"
    dask = "dask"
    slurm = "slurm"


class FigureFormat(StrEnum):
    """How figures are written."""

    png = "png"
    pdf = "pdf"
    svg = "svg"


StudyFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The study, a TOML file; or paper, leaderboard, zoo, colosseum, discounted, ready: those shipped.",
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
SUMMARIES = (  # curve, title, file
    ("regret", "Regret at T", "summary.csv"),
    ("sample_complexity", "Steps up to T at which the policy was not near-optimal", "summary-sample-complexity.csv"),
)


def study(
    file: StudyFile,
    out: Out = None,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    shard: Annotated[str | None, typer.Option(help="Compute a share only: i/n, such as 2/8.")] = None,
    figures: Annotated[bool, typer.Option("--figures", help="Draw figures of what is done.")] = False,
    formats: Annotated[
        list[FigureFormat] | None, typer.Option("--format", help="With --figures: png, pdf or svg. May be repeated.")
    ] = None,
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
    complete, facts = _compute_runs(planned, store, chosen, quiet=quiet, as_json=as_json, shard=share)
    if share is None:
        groups = _groups(planned, store)
        facts["summary"], facts["figures"] = _summary_of(groups, store, as_json), []
        if figures:
            from equirl.lab.plots.study_figures import draw_study

            folder = store.folder / "figures"
            chosen_formats = [kind.value for kind in dict.fromkeys(formats or [FigureFormat.png])]
            drawn = draw_study(groups, planned, folder, formats=chosen_formats, with_bounds=bounds)
            facts["figures"] = list(map(str, drawn))
            say(f"figures: {len(drawn)} files in {folder}", err=as_json)
    if as_json:
        print_json(facts)
    raise typer.Exit(0 if complete else FAILED)


def status(
    file: StudyFile,
    out: Out = None,
    setting: Setting = None,
    keep_agents: KeepAgents = False,
    recheck: Annotated[bool, typer.Option("--recheck", help="Read every file again, whatever the index says.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which runs of a study are done, missing, failed or damaged."""
    from equirl.lab.studies.execution import status_rows
    from equirl.lab.studies.expansion import unique_specs
    from equirl.lab.studies.plan_file import plan_damage

    planned, store = _open(file, out, setting, keep_agents)
    state = store.status(unique_specs(planned), anew=recheck)
    damages = [reason for reason in (plan_damage(store.folder), *(reason for _, reason in state.damaged)) if reason]
    headings = ["part", "world", "learner", "done#", "missing#", "failed#", "damaged#"]
    rows = status_rows(planned, state)
    records = [(store.failure(spec), store.failure_path(spec)) for spec in state.failed]
    failed = [{"error": record["error"] if record else None, "record": str(path)} for record, path in records]
    counts = {name: len(getattr(state, name)) for name in ("done", "missing", "failed", "damaged")}
    if as_json:
        names = [heading.rstrip("#") for heading in headings]
        print_json({
            "study": str(file), "folder": str(store.folder), **counts,
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
    say(", ".join(f"{n} {name}" for name, n in counts.items()))


def export(
    file: StudyFile,
    table: Annotated[Path, typer.Option("--table", "-o", help="The table: .parquet or .csv.", show_default=False)],
    out: Out = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Write one tidy table of all finished runs: a row per run and checkpoint."""
    from equirl.lab.studies.summary import export as write_table
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
    from equirl.lab.paper.paper_study import paper_runs
    from equirl.lab.paper.report import draw_paper, write_report
    from equirl.lab.studies.store import Store

    planned, store = paper_runs(runs), Store(out)
    chosen = _engine(engine, jobs, address, len(planned))
    complete, facts = _compute_runs(planned, store, chosen, quiet=quiet, as_json=as_json)
    groups = _groups(planned, store)
    say("drawing figures and writing the report", err=True)
    figures = draw_paper(groups, out / "figures")
    path = write_report(groups, figures, out, f"equirl paper --runs {runs} --out {out}")
    _end_with("report", path, facts, complete, as_json)


def leaderboard(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each learner in each world.")] = 20,
    learners: Annotated[
        str | None,
        typer.Option(help="Some learners only, by commas. [default: all]", autocompletion=complete_learners),
    ] = None,
    worlds: Annotated[str | None, typer.Option(help="Some worlds only, by commas. [default: all]")] = None,
    suite: Annotated[
        str,
        typer.Option(help="Which worlds: leaderboard, zoo (those of practice) or colosseum (a public benchmark's)."),
    ] = "leaderboard",
    out: Annotated[Path | None, typer.Option(help="Folder of results and page. [default: results/SUITE]")] = None,
    bounds: Annotated[bool, typer.Option("--bounds", help="Draw the lower bound c log T, where there is one.")] = False,
    setting: Setting = None,
    jobs: Jobs = None,
    engine: EngineOption = EngineName.local,
    address: Address = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare learners in many worlds, renumbered at random: one page of standings."""
    from equirl.lab.leaderboard.board_page import draw_boards, write_page
    from equirl.lab.leaderboard.leaderboard_study import leaderboard_study, raised
    from equirl.lab.leaderboard.standings import boards
    from equirl.lab.studies.expansion import expand, with_settings
    from equirl.lab.studies.store import Store

    chosen_study = with_settings(leaderboard_study(runs, _names(learners), _names(worlds), suite), setting or [])
    planned, out = expand(chosen_study), out or Path("results") / suite
    store = Store(out)
    chosen = _engine(engine, jobs, address, len(planned))
    complete, facts = _compute_runs(planned, store, chosen, quiet=quiet, as_json=as_json)
    standings = boards(_groups(planned, store), planned, parts=chosen_study.parts)
    say("drawing figures and writing the page", err=True)
    figures = draw_boards(standings, out / "figures", with_bounds=bounds)
    given = {
        "--suite": None if suite == "leaderboard" else suite,
        "--learners": learners,
        "--worlds": worlds,
        "--bounds": "" if bounds else None,
    }
    options = "".join(f" {name} {value}".rstrip() for name, value in given.items() if value is not None)
    options += "".join(f" --set {text}" for text in setting or [])
    command = f"equirl leaderboard --runs {runs}{options} --out {out}"
    path = write_page(standings, figures, out, command, raised(planned, store), suite)
    _end_with("page", path, facts, complete, as_json)


def _compute_runs(
    planned: list[PlannedRun], store: Store, engine: Engine, *, quiet: bool, as_json: bool,
    shard: tuple[int, int] | None = None,
) -> tuple[bool, dict[str, Any]]:  # fmt: skip
    """Compute what is missing of a study and say how it ended."""
    from equirl.lab.studies.engines import EngineError
    from equirl.lab.studies.execution import run_study
    from equirl.lab.studies.store import StoreError
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
    ready = counted(n_ready, "run is", "runs are")
    say(f"{ready} done, {report.n_computed} computed now; results in {store.folder}", err=as_json)
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
        say(f"{counted(len(report.failures), 'run')} failed; the same command tries again", err=True)
    return outcome.complete, {
        "folder": str(store.folder), "done": n_ready, "computed": report.n_computed, "failed": len(report.failures),
        "lost": outcome.n_lost, "failures": failures,
    }  # fmt: skip


def _summary_of(groups: list[Group], store: Store, as_json: bool) -> list[dict[str, Any]]:
    """The regret at the horizon (and the sample complexity, where it was measured): as tables, and as files."""
    from equirl.files.whole_files import write_csv
    from equirl.lab.studies.summary import SUMMARY_COLUMNS, final_rows

    listed: list[dict[str, Any]] = []
    for measure, title, name in SUMMARIES:
        measured = [group for group in groups if measure in group.curves]
        if groups and not measured:
            continue
        finals = final_rows(measured, measure)
        path = write_csv(store.folder / name, SUMMARY_COLUMNS, finals)
        listed += [{"measure": measure, **dict(zip(SUMMARY_COLUMNS, row, strict=True))} for row in finals]
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
    return listed


def _groups(planned: list[PlannedRun], store: Store) -> list[Group]:
    from equirl.lab.studies.summary import finished_runs, summarise

    return summarise(finished_runs(planned, store))


def _end_with(name: str, path: Path, facts: dict[str, Any], complete: bool, as_json: bool) -> None:
    """Say where a page is, and end."""
    if as_json:
        print_json({**facts, name: str(path)})
    else:
        say(f"{name}: {path}")
    raise typer.Exit(0 if complete else FAILED)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _open(
    file: Path, out: Path | None, settings: list[str] | None, keep_agents: bool = False
) -> tuple[list[PlannedRun], Store]:
    from equirl.lab.leaderboard.leaderboard_study import SUITES, leaderboard_study
    from equirl.lab.paper.paper_study import paper_study
    from equirl.lab.studies.expansion import expand, with_settings
    from equirl.lab.studies.store import Store
    from equirl.lab.studies.study_file import StudyError, load_study, shipped_study

    shipped = {"paper": paper_study} | {name: partial(leaderboard_study, suite=name) for name in SUITES}
    shipped |= {name: partial(shipped_study, name) for name in ("discounted", "ready")}
    try:
        loaded = shipped[str(file)]() if str(file) in shipped and not file.is_file() else load_study(file)
        chosen = with_settings(loaded, settings or [])
        planned = expand(chosen.keeping_agents() if keep_agents else chosen, file.parent)
    except StudyError as error:
        say(f"equirl: {error}", err=True)
        raise typer.Exit(MISTAKE) from None
    return planned, Store(out or Path("results") / loaded.name)


def _engine(name: EngineName, jobs: int | None, address: str | None, n_runs: int, slurm: Any = ()) -> Engine:
    from equirl.lab.studies.engines import DaskEngine, LocalEngine, SlurmEngine, available_cores

    if address is not None and name is not EngineName.dask:
        raise ValueError("--address belongs to --engine dask")
    workers = min(jobs or available_cores(), n_runs)
    if name is EngineName.slurm:
        return SlurmEngine(*slurm) if slurm else SlurmEngine(workers)
    return DaskEngine(workers, address) if name is EngineName.dask else LocalEngine(workers)
