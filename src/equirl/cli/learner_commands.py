"""Commands about learners: ``equirl agents`` and ``equirl run``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.cli.console import print_json, print_table, regret_cells, say
from equirl.core.formatting import number

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP


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
    until: Annotated[
        str | None,
        typer.Option(help="Stop a run early, such as gap=0.01 (no policy better by more), delta=0.1, seconds=60."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play a learner in a world and report its regret, in the units of the rewards."""
    from equirl.studies.compare import simulate_many
    from equirl.worlds.world_registry import load_world

    _check_files(plot, csv)
    if animate is not None:
        from equirl.plots.film_files import check_film

        check_film(animate)
    mdp = load_world(world)
    settings = dict(_setting(text) for text in setting or [])
    learners = [(name.strip(), settings) for name in agent.split(",")]
    scale = mdp.reward_map[0]
    if until is not None:
        if any(file is not None for file in (plot, csv, animate)) or jobs > 1 or common_random_numbers:
            raise ValueError(
                "runs of --until end at different times, one after the other: leave --plot, --csv, --animate, --jobs "
                "and --common-random-numbers out"
            )
        _run_until(mdp, world, learners, horizon, range(seed, seed + runs), until, as_json)
        return
    with _bar(runs * len(learners)) as on_run:
        table = simulate_many(
            mdp, learners, horizon, range(seed, seed + runs), jobs=jobs, common_random_numbers=common_random_numbers,
            on_run=on_run,
        )  # fmt: skip
    headings = ["learner", "runs#", "mean regret#", "±95 %#", "median#", "per step#"]
    final = {label: scale * values for label, values in table.final().items()}
    rows = [[label, *regret_cells(values), number(float(values.mean()) / horizon)] for label, values in final.items()]
    if as_json:
        print_json({
            "world": world, "horizon": horizon, "seeds": list(range(seed, seed + runs)),
            "reward_map": list(mdp.reward_map), "regret": {label: values.tolist() for label, values in final.items()},
        })  # fmt: skip
    else:
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


def _run_until(
    mdp: TabularMDP, world: str, learners: list[tuple[str, dict[str, Any]]], horizon: int, seeds: range, rule: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Play every learner with every seed until the rule stops it, and report when and how good its policy is."""
    import numpy as np

    from equirl.simulation.simulate import simulate
    from equirl.solving.optimal_gain import certified_gain
    from equirl.solving.policies import policy_gain

    scale, best = mdp.reward_map[0], certified_gain(mdp)
    told: list[dict[str, Any]] = []
    with _bar(len(seeds) * len(learners)) as on_run:
        for name, settings in learners:
            for seed in seeds:
                trace = simulate(mdp, name, horizon, seed, until=rule, checkpoints=1, gain=best, **settings)
                true = scale * (best - policy_gain(mdp, trace.policy)) if len(trace.policy) else None
                told.append({
                    "learner": name, "seed": seed, "steps": int(trace.t[-1]), "stopped": trace.stopped,
                    "gap": trace.gap, "true_gap": true, "regret": scale * float(trace.regret[-1]),
                })  # fmt: skip
                on_run(len(told), len(seeds) * len(learners))
    if as_json:
        print_json({"world": world, "horizon": horizon, "until": rule, "runs": told})
        return
    rows = []
    for name, _ in learners:
        own = [run for run in told if run["learner"] == name]
        gaps = [run["true_gap"] for run in own if run["true_gap"] is not None]
        cells = [np.median([run["steps"] for run in own]), np.mean([run["regret"] for run in own])]
        worst = number(max(gaps)) if gaps else "-"
        stopped = sum(bool(run["stopped"]) for run in own)
        rows.append([name, f"{stopped} of {len(own)}", *(number(float(cell)) for cell in cells), worst])
    headings = ["learner", "stopped#", "median steps#", "mean regret#", "largest true gap#"]
    print_table(headings, rows, title=f"{mdp.name or world}, until {rule}, at most {horizon} steps")


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
