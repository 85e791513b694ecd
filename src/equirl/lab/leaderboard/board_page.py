"""The leaderboard's page: its figures, what it says besides the standings, and one HTML file that needs nothing else.

Tables are written as CSV too, and one as Markdown; rows of text are also for whoever shows the study.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from html import escape
from itertools import groupby
from pathlib import Path

import numpy as np

from equirl.files.whole_files import write_aside, write_csv
from equirl.lab.leaderboard.base_comparison import (
    COMPARISON_FIELDS,
    base_sections,
    compare_with_bases,
    comparison_row,
)
from equirl.lab.leaderboard.expectations import Advice, Expectation, advise, check_expectations, lock_ins, overall
from equirl.lab.leaderboard.leaderboard_study import GIVEN, NOTHING, SUITES
from equirl.lab.leaderboard.published_suite import published_section
from equirl.lab.leaderboard.standings import Board, Standing
from equirl.lab.paper.html_parts import (
    ReportTable,
    Row,
    Section,
    image,
    numbers_table,
    page,
    provisional_banner,
    repeat_section,
    verdict,
    versions,
    work_done,
)
from equirl.lab.plots.canvas import save_for_page
from equirl.lab.plots.curve_figures import Bound, plot_curves
from equirl.structure import Partition, equivalence_classes
from equirl.theory import regret_lower_bound
from equirl.words.formatting import counted, mean_with_interval, number

COLUMNS = (
    "name", "world", "n_states", "n_pairs", "n_laws", "n_classes", "chain", "gain", "horizon",
    "given", "rank", "learner", "runs", "mean", "ci95_low", "ci95_high", "relative", "locked_in",
)  # fmt: skip
ENOUGH_RUNS = 20
ADVICE_COLUMNS = ("when", "take", "geometric mean", "worst world", "runner-up", "worlds", "locked in")
EXPECTATION_COLUMNS = ("world", "expected", "measured", "verdict")
ABOUT_ADVICE = (
    "For each situation the learner with the least regret relative to the best learner given nothing (geometric mean "
    "over the worlds in question), its worst world, and the runner-up. A value of 1 is as good as the best learner "
    "given nothing in every world. The figures come from the runs below, so they describe these worlds; where "
    "intervals overlap, so do the choices."
)
ABOUT_MATRIX = (
    "Mean regret at T divided by that of the best learner given nothing, which is 1 and bold. Green is less regret, "
    "red more; grey is undecided: the 95 % interval of the difference holds 0. A dagger "
    "marks runs that locked in (regret in the last quarter above half of g* T / 4). A dash is a world in which a "
    "learner does not play, or in which the best mean is not above 0. Learners stand by their geometric mean over all "
    "worlds, in which a mean counts as at least 1 and at least half the interval of the best one."
)
ABOUT_EXPECTATIONS = (
    "In a structured world (classes of transition probabilities fewer than a third of the pairs) the best learner "
    "given nothing should look for classes and have less than half the regret of the best one that treats every pair "
    "on its own. In a world without structure, looking for classes should cost nothing: at most 1.05 times the regret "
    "of the same learner without it; that fails when the whole 95 % interval of the ratio lies above. In brackets: "
    "Fieller’s 95 % interval of the ratio of means. Worlds with a little structure are under neither rule."
)
REPEAT_EXCEPTION = ", except the seconds, which are those of the machine that computed the run"
NO_FAILURES = "None: every expectation stands or is open, and no run locked in."


def write_page(
    boards: Sequence[Board],
    figures: Mapping[str, Path],
    out: Path,
    command: str,
    failed: Mapping[str, int],
    suite: str = "leaderboard",
) -> Path:
    """Write the page of a suite, such as ``leaderboard.html``, its tables as CSV and the standings as Markdown."""
    expectations, advice = check_expectations(boards), advise(boards)
    sections = [
        *((part.name, part.title, part.html()) for part in overview(boards, expectations, advice, failed)),
        ("worlds", "World by world", "".join(_world_section(board, figures) for board in boards)),
        repeat_section(command, REPEAT_EXCEPTION, f" and <code>{suite}.md</code>"),
    ]
    _write_tables(boards, expectations, advice, out)
    write_aside(out / f"{suite}.md", markdown(boards).encode())
    facts, about = facts_line(boards, expectations), SUITES[suite]
    return write_aside(out / f"{suite}.html", page(about.title, about.lead, facts, provisional(boards), sections))


def overview(
    boards: Sequence[Board], expectations: Sequence[Expectation], advice: Sequence[Advice], failed: Mapping[str, int]
) -> list[Section]:
    """What the page says of all worlds together."""
    kept: list[Row] = [[*cells[:-1], verdict(cells[-1])] for cells in map(expectation_cells, expectations)]
    items = failures(boards, expectations, failed)
    return [
        *published_section(boards),
        Section("when", "Which learner to take when", ABOUT_ADVICE,
                ReportTable(ADVICE_COLUMNS, [advice_cells(item) for item in advice], [2, 3, 5])),
        Section("matrix", "Regret relative to the best learner given nothing", ABOUT_MATRIX, _matrix(boards)),
        *base_sections(compare_with_bases(boards)),
        Section("expected", "What equivalence should bring, world by world", ABOUT_EXPECTATIONS,
                ReportTable(EXPECTATION_COLUMNS, kept)),
        Section("failures", "Failures", "" if items else NO_FAILURES, items=items),
    ]  # fmt: skip


def _matrix(boards: Sequence[Board]) -> ReportTable:
    learners = learners_by_merit(boards)
    rows: list[Row] = []
    for board in boards:
        own = [board.find(name) for _, name in learners]
        rows.append([{"text": board.name, "part": board.name}, *map(_matrix_cell, own)])
    table = numbers_table(["", *(name for _, name in learners)], rows)
    return table._replace(given=[given for given, _ in learners])


def _matrix_cell(row: Standing | None) -> dict[str, object]:
    undecided = row is not None and row.undecided
    text, back = relative_text(row), "" if undecided else shade(row)
    return {"text": text, "back": back, "best": is_best(row), "undecided": undecided}


def _world_section(board: Board, figures: Mapping[str, Path]) -> str:
    mdp = board.mdp
    text = (
        f"{board.world}: {counted(mdp.n_states, 'state')}, {counted(mdp.n_pairs, 'pair')}, "
        f"{counted(board.n_laws, 'class', 'classes')} of transition probabilities ({board.n_classes:,} with rewards): "
        f"{board.structure}; {board.kind}. T = {board.horizon:,}, g* = {number(board.gain)}"
    )
    scale, shift = mdp.reward_map
    text += "." if (scale, shift) == (1.0, 0.0) else f" ({number(scale * board.gain + shift)} in its own units)."
    rows: list[Row] = []
    for given, own in groupby(board.standings, key=lambda row: row.given):
        rows += [{"heading": given}, *map(_cells, own)]
    header = ["learner", "rank", "regret at T", "95 % interval", "relative", "locked in", "s per million steps", "runs"]
    captions = {
        "nothing": "Learners given nothing.",
        "given": "Learners given classes, and the best one given nothing.",
    }
    left, right = (image(figures, f"{board.name}-{which}", words) for which, words in captions.items())
    return (
        f'<h3 id="{board.name}">{escape(board.name)}</h3><p>{escape(text)}</p>{numbers_table(header, rows).html()}'
        f'<div class="pair">{left}{right}</div>'
    )


def _cells(row: Standing) -> list[str]:
    mean, half, runs = row.mean, row.half_width, row.group.n_runs
    interval = f"{number(mean - half)} to {number(mean + half)}" if math.isfinite(half) else ""
    relative = number(row.relative, 2) if math.isfinite(row.relative) else "–"
    seconds = number(row.seconds_per_million, 2) if math.isfinite(row.seconds_per_million) else ""
    share = f"{100 * row.n_locked_in / runs:.0f} %"
    return [row.learner, str(row.rank), number(mean), interval, relative, share, seconds, str(runs)]


def _write_tables(
    boards: Sequence[Board], expectations: Sequence[Expectation], advice: Sequence[Advice], out: Path
) -> None:
    folder = out / "tables"
    write_csv(folder / "standings.csv", COLUMNS, (_standing_row(board, row) for board, row in all_standings(boards)))
    for name, kind, items in (("expectations", Expectation, expectations), ("advice", Advice, advice)):
        write_csv(folder / f"{name}.csv", [field.name for field in fields(kind)], map(astuple, items))  # type: ignore[arg-type]
    write_csv(folder / "bases.csv", COMPARISON_FIELDS, map(comparison_row, compare_with_bases(boards)))


def _standing_row(board: Board, row: Standing) -> tuple[object, ...]:
    mdp, mean, half = board.mdp, row.mean, row.half_width
    world = (board.name, board.world, mdp.n_states, mdp.n_pairs, board.n_laws, board.n_classes, board.kind)
    place = (board.gain, board.horizon, row.given, row.rank, row.learner, row.group.n_runs)
    return (*world, *place, mean, mean - half, mean + half, row.relative, row.n_locked_in / row.group.n_runs)


def markdown(boards: Sequence[Board]) -> str:
    """The regret of every learner in every world as a table in Markdown; the best given nothing in bold."""
    learners = learners_by_merit(boards)
    lines = [
        "Mean regret at T, ± half its 95 % interval. Bold: the best learner given nothing; †: some runs locked in.",
        "",
        f"| world | T | {' | '.join(f'`{name}`' for _, name in learners)} |",
        f"|---|---:|{'---:|' * len(learners)}",
        f"| | | {' | '.join(given for given, _ in learners)} |",
    ]
    for board in boards:
        cells = [_markdown_cell(board.find(name)) for _, name in learners]
        lines.append(f"| {board.name} | {board.horizon:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _markdown_cell(row: Standing | None) -> str:
    if row is None:
        return "–"
    text = mean_with_interval(row.mean, row.half_width) + ("†" if row.n_locked_in else "")
    return f"**{text}**" if row.rank == 1 and row.given == GIVEN[0] else text


def all_standings(boards: Sequence[Board]) -> Iterator[tuple[Board, Standing]]:
    return ((board, row) for board in boards for row in board.standings)


def facts_line(boards: Sequence[Board], expectations: Sequence[Expectation]) -> str:
    """What the page rests on, and how many expectations hold."""
    groups = [row.group for _, row in all_standings(boards)]
    kinds = ("holds", "undecided", "fails")
    good, open_, bad = (sum(item.verdict == kind for item in expectations) for kind in kinds)
    learners = len({group.learner for group in groups})
    return (
        f"{counted(len(boards), 'world')}, {counted(learners, 'learner')}, {work_done(groups)}. "
        f"Expectations that hold: {good} of {len(expectations)}; undecided: {open_}; failed: {bad}. "
        f"Computed with {versions()}."
    )


def provisional(boards: Sequence[Board]) -> str:
    """What a reader must know first where runs are few; else nothing."""
    otherwise = f"With fewer than {ENOUGH_RUNS}, ranks and verdicts may change by chance alone."
    return provisional_banner((row.group for _, row in all_standings(boards)), ENOUGH_RUNS, otherwise)


def advice_cells(item: Advice) -> list[str]:
    """A row in the columns of ``ADVICE_COLUMNS``."""
    scores = [number(item.relative, 2), number(item.worst, 2)]
    return [item.when, item.take, *scores, item.runner_up, str(item.n_worlds), item.beware or "never"]


def expectation_cells(item: Expectation) -> list[str]:
    """A row in the columns of ``EXPECTATION_COLUMNS``."""
    return [item.world, item.statement, item.measured, item.verdict]


def learners_by_merit(boards: Sequence[Board]) -> list[tuple[str, str]]:
    """(given, learner) by what is given, the best overall first; those that missed a world last."""
    found = []
    for given in GIVEN:
        own = dict.fromkeys(row.learner for _, row in all_standings(boards) if row.given == given)
        found += [(given, name) for name in dict.fromkeys([*overall(boards, given), *own])]
    return found


def relative_text(row: Standing | None) -> str:
    """The relative regret of a learner in a world, with a dagger where runs locked in."""
    if row is None or not math.isfinite(row.relative):
        return "–"
    return number(row.relative, 2) + ("†" if row.n_locked_in else "")


def is_best(row: Standing | None) -> bool:
    """Whether the others of its world are compared with it."""
    return row is not None and row.given == NOTHING and row.rank == 1


def shade(row: Standing | None) -> str:
    """The colour behind a relative regret: green below 1, red above, deepest at a factor of 30; none for a dash."""
    return _shade(row.relative) if row is not None and math.isfinite(row.relative) else ""


def _shade(relative: float) -> str:
    """
    >>> _shade(1.0), _shade(30.0)
    ('rgba(27,110,60,0.00)', 'rgba(163,50,26,0.45)')
    """
    depth = math.log(max(relative, 1e-3)) / math.log(30)
    red, green, blue = (163, 50, 26) if depth > 0 else (27, 110, 60)
    return f"rgba({red},{green},{blue},{0.45 * min(abs(depth), 1.0):.2f})"


def failures(boards: Sequence[Board], expectations: Sequence[Expectation], failed: Mapping[str, int]) -> list[str]:
    """What went wrong, in words: expectations that fail, runs that locked in or raised, plans that were cut short."""
    items = [
        f"{item.world}: {item.statement}: fails. {item.measured}." for item in expectations if item.verdict == "fails"
    ]
    items += lock_ins(boards)
    items += [f"{counted(n, 'run')} raised an error: {what}." for what, n in failed.items()]
    items += [
        f"{row.learner} in {board.name}: {counted(n, 'plan')} stopped at the cap on sweeps."
        for board, row in all_standings(boards)
        if (n := int(row.group.facts["n_unconverged"].sum()))
    ]
    return items


def draw_boards(boards: Sequence[Board], folder: Path, *, with_bounds: bool = False) -> dict[str, Path]:
    """Two figures a world: learners given nothing; those given something, beside the best given nothing."""
    shown: dict[str, Path] = {}
    for board in boards:
        nothing = [row.group for row in board.given_nothing()]
        given = [row.group for row in board.standings if row.given != NOTHING]
        ergodic = with_bounds and board.kind == "ergodic"
        if nothing:
            bounds = _bound(board) if ergodic else None
            figure = plot_curves(nothing, title=f"{board.name}: given nothing", log=True, bounds=bounds)
            shown[f"{board.name}-nothing"] = save_for_page(figure, folder / f"{board.name}-nothing")
        if given:
            bounds = _bound(board, equivalence_classes(board.mdp)) if ergodic else None
            figure = plot_curves([*nothing[:1], *given], title=f"{board.name}: given classes", log=True, bounds=bounds)
            shown[f"{board.name}-given"] = save_for_page(figure, folder / f"{board.name}-given")
    return shown


def _bound(board: Board, classes: Partition | None = None) -> dict[str, Bound]:
    """The lower bound as a named curve; none where it is 0."""
    c = regret_lower_bound(board.mdp, classes)
    given = ", classes and profiles given" if classes is not None else ""
    return {f"{c:.3g} log T, asymptotic lower bound{given}": lambda t: c * np.log(np.maximum(t, 2))} if c > 0 else {}
