"""Commands about known problems: ``worlds``, ``classes``, ``solve``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equirl.lab.cli.console import AsJson, check_files, console, print_facts, print_json, print_some, print_table, say
from equirl.lab.cli.log_commands import Column, log_facts, named_columns, print_limitations
from equirl.lab.cli.shell_completion import complete_problem, complete_world
from equirl.words.formatting import counted, number
from equirl.words.tables import Table

if TYPE_CHECKING:
    import numpy as np

    from equirl.logs.log_classes import LogClasses
    from equirl.model import Pairs, TabularMDP
    from equirl.structure import Partition
    from equirl.worlds import World

WorldText = Annotated[
    str,
    typer.Argument(
        metavar="WORLD",
        help="A world, such as four-room:height=17,width=17, or a saved MDP (.npz).",
        show_default=False,
        autocompletion=complete_world,
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it: .png, .pdf or .svg.")]
MOST_CLASSES = 20  # listed
MOST_STATES = 20  # listed with their values
DIGITS = 6  # significant ones
CLASS_LEGEND = (
    "apart: how far pairs look from their class, in standard errors; "
    "could see: the least difference of a probability that visits could have shown"
)
DIAMETER_STATES = 500  # the diameter of more states takes long and must be asked for


def worlds(as_json: AsJson = False) -> None:
    """List the worlds, their parameters and defaults."""
    from equirl.worlds import COLOSSEUM, COMMON, WORLDS, ZOO

    if as_json:
        every = {**WORLDS, **ZOO, **COLOSSEUM}
        print_json({name: {"description": w.description, "params": w.params} for name, w in every.items()})
        return
    titles = ("The zoo: problems of the kinds that people bring", "Colosseum: the families of a benchmark")
    for title, listed in zip((None, *titles), (WORLDS, ZOO, COLOSSEUM), strict=True):
        print_table(["world", "what it is", "parameters"], _world_rows(listed), title=title)
    common = ", ".join(f"{key}={_default(value)}" for key, value in COMMON.items())
    console().print(f"Every world also takes {common}. Example: equirl classes four-room:height=17,width=17")


def _world_rows(worlds: Mapping[str, World]) -> list[list[str]]:
    from equirl.worlds import COMMON

    rows = []
    for name, world in worlds.items():
        own = {key: value for key, value in world.params.items() if key not in COMMON or value != COMMON[key]}
        settings = ", ".join(f"{key}={_default(value)}" for key, value in own.items())
        presets = f"; presets: {', '.join(world.presets)}" if world.presets else ""
        rows.append([name, world.description, settings + presets])
    return rows


def classes(
    world: Annotated[
        str,
        typer.Argument(
            metavar="WORLD",
            help="A world, such as four-room:height=17,width=17, a saved MDP (.npz), or a log (.csv, .parquet).",
            show_default=False,
            autocompletion=complete_problem,
        ),
    ],
    plot: Plot = None,
    laws_only: Annotated[
        bool, typer.Option("--laws-only", help="Compare transition probabilities, not mean rewards.")
    ] = False,
    tolerance: Annotated[float, typer.Option(help="Distances up to this count as equal.")] = 1e-9,
    column: Column = None,
    as_json: AsJson = False,
) -> None:
    """Which pairs behave alike: the classes of a known problem, or of a log (.csv, .parquet) and how surely."""
    from equirl.logs.log_files import is_log_file
    from equirl.structure import equivalence_classes, separation
    from equirl.worlds import load_world

    check_files(plot)
    if is_log_file(world):
        found = _show_log_classes(world, column, as_json)
        if plot is not None:
            _save_classes(found.log.mdp(Path(world).stem), found.partition, plot)
        return
    mdp = load_world(world)
    part = equivalence_classes(mdp, rewards=not laws_only, tolerance=tolerance)
    apart, mean_gap = separation(mdp, tolerance=tolerance)
    if as_json:
        print_json({
            **_sizes(mdp, world), "n_classes": part.n_classes, "sizes": part.sizes.tolist(), "separation": apart,
            "mean_gap": mean_gap, "unit_mean_gap": mean_gap / mdp.reward_map[0], "label": part.label.tolist(),
            "table": part.table(mdp).rows(),
        })  # fmt: skip
    else:
        print_facts(mdp.name or world, {
            **pair_facts(mdp.pairs),
            "C, classes": f"{part.n_classes}{' (by transition probabilities alone)' if laws_only else ''}",
            "separation of profiles": number(apart, DIGITS),
            "gap between means": number(mean_gap, DIGITS),
        })  # fmt: skip
        _print_classes(mdp, part)
    if plot is not None:
        _save_classes(mdp, part, plot)


def _save_classes(mdp: TabularMDP, part: Partition, plot: Path) -> None:
    from equirl.lab.plots import draw_classes

    _save(draw_classes(mdp, part), plot)


def _show_log_classes(path: str, column: list[str] | None, as_json: bool) -> LogClasses:
    """Print which pairs of a log look alike; the classes."""
    from equirl.logs.log import from_log

    found = from_log(path, columns=named_columns(column)).classes()
    if as_json:
        print_json({
            "log": path, "n_steps": found.log.n_steps, "n_classes": found.n_classes,
            "classes": found.class_table().rows(), "pairs": found.table().rows(),
            "limitations": found.log.limitations(),
        })  # fmt: skip
        return found
    print_facts(path, {**log_facts(found.log), "classes": f"{found.n_classes}, by transition probabilities"})
    print_some(_narrow(found.class_table()), "Classes, the most visited first", "--json has all, and every pair")
    console().print(CLASS_LEGEND, soft_wrap=True)
    print_limitations(found.log)
    return found


def _narrow(classes: Table) -> Table:
    """The classes of a log on a screen: without their numbers, mean rewards in one column."""
    columns = {name: values for name, values in classes.columns.items() if name not in ("class", "reward_to")}
    spans = zip(columns.pop("reward_from"), classes["reward_to"], strict=True)
    columns["rewards"] = [number(low) + (f" to {number(high)}" if high > low else "") for low, high in spans]
    return Table(columns)


def solve(
    world: WorldText,
    plot: Plot = None,
    discount: Annotated[
        float | None,
        typer.Option(help="In [0, 1): discounted values in place of the gain.", show_default=False),
    ] = None,
    accuracy: Annotated[float, typer.Option(help="Accuracy of the gain or the values, with rewards in [0, 1].")] = 1e-8,
    diameter: Annotated[
        bool | None,
        typer.Option(help=f"The diameter too. [default: up to {DIAMETER_STATES} states]", show_default=False),
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="What is optimal on the way there; may be repeated.", show_default=False),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="With a goal: reach (a probability), cost, reward or steps until then.")
    ] = "reach",
    maximise: Annotated[
        bool | None,
        typer.Option("--maximise/--minimise", help="With a goal. [default: as one would]", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The optimal gain and policy of a known problem, its span, its diameter and the kind of its chain.

    With a discount or a goal its optimal values and policy, in the units of its rewards.
    """
    from equirl.worlds import load_world

    check_files(plot)
    mdp = load_world(world)
    if diameter and (discount is not None or goal):
        raise ValueError("--diameter is for average reward; leave it out with --discount and --goal")
    if goal:
        if discount is not None:
            raise ValueError("--discount is not for problems with a goal; leave one out")
        policy = _show_way(mdp, world, goal, (objective, maximise, accuracy), as_json)
    elif objective != "reach" or maximise is not None:
        raise ValueError("--objective, --maximise and --minimise are for problems with a goal; give --goal too")
    elif discount is None:
        policy = _show_gain(mdp, world, accuracy, diameter, as_json)
    else:
        policy = _show_values(mdp, world, discount, accuracy, as_json)
    if plot is not None:
        from equirl.lab.plots import draw_policy

        _save(draw_policy(mdp, policy), plot)


