"""Commands about learners: ``equirl agents`` (which there are, or saved ones), ``equirl run``, ``equirl prepare``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.lab.cli.console import AsJson, check_files, print_facts, print_json, print_some, print_table, say
from equirl.lab.cli.shell_completion import complete_learners, complete_saved, complete_setting
from equirl.lab.cli.world_commands import WorldText, pair_facts
from equirl.words.formatting import counted, number

if TYPE_CHECKING:
    import numpy as np

    from equirl.learners import Learner
    from equirl.model import TabularMDP

Named = dict[str, tuple["str | Learner", dict[str, Any]]]  # learners, or names of them, and settings, by label
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="LEARNER.KEY=VALUE",
        help="A setting of a learner; KEY=VALUE is for every learner. May be repeated.",
        autocompletion=complete_setting,
    ),
]
USUAL = "c-psrl"  # equirl.learners.catalogue.RECOMMENDED; a test compares them
MOST_SAVED = 100  # learners of a folder listed on the screen


def agents(
    saved: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="A saved learner to look at, or a folder of them. [default: list what learners there are]",
            show_default=False,
            autocompletion=complete_saved,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the learners and their settings; or show a saved learner, or those in a folder."""
    if saved is not None:
        if saved.is_dir():
            _show_folder(saved, as_json)
        else:
            _show_agent(saved, as_json)
        return
    from equirl.learners import AGENTS, COLUMNS, FAMILIES, RECOMMENDED

    if as_json:
        print_json({
            name: {"description": recipe.description, "settings": recipe.defaults()} for name, recipe in AGENTS.items()
        })  # fmt: skip
        return
    grid = [[family.learners().get(column, "") for column in COLUMNS] for family in FAMILIES]
    print_table(COLUMNS, grid, title=f"What learners know of classes; where nothing is given, take {RECOMMENDED}")
    rows = []
    for name, recipe in AGENTS.items():
        texts = [f"{key}={value}" for key, value in recipe.defaults().items()]
        rows.append([name, recipe.description, ", ".join(texts) or "none"])
    print_table(["learner", "what it is", "settings and defaults"], rows)


def _show_folder(folder: Path, as_json: bool) -> None:
    from equirl.lab.studies.plan_file import kept_agents
    from equirl.lab.studies.saved_agents import saved_runs, unreadable_runs

    table = saved_runs(folder)
    for path in unreadable_runs(folder):
        say(f"{path} is damaged, left out; {path.with_name('agent.npz')} beside it may be whole", err=True)
    if not len(table):
        table, complaints = kept_agents(folder)
        for complaint in complaints:
            say(complaint, err=True)
    if not len(table):
        raise ValueError(
            f"{folder} holds no learners; equirl run --save FOLDER and equirl study --keep-agents put some there"
        )
    if as_json:
        print_json({"folder": str(folder), "learners": table.rows()})
        return
    print_some(table, f"{folder}: {counted(len(table), 'learner')}", "--json lists all", MOST_SAVED)


def _show_agent(path: Path, as_json: bool) -> None:
    from equirl.keeping.saving import load_agent

    agent = load_agent(path)
    beliefs = agent.beliefs
    policy = beliefs.policy_table() if beliefs.has_policy else None
    classes = beliefs.partition if beliefs.forms_classes else None
    settings = agent.settings.as_dict()
    scale, shift = agent.reward_map
    if as_json:
        print_json({
            "file": str(path), "learner": agent.name, "steps": agent.t - 1, "n_episodes": agent.n_episodes,
            "n_states": agent.pairs.n_states, "n_pairs": agent.pairs.n_pairs, "settings": settings,
            "reward_range": [shift, scale + shift], "policy": policy.rows() if policy else None,
            "n_classes": classes.n_classes if classes else None,
            "classes": classes.table(agent).rows() if classes else None,
        })  # fmt: skip
        return
    print_facts(str(path), {
        "learner": agent.name,
        "steps": f"{agent.t - 1:,} in {counted(agent.n_episodes, 'episode')}",
        **pair_facts(agent.pairs),
        "classes": "none formed" if classes is None else f"{classes.n_classes:,}",
        "rewards in": f"[{shift:g}, {scale + shift:g}]",
        "settings": ", ".join(f"{key}={value}" for key, value in settings.items()) or "none",
    })  # fmt: skip
    if policy is not None:
        print_some(policy, "Policy", "--json has all")


