"""Commands about learners: ``equirl agents`` and ``equirl run``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from equirl.studies.compare import TidyTable


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(agents)
    app.command()(run)


def agents() -> None:
    """List the learners and their settings."""
    from rich.console import Console
    from rich.table import Table

    from equirl.learners.learner_registry import AGENTS, make_settings

    table = Table("learner", "what it is", "settings and defaults")
    for name, recipe in AGENTS.items():
        settings = make_settings(name)
        texts = [f"{key}={getattr(settings, key)}" for key in recipe.keys]
        table.add_row(name, recipe.description, ", ".join(texts) or "none")
    Console().print(table)


def run(
    world: Annotated[
        str, typer.Argument(metavar="WORLD", help="A world such as riverswim:n_states=25, or a saved file.")
    ],
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="A learner; several separated by commas are compared.")],
    horizon: Annotated[int, typer.Option(help="Steps per run.")] = 200_000,
    runs: Annotated[int, typer.Option(help="Independent runs.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the first run; the others follow.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    setting: Annotated[list[str] | None, typer.Option("--set", help="A setting, key=value; may be repeated.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the regret curves to this file (png, pdf, svg).")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all curves to this file.")] = None,
    common_random_numbers: Annotated[bool, typer.Option(help="Learners share the world's randomness.")] = False,
) -> None:
    """Play a learner in a world and report its regret."""
    from equirl.core.files import check_place
    from equirl.studies.compare import simulate_many
    from equirl.worlds.world_registry import load_world

    if plot is not None:
        from equirl.plots.canvas import check_format

        check_format(plot)
    for file in filter(None, (plot, csv)):
        check_place(file)
    mdp = load_world(world)
    settings = dict(_setting(text) for text in setting or [])
    learners = [(name.strip(), settings) for name in agent.split(",")]
    with _bar(runs * len(learners)) as on_run:
        table = simulate_many(
            mdp, learners, horizon, range(seed, seed + runs), jobs=jobs, common_random_numbers=common_random_numbers,
            on_run=on_run,
        )  # fmt: skip
    _show(table, mdp.name or world, horizon)
    if csv is not None:
        table.to_csv(csv)
        typer.echo(f"curves written to {csv}")
    if plot is not None:
        from equirl.plots.comparison_figures import save_comparison

        save_comparison(table, plot, title=mdp.name or world)
        typer.echo(f"figure written to {plot}")


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, nothing elsewhere; inside, what to call with the number of runs done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("runs", total=total)
        yield lambda done, _: progress.update(task, completed=done)


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes key=value, not {text!r}")
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    for read in (int, float):
        try:
            return key, read(value)
        except ValueError:
            continue
    return key, value


def _show(table: TidyTable, world: str, horizon: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    shown = Table(
        "learner", "runs", "mean regret", "standard error", "median", "per step", title=f"{world}, T={horizon}"
    )
    for name, values in table.final().items():
        error = f"{values.std(ddof=1) / np.sqrt(len(values)):.3g}" if len(values) > 1 else "-"
        shown.add_row(
            name, str(len(values)), f"{values.mean():.4g}", error, f"{np.median(values):.4g}",
            f"{values.mean() / horizon:.4g}",
        )  # fmt: skip
    Console().print(shown)