def _show_gain(mdp: TabularMDP, world: str, accuracy: float, diameter: bool | None, as_json: bool) -> np.ndarray:
    """Print what is optimal on average; the policy."""
    from equirl.solving import solve as find_optimum

    best = find_optimum(mdp, accuracy=accuracy)
    asked = mdp.n_states <= DIAMETER_STATES if diameter is None else diameter
    longest, why_not = _longest(mdp) if asked else (None, "not computed; ask with --diameter")
    if as_json:
        print_json({
            **_sizes(mdp, world), "kind": best.kind,
            "gain": best.gain, "accuracy": best.accuracy, "converged": best.converged,
            "span": best.span, "diameter": longest, "policy": best.policy.tolist(), "unit_gain": best.unit_gain,
            "reward_map": list(mdp.reward_map), "table": best.table().rows(),
        })  # fmt: skip
    else:
        own = mdp.discount
        mapped = {} if mdp.reward_map == (1.0, 0.0) else {"with rewards in [0, 1]": f"gain {best.unit_gain:.10g}"}
        own_discount = {} if own is None else {"discount of its own": f"{own:g}, used with --discount {own:g}"}
        print_facts(mdp.name or world, {
            **pair_facts(mdp.pairs),
            "kind": best.kind,
            "gain": f"{best.gain:.10g}  (within {best.accuracy:.1e})",
            **mapped,
            "span of the bias": number(best.span, DIGITS),
            "diameter": why_not if longest is None else number(longest, DIGITS),
            **own_discount,
        })  # fmt: skip
        _end_with_policy(mdp, best.policy, accuracy, best.converged)
    return best.policy


