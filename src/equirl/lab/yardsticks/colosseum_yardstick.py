"""Colosseum's continuous communicating suite: hardness and normalised regret, published and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
from equirl.lab.leaderboard.published_suite import AVERAGES, PUBLISHED, normalised_regret, published_cells
from equirl.lab.leaderboard.standings import boards
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import finished_runs, summarise
from equirl.lab.yardsticks.yardstick import Yardstick
from equirl.solving import diameter
from equirl.words.formatting import mean_with_interval, number
from equirl.words.tables import Table
from equirl.worlds import load_world

LEARNERS = ("c-psrl", "psrl")
LEAST, ENOUGH = 0.005, 0.05  # what two published decimals can show; the average aimed at


def colosseum_tables(table: Table) -> str:
    """Hardness and regret, published and ours, and what came of it."""
    rows = table.rows()
    hardness = Table(
        {
            "world": [row["world"] for row in rows],
            "states": [row["n_states"] for row in rows],
            "diameter, published": [PUBLISHED[row["world"]].diameter for row in rows],
            "diameter, ours": [row["diameter"] for row in rows],
        }
    )
    cells = [published_cells(row["world"]) for row in rows]
    ours = {name: [_share(row, name) for row in rows] for name in LEARNERS}
    averages = [f"{value:.2f}" for value in AVERAGES.values()]
    means = [_average(rows, name) for name in LEARNERS]
    regret = Table(
        {
            "world": [*(row["world"] for row in rows), "*average*"],
            **{f"{name}, published": [*(own[k] for own in cells), averages[k]] for k, name in enumerate(AVERAGES)},
            **{f"`{name}`": [*ours[name], mean] for name, mean in zip(LEARNERS, means, strict=True)},
            "runs": [*(f"{row['c-psrl runs']} + {row['psrl runs']}" for row in rows), ""],
        }
    )
    lost = [row for row in rows if row["c-psrl"] is not None and row["c-psrl"] > PUBLISHED[row["world"]].best + LEAST]
    return "\n\n".join([hardness.to_markdown(), regret.to_markdown(), _verdict(rows, lost)])


def _share(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return "-"
    return mean_with_interval(row[name], float("nan") if row[f"{name} half"] is None else row[f"{name} half"])


def _average(rows: list[dict[str, Any]], name: str) -> str:
    known = [row[name] for row in rows if row[name] is not None]
    if not known:
        return "-"
    return number(sum(known) / len(known)) + ("" if len(known) == len(rows) else f" (of {len(known)})")


def _verdict(rows: list[dict[str, Any]], lost: list[dict[str, Any]]) -> str:
    known = [row["c-psrl"] for row in rows if row["c-psrl"] is not None]
    if not known:
        return "The suite has not been played yet."
    mean = sum(known) / len(known)
    words = f"The average of `c-psrl` is {number(mean)}, {'at most' if mean <= ENOUGH else 'above'} {ENOUGH}."
    if lost:
        pairs = ((row["world"], row["c-psrl"], PUBLISHED[row["world"]].best) for row in lost)
        words += " A published learner has less regret in "
        words += ", ".join(f"`{world}` ({number(ours, 2)}; {best:.2f})" for world, ours, best in pairs) + "."
    else:
        words += " No published learner has less regret in any world, beyond what two decimals show."
    ahead = {name: _clearly_ahead(rows, name, other) for name, other in (LEARNERS, LEARNERS[::-1])}
    parts = (f"`{name}` has less than the other in {', '.join(worlds)}" for name, worlds in ahead.items() if worlds)
    between = "; ".join(parts)
    return f"{words} By their intervals {between}." if between else words


def _clearly_ahead(rows: list[dict[str, Any]], name: str, other: str) -> list[str]:
    """The worlds in which the interval of one learner ends below that of the other."""
    complete = [row for row in rows if None not in (row[f"{name} half"], row[f"{other} half"])]
    return [
        f"`{row['world']}`" for row in complete if row[name] + row[f"{name} half"] < row[other] - row[f"{other} half"]
    ]


def measure_suite(folder: Path) -> Table:
    """The table from the runs that ``equirl leaderboard --suite colosseum --out FOLDER`` has finished there."""
    study = leaderboard_study(suite="colosseum", learners=LEARNERS)
    planned = expand(study)
    played = {board.name: board for board in boards(summarise(finished_runs(planned, Store(folder))), planned)}
    rows = []
    for part in study.parts:
        mdp = load_world(str(next(iter(part.worlds or [])).world))
        row: dict[str, float | str | None] = {"world": part.name, "n_states": mdp.n_states, "diameter": diameter(mdp)}
        for name in LEARNERS:
            found = played[part.name].find(name) if part.name in played else None
            mean, half = normalised_regret(played[part.name], found) if found else (None, None)
            runs = found.group.n_runs if found else 0
            row |= {name: mean, f"{name} half": half if runs > 1 else None, f"{name} runs": runs}
        rows.append(row)
    return Table({key: [row[key] for row in rows] for key in rows[0]})


COLOSSEUM_YARDSTICK = Yardstick(colosseum_tables, measure_suite)
