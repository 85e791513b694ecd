"""The leaderboard's page: one HTML file that needs nothing else; its tables as CSV, and one as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from html import escape
from pathlib import Path

from equirl.files.whole_files import write_aside, write_csv
from equirl.lab.leaderboard.board_tables import (
    ABOUT_ADVICE,
    ABOUT_EXPECTATIONS,
    ABOUT_MATRIX,
    ADVICE_COLUMNS,
    EXPECTATION_COLUMNS,
    NO_FAILURES,
    advice_cells,
    all_standings,
    expectation_cells,
    facts_line,
    failures,
    is_best,
    learners_by_merit,
    provisional,
    relative_text,
    shade,
)
from equirl.lab.leaderboard.entrants import GIVEN
from equirl.lab.leaderboard.expectations import Advice, Expectation, advise, check_expectations
from equirl.lab.leaderboard.standings import Board, Standing
from equirl.lab.paper.html_parts import image, page, repeat_section, table
from equirl.words.formatting import counted, mean_with_interval, number

TITLE = "Leaderboard: which learner, in which world"
LEAD = (
    "Every learner in every world, each run with states and actions renumbered at random. Regret is T g* less the "
    "rewards received, at the horizon T: the lower, the better."
)
COLUMNS = (
    "name", "world", "n_states", "n_pairs", "n_laws", "n_classes", "chain", "gain", "horizon",
    "given", "rank", "learner", "runs", "mean", "ci95_low", "ci95_high", "relative", "locked_in",
)  # fmt: skip


def write_page(
    boards: Sequence[Board], figures: Mapping[str, Path], out: Path, command: str, failed: Mapping[str, int]
) -> Path:
    """Write the page, ``leaderboard.html``, its tables as CSV and the standings as Markdown."""
    expectations, advice = check_expectations(boards), advise(boards)
    sections = [
        ("when", "Which learner to take when", _advice_section(advice)),
        ("matrix", "Regret relative to the best learner given nothing", _matrix_section(boards)),
        ("expected", "What equivalence should bring, world by world", _expectations_section(expectations)),
        ("failures", "Failures", _failures_section(boards, expectations, failed)),
        ("worlds", "World by world", "".join(_world_section(board, figures) for board in boards)),
        ("again", "How to reproduce this", _again_section(command)),
    ]
    _write_tables(boards, expectations, advice, out)
    facts = facts_line(boards, expectations)
    return write_aside(out / "leaderboard.html", page(TITLE, LEAD, facts, provisional(boards), sections))


def _advice_section(advice: Sequence[Advice]) -> str:
    return f"<p>{escape(ABOUT_ADVICE)}</p>" + table(ADVICE_COLUMNS, map(advice_cells, advice))


def _matrix_section(boards: Sequence[Board]) -> str:
    learners = learners_by_merit(boards)
    firsts = {next(k for k, (given, _) in enumerate(learners) if given == kind) for kind, _ in learners}
    groups = "".join(
        f'<th class="given edge" colspan="{sum(kind == given for kind, _ in learners)}">{escape(given)}</th>'
        for given in GIVEN
        if any(kind == given for kind, _ in learners)
    )
    names = "".join(
        f'<th class="tall{" edge" if k in firsts else ""}">{escape(name)}</th>' for k, (_, name) in enumerate(learners)
    )
    body = ""
    for board in boards:
        cells = "".join(_matrix_cell(board.find(name), k in firsts) for k, (_, name) in enumerate(learners))
        body += f'<tr><td><a href="#{board.name}">{escape(board.name)}</a></td>{cells}</tr>'
    head = f"<tr><th></th>{groups}</tr><tr><th></th>{names}</tr>"
    text = f"<p>{escape(ABOUT_MATRIX)}</p>"
    return f'{text}<div class="scroll"><table class="matrix"><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _matrix_cell(row: Standing | None, edge: bool) -> str:
    look = f"num{' edge' if edge else ''}{' best' if is_best(row) else ''}"
    colour = shade(row)
    style = f' style="background:{colour}"' if colour else ""
    return f'<td class="{look}"{style}>{relative_text(row)}</td>'


def _expectations_section(expectations: Sequence[Expectation]) -> str:
    rows = map(expectation_cells, expectations)
    return f"<p>{escape(ABOUT_EXPECTATIONS)}</p>" + _wide_table(EXPECTATION_COLUMNS, rows)


def _wide_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text whose last column holds verdicts."""
    html = table(header, rows, verdicts=True)
    return html.replace(' class="num"', "")


def _failures_section(boards: Sequence[Board], expectations: Sequence[Expectation], failed: Mapping[str, int]) -> str:
    items = failures(boards, expectations, failed)
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{listed}</ul>" if items else f"<p>{NO_FAILURES}</p>"


def _world_section(board: Board, figures: Mapping[str, Path]) -> str:
    mdp = board.mdp
    text = (
        f"{board.world}: {counted(mdp.n_states, 'state')}, {counted(mdp.n_pairs, 'pair')}, "
        f"{counted(board.n_laws, 'class', 'classes')} of transition probabilities ({board.n_classes:,} with rewards): "
        f"{board.structure}; {board.kind}. T = {board.horizon:,}, g* = {number(board.gain)}"
    )
    scale, shift = mdp.reward_map
    text += "." if (scale, shift) == (1.0, 0.0) else f" ({number(scale * board.gain + shift)} in its own units)."
    rows: list[Sequence[str] | str] = []
    for given in GIVEN:
        own = [row for row in board.standings if row.given == given]
        rows += [given, *map(_cells, own)] if own else []
    header = ["learner", "rank", "regret at T", "95 % interval", "relative", "locked in", "s per million steps", "runs"]
    captions = {
        "nothing": "Learners given nothing.",
        "given": "Learners given classes, and the best one given nothing.",
    }
    left, right = (image(figures, f"{board.name}-{which}", words) for which, words in captions.items())
    return (
        f'<h3 id="{board.name}">{escape(board.name)}</h3><p>{escape(text)}</p>{table(header, rows)}'
        f'<div class="pair">{left}{right}</div>'
    )


def _cells(row: Standing) -> list[str]:
    mean, half, runs = row.mean, row.half_width, row.group.n_runs
    interval = f"{number(mean - half)} to {number(mean + half)}" if math.isfinite(half) else ""
    relative = number(row.relative, 2) if math.isfinite(row.relative) else "–"
    seconds = number(row.seconds_per_million, 2) if math.isfinite(row.seconds_per_million) else ""
    share = f"{100 * row.n_locked_in / runs:.0f} %"
    return [row.learner, str(row.rank), number(mean), interval, relative, share, seconds, str(runs)]


def _again_section(command: str) -> str:
    exception = ", except the seconds, which are those of the machine that computed the run"
    return repeat_section(command, exception, " and <code>leaderboard.md</code>")


def _write_tables(
    boards: Sequence[Board], expectations: Sequence[Expectation], advice: Sequence[Advice], out: Path
) -> None:
    folder = out / "tables"
    write_csv(folder / "standings.csv", COLUMNS, (_standing_row(board, row) for board, row in all_standings(boards)))
    for name, kind, items in (("expectations", Expectation, expectations), ("advice", Advice, advice)):
        write_csv(folder / f"{name}.csv", [field.name for field in fields(kind)], map(astuple, items))  # type: ignore[arg-type]
    write_aside(out / "leaderboard.md", markdown(boards).encode())


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