def _show_values(mdp: TabularMDP, world: str, discount: float, accuracy: float, as_json: bool) -> np.ndarray:
    """Print what is optimal with a discount, in the units that rewards had; the policy."""
    from equirl.solving import solve_discounted

    best = solve_discounted(mdp, discount, accuracy)
    value, within, start = best.value, best.accuracy, best.value_from_start
    if as_json:
        print_json({
            **_sizes(mdp, world), "discount": discount, "value_from_start": start, "accuracy": within,
            "converged": best.converged, "value": value.tolist(), "policy": best.policy.tolist(),
            "reward_map": list(mdp.reward_map), "table": best.table().rows(),
        })  # fmt: skip
    else:
        print_facts(mdp.name or world, {
            **pair_facts(mdp.pairs),
            "discount": f"{discount:g}",
            "value from the start": f"{start:.10g}  (within {within:.1e})",
            "values": f"{value.min():.10g} to {value.max():.10g}",
        })  # fmt: skip
        _print_values(mdp, value)
        _end_with_policy(mdp, best.policy, accuracy, best.converged)
    return best.policy


def _show_way(
    mdp: TabularMDP, world: str, goal: list[str], asked: tuple[str, bool | None, float], as_json: bool
) -> np.ndarray:
    """Print what is optimal on the way to a goal, in the units of the problem; the policy."""
    from equirl.solving import solve as find_optimum

    objective, maximise, accuracy = asked
    best = find_optimum(mdp, accuracy, goal=_states_named(mdp, goal), objective=objective, maximise=maximise)
    if as_json:
        print_json({
            **_sizes(mdp, world), "goal": goal, "objective": objective, "maximise": best.maximise,
            "value_from_start": best.value_from_start, "accuracy": best.accuracy, "converged": best.converged,
            "value": best.value.tolist(), "policy": best.policy.tolist(), "table": best.table().rows(),
        })  # fmt: skip
    else:
        which = "largest" if best.maximise else "least"
        what = {"reach": "probability of reaching it"}.get(objective, f"{objective} until then")
        print_facts(mdp.name or world, {
            **pair_facts(mdp.pairs),
            "goal": ", ".join(goal),
            f"{which} {what}": f"{best.value_from_start:.10g}  (within {best.accuracy:.1e})",
        })  # fmt: skip
        _print_values(mdp, best.value)
        _end_with_policy(mdp, best.policy, accuracy, best.converged)
    return best.policy


def _states_named(mdp: TabularMDP, texts: list[str]) -> list[int]:
    """The numbers of states from what a user types: their names, or numbers where they have none."""
    from equirl.words.checking import unknown_name

    numbers = {str(name): s for s, name in enumerate(mdp.pairs.state_names or range(mdp.n_states))}
    for text in texts:
        if text not in numbers:
            raise ValueError(f"--goal: {unknown_name('state', text, numbers)}")
    return [numbers[text] for text in texts]


def _print_values(mdp: TabularMDP, value: np.ndarray) -> None:
    """The first states with their values."""
    names = tuple(map(str, mdp.pairs.state_names or range(mdp.n_states)))
    shown = zip(names[:MOST_STATES], value[:MOST_STATES].tolist(), strict=True)
    print_table(["state", "value#"], [[name, f"{v:.10g}"] for name, v in shown])
    if mdp.n_states > MOST_STATES:
        console().print(f"... and {mdp.n_states - MOST_STATES} more states; --json lists all")


def _end_with_policy(mdp: TabularMDP, policy: np.ndarray, accuracy: float, converged: bool) -> None:
    from equirl.lab.plots.sheets import policy_text

    if not converged:
        say(f"equirl: the accuracy {accuracy:g} was not reached", err=True)
    say(f"\nPolicy:\n{policy_text(mdp, policy)}")


def _longest(mdp: TabularMDP) -> tuple[float | None, str]:
    """The diameter, or why there is none to show."""
    from equirl.solving import IllConditioned, diameter

    try:
        return diameter(mdp, max_states=mdp.n_states), ""
    except IllConditioned as error:
        return None, f"not computed: {error}"


def _sizes(mdp: TabularMDP, world: str) -> dict[str, Any]:
    return {"world": world, "n_states": mdp.n_states, "n_pairs": mdp.n_pairs}


def pair_facts(pairs: Pairs) -> dict[str, str]:
    return {"S, states": str(pairs.n_states), "M, pairs": str(pairs.n_pairs)}


def _default(value: Any) -> str:
    return "a map" if isinstance(value, str) and "#" in value else str(value)


def _print_classes(mdp: TabularMDP, part: Partition) -> None:
    from equirl.structure import summarise_class

    rows = []
    for c in (-part.sizes).argsort(kind="stable")[:MOST_CLASSES]:
        found = summarise_class(mdp, part, int(c))
        example = mdp.pairs.describe(found.first)
        rows.append([str(c), str(found.size), found.profile_text(), found.reward_text(), example])
    print_table(["class#", "pairs#", "profile", "mean reward#", "for example"], rows)
    if part.n_classes > MOST_CLASSES:
        console().print(f"... and {counted(part.n_classes - MOST_CLASSES, 'more class', 'more classes')}, none larger")


def _save(figure: Any, plot: Path) -> None:
    from equirl.lab.plots import save_figure

    say(f"drawn in {save_figure(figure, plot)}", err=True)