def run(
    world: WorldText,
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="A learner, or a saved one (.npz) that goes on; several separated by commas are compared.",
            autocompletion=complete_learners,
        ),
    ] = USUAL,
    horizon: Annotated[int, typer.Option(help="Steps per run.")] = 200_000,
    runs: Annotated[int, typer.Option(help="Independent runs.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the first run; the others follow.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    setting: Setting = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the regret curves to this file (png, pdf, svg).")] = None,
    animate: Annotated[
        Path | None, typer.Option(help="A film of the first learner's first run to this file (gif; mp4 with ffmpeg).")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all curves to this file.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep each run's learner, policy, classes and curves in this folder.")
    ] = None,
    common_random_numbers: Annotated[bool, typer.Option(help="Learners share the world's randomness.")] = False,
    until: Annotated[
        str | None,
        typer.Option(help="Stop a run early, such as gap=0.01 (no policy better by more), delta=0.1, seconds=60."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play a learner in a world and report its regret, in the units of the rewards."""
    from equirl.lab.studies.compare import simulate_many
    from equirl.lab.studies.rehearsals import playing, prepared
    from equirl.worlds import load_world

    check_files(plot, csv)
    if animate is not None:
        from equirl.lab.plots.films import check_film

        check_film(animate)
    mdp, seeds = load_world(world), range(seed, seed + runs)
    named = _named([name.strip() for name in agent.split(",")], setting or [])
    if until is not None:
        if any(file is not None for file in (plot, csv, animate)) or jobs > 1 or common_random_numbers:
            raise ValueError(
                "runs of --until end at different times, one after the other: leave --plot, --csv, --animate, --jobs "
                "and --common-random-numbers out"
            )
        _run_until(mdp, world, named, horizon, seeds, until, save, as_json)
        return
    with prepared(playing(choice for choice, _ in named.values() if isinstance(choice, str))):
        table = simulate_many(
            mdp, named, horizon, seeds, jobs=jobs, common_random_numbers=common_random_numbers, progress=True, save=save
        )
    if as_json:
        print_json({
            "world": world, "horizon": horizon, "seeds": list(seeds), "reward_map": list(mdp.reward_map),
            "regret": {label: values.tolist() for label, values in table.final().items()},
            "saved": None if save is None else str(save),
        })  # fmt: skip
    else:
        headings = ["learner", "runs#", "mean regret#", "±95 %#", "median#", "per step#"]
        rows = [[label, *regret_cells(v), number(float(v.mean()) / horizon)] for label, v in table.final().items()]
        print_table(headings, rows, title=f"{mdp.name or world}, T={horizon}")
    if csv is not None:
        table.to_csv(csv)
        say(f"curves written to {csv}", err=True)
    if plot is not None:
        from equirl.lab.plots import save_figure
        from equirl.lab.plots.curve_figures import draw_comparison

        save_figure(draw_comparison(table, title=mdp.name or world), plot)
        say(f"figure written to {plot}", err=True)
    if animate is not None:
        from equirl.lab.plots import animate_learning

        choice, settings = next(iter(named.values()))
        animate_learning(mdp, choice, animate, horizon, seed, **settings)
        say(f"film written to {animate}", err=True)
    _tell_saved(save)


def regret_cells(values: np.ndarray) -> list[str]:
    """The regret of several runs: how many, the mean, half its 95 % interval, the median.

    >>> import numpy as np
    >>> regret_cells(np.array([900.0, 1000.0, 1400.0]))
    ['3', '1,100', '660', '1,000']
    """
    import numpy as np

    from equirl.simulation import half_width

    half = float(half_width(values))
    spread = number(half, 2) if math.isfinite(half) else "-"
    return [str(len(values)), number(float(values.mean())), spread, number(float(np.median(values)))]


def _named(names: list[str], settings: list[str]) -> Named:
    """The learners that names stand for, those of files loaded, with what ``--set`` chose for them."""
    from equirl.keeping.saving import load_agent
    from equirl.lab.studies.compare import labelled
    from equirl.lab.studies.run_specs import read_settings

    chosen = read_settings(settings, [name for name in names if not name.endswith(".npz")])
    named: Named = {}
    for name in names:
        label = labelled(name, chosen[name]) if name in chosen else name
        if label in named:
            raise ValueError(f"learner {name!r} is listed twice")
        named[label] = (name, chosen[name]) if name in chosen else (load_agent(name), {})
    return named


def _tell_saved(save: Path | None) -> None:
    if save is not None:
        say(f"learners, policies, classes and curves kept in {save}; equirl agents {save} lists them", err=True)


def _run_until(
    mdp: TabularMDP, world: str, named: Named, horizon: int, seeds: range, rule: str, save: Path | None, as_json: bool
) -> None:
    """Play every learner with every seed until the rule stops it, and report when and how good its policy is."""
    import numpy as np

    from equirl.lab.studies.compare import named_learners
    from equirl.lab.studies.saved_agents import check_folder, plan_saved, save_run
    from equirl.simulation import LiveRun
    from equirl.solving import Policy, certified_solution
    from equirl.words.progress_bar import progress_called

    named, best = named_learners(named), certified_solution(mdp).unit_gain
    plans = plan_saved(mdp, named, seeds, horizon, until=rule) if save is not None else {}
    folder = check_folder(save, plans.values()) if save is not None else None
    ended: list[dict[str, Any]] = []
    with progress_called(True, "runs") as advanced:
        for name, (choice, settings) in named.items():
            for seed in seeds:
                points = 1 if folder is None else 200
                chosen = {**settings, "until": rule}
                live = LiveRun(mdp, choice, horizon, seed, checkpoints=points, unit_gain=best, settings=chosen)
                trace = live.finish()
                if folder is not None:
                    save_run(folder, plans[name, seed], trace)
                true = max(trace.gain - Policy(mdp, trace.policy).gain, 0.0) if len(trace.policy) else None
                ended.append({
                    "learner": name, "seed": seed, "steps": int(trace.t[-1]), "stopped": trace.stopped,
                    "gap": trace.gap, "true_gap": true, "regret": float(trace.regret[-1]),
                })  # fmt: skip
                advanced(len(ended), len(seeds) * len(named))
    _tell_saved(save)
    if as_json:
        saved = None if save is None else str(save)
        print_json({"world": world, "horizon": horizon, "until": rule, "runs": ended, "saved": saved})
        return
    rows = []
    for name in named:
        own = [run for run in ended if run["learner"] == name]
        gaps = [run["true_gap"] for run in own if run["true_gap"] is not None]
        cells = [np.median([run["steps"] for run in own]), np.mean([run["regret"] for run in own])]
        worst = number(max(gaps)) if gaps else "-"
        stopped = sum(bool(run["stopped"]) for run in own)
        rows.append([name, f"{stopped} of {len(own)}", *(number(float(cell)) for cell in cells), worst])
    headings = ["learner", "stopped#", "median steps#", "mean regret#", "largest true gap#"]
    print_table(headings, rows, title=f"{mdp.name or world}, until {rule}, at most {horizon} steps")


def prepare(
    learners: Annotated[
        str, typer.Argument(metavar="LEARNERS", help="By commas; or all.", autocompletion=complete_learners)
    ] = USUAL,
    cpu: Annotated[
        str | None,
        typer.Option(
            help="With --into, the least capable processor: generic, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4.",
            show_default="this one",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="A folder for a wheel or an image. [default: the cache of this machine]", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile inner loops now, of learners and of learning from logs, so that nobody waits for them later."""
    from equirl.lab.studies.rehearsals import LEARNING, playing, said_while_preparing
    from equirl.learners import AGENTS, make_settings
    from equirl.numerics.preparing import shipped_to

    names = list(AGENTS) if learners == "all" else [name.strip() for name in learners.split(",")]
    for name in names:
        make_settings(name)  # which says what is wrong with it
    tasks = [playing(names), LEARNING]
    if into is None:
        if cpu is not None:
            raise ValueError(f"--cpu {cpu} is for a folder that other machines read: name it with --into")
        n_compiled, folder = sum(map(said_while_preparing, tasks)), None
        said = f"{n_compiled} inner loops compiled"
    else:
        folder = shipped_to(into, cpu, tasks)
        n_compiled = len(list(folder.glob("*.nbc")))
        said = f"{n_compiled} inner loops in {folder}; EQUIRL_KERNELS={into} has them found"
    if as_json:
        print_json({"folder": None if folder is None else str(folder), "inner_loops": n_compiled})
    else:
        say(said)
