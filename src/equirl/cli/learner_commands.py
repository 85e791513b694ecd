"""Commands about learners: ``equirl agents`` and ``equirl run``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from equirl.cli.console import print_table, regret_cells, say
from equirl.core.formatting import number


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(agents)
    app.command()(run)


def agents() -> None:
    """List the learners and their settings."""
    from equirl.learners.learner_registry import AGENTS

    rows = []
    for name, recipe in AGENTS.items():
        texts = [f"{key}={value}" for key, value in recipe.defaults().items()]
        rows.append([name, recipe.description, ", ".join(texts) or "none"])
    print_table(["learner", "what it is", "settings and defaults"], rows)


def run(
    world: Annotated[
        str, typer.Argument(metavar="WORLD", help="A world such as riverswim:n_states=25, or a saved file.")
    ],
    agent: Annotated[
        str,
        typer.Argument(metavar="AGENT", help="A learner; several separated by commas are compared."),
    ] = "c-psrl",  # equirl.learners.catalogue.RECOMMENDED; a test compares them
    horizon: Annotated[int, typer.Option(help="Steps per run.")] = 200_000,
    runs: Annotated[int, typer.Option(help="Independent runs.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the first run; the others follow.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    setting: Annotated[list[str] | None, typer.Option("--set", help="A setting, key=value; may be repeated.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the regret curves to this file (png, pdf, svg).")] = None,
    animate: Annotated[
        Path | None, typer.Option(help="A film of the first learner's first run to this file (gif; mp4 with ffmpeg).")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all curves to this file.")] = None,
    common_random_numbers: Annotated[bool, typer.Option(help="Learners share the world's randomness.")] = False,
) -> None:
    """Play a learner in a world and report its regret."""
    from equirl.studies.compare import simulate_many
    from equirl.worlds.world_registry import load_world

    _check_files(plot, csv)
    if animate is not None:
        from equirl.plots.film_files import check_film

        check_film(animate)
    mdp = load_world(world)
    settings = dict(_setting(text) for text in setting or [])
    learners = [(name.strip(), settings) for name in agent.split(",")]
    with _bar(runs * len(learners)) as on_run:
        table = simulate_many(
            mdp, learners, horizon, range(seed, seed + runs), jobs=jobs, common_random_numbers=common_random_numbers,
            on_run=on_run,
        )  # fmt: skip
    headings = ["learner", "runs#", "mean regret#", "±95 %#", "median#", "per step#"]
    final = table.final().items()
    rows = [[label, *regret_cells(values), number(float(values.mean()) / horizon)] for label, values in final]
    print_table(headings, rows, title=f"{mdp.name or world}, T={horizon}")
    if csv is not None:
        table.to_csv(csv)
        say(f"curves written to {csv}")
    if plot is not None:
        from equirl.plots.comparison_figures import save_comparison

        save_comparison(table, plot, title=mdp.name or world)
        say(f"figure written to {plot}")
    if animate is not None:
        from equirl.plots import animate_learning

        animate_learning(mdp, learners[0][0], animate, horizon, seed, **settings)
        say(f"film written to {animate}")


def _check_files(plot: Path | None, csv: Path | None) -> None:
    """Say before the runs, not after, that a file cannot be written."""
    from equirl.core.files import check_place

    if plot is not None:
        from equirl.plots.canvas import check_format

        check_format(plot)
    for file in filter(None, (plot, csv)):
        check_place(file)


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
    from equirl.core.text_values import parse_value

    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes key=value, not {text!r}")
    return key.strip(), parse_value(value.strip())
