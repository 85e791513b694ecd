"""What the leaderboard says besides its standings, as rows of text: for its page, and for whoever shows the study."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from equirl.lab.leaderboard.entrants import GIVEN
from equirl.lab.leaderboard.expectations import Advice, Expectation, lock_ins, overall
from equirl.lab.leaderboard.standings import Board, Standing
from equirl.lab.paper.html_parts import versions, work_done
from equirl.words.formatting import counted, number

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
    "red more; a dagger marks runs that locked in (regret in the last quarter above half of g* T / 4). Received "
    "rewards are noisy, so a mean counts as at least 1 and at least half the interval of the best one. Learners stand "
    "by their geometric mean over all worlds; a dash is a world in which a learner does not play."
)
ABOUT_EXPECTATIONS = (
    "In a structured world (classes of transition probabilities fewer than a third of the pairs) the best learner "
    "given nothing should look for classes and have less than half the regret of the best one that treats every pair "
    "on its own. In a world without structure, looking for classes should cost nothing: at most 1.05 times the regret "
    "of the same learner without it; that fails when the whole 95 % interval of the ratio lies above. In brackets: "
    "Fieller’s 95 % interval of the ratio of means. Worlds with a little structure are under neither rule."
)
NO_FAILURES = "None: every expectation stands or is open, and no run locked in."


def all_standings(boards: Sequence[Board]) -> Iterator[tuple[Board, Standing]]:
    """Every learner of every world, one by one."""
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
    fewest = min((row.group.n_runs for _, row in all_standings(boards)), default=0)
    if fewest >= ENOUGH_RUNS:
        return ""
    return (
        f"Provisional: some results rest on {counted(fewest, 'run')}. With fewer than {ENOUGH_RUNS}, ranks and "
        "verdicts may change by chance alone."
    )


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
    """Whether a learner is the one that the others of its world are compared with."""
    return row is not None and row.relative == 1.0 and row.rank == 1


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
