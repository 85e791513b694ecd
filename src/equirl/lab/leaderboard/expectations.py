"""What equivalence should bring, world by world, whether it does, and which learner to take when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equirl.lab.leaderboard.leaderboard_study import BASES, GIVEN, NOTHING
from equirl.lab.leaderboard.standings import Board, Standing, excess, ratio_of_means
from equirl.words.formatting import counted, number

Verdict = Literal["holds", "fails", "undecided", "no data"]
HALF = 0.5  # of the best oblivious learner's regret, in a structured world
SLACK = 1.05  # times the regret of the own base, in a world without structure
LEAST_RELATIVE = 1e-3  # relative regrets below this count as this in geometric means
LARGE = 1000  # pairs


@dataclass(frozen=True)
class Expectation:
    world: str
    statement: str
    measured: str
    verdict: Verdict


def check_expectations(boards: Sequence[Board]) -> list[Expectation]:
    return [expectation for board in boards for expectation in _of_world(board)]


def _of_world(board: Board) -> Iterator[Expectation]:
    if board.structured:
        yield _halved(board)
    elif board.structure_free:
        for learner, base in BASES.items():
            own, plain = board.find(learner), board.find(base)
            if own is not None and plain is not None:
                yield _harmless(board, own, plain)


def _halved(board: Board) -> Expectation:
    """Structured: the best learner given nothing knows of equivalence, with less than half the best other's regret."""
    statement = "the best learner given nothing looks for classes, with less than half the regret of the best other"
    aware, plain = board.given_nothing(oblivious=False), board.given_nothing(oblivious=True)
    if not aware or not plain:
        return Expectation(board.name, statement, "one of the two kinds did not play", "no data")
    more, half = excess(aware[0].regret, plain[0].regret, HALF)
    verdict: Verdict = "holds" if more < -half else "fails" if more > half else "undecided"
    return Expectation(board.name, statement, _words(aware[0], plain[0]), verdict)


def _harmless(board: Board, own: Standing, plain: Standing) -> Expectation:
    """Without structure: at most 1.05 times the regret of its base; it fails when the interval lies above."""
    more, half = excess(own.regret, plain.regret, SLACK)
    verdict: Verdict = "fails" if more > half else "holds" if more <= 0 else "undecided"
    statement = f"without structure {own.learner} has at most {SLACK} times the regret of {plain.learner}"
    return Expectation(board.name, statement, _words(own, plain), verdict)


def _words(first: Standing, second: Standing) -> str:
    ratio = ratio_of_means(first.regret, second.regret)
    interval = f" ({ratio.low:.2f} to {ratio.high:.2f})" if math.isfinite(ratio.high) else ""
    regrets = f"{first.learner} {number(first.mean)}, {second.learner} {number(second.mean)}"
    return f"{regrets}: {ratio.value:.2f} times{interval}" if second.mean > 0 else regrets


@dataclass(frozen=True)
class Advice:
    when: str
    take: str
    relative: float
    worst: float
    runner_up: str
    n_worlds: int
    beware: str


SITUATIONS: dict[str, tuple[str, Callable[[Board], bool]]] = {
    "nothing known, any world": (NOTHING, lambda board: True),
    "nothing known, pairs behave alike": (NOTHING, lambda board: board.structured),
    "nothing known, a little structure or none": (NOTHING, lambda board: not board.structured),
    "nothing known, every policy visits every state": (NOTHING, lambda board: board.kind == "ergodic"),
    f"nothing known, {LARGE:,} pairs and more": (NOTHING, lambda board: board.mdp.n_pairs >= LARGE),
    "classes known": (GIVEN[1], lambda board: True),
    "classes and profiles known": (GIVEN[2], lambda board: True),
}


def advise(boards: Sequence[Board]) -> list[Advice]:
    """Which learner to take when: the least relative regret among those that played everywhere in question."""
    found = []
    for when, (given, fits) in SITUATIONS.items():
        own = [board for board in boards if fits(board)]
        scores = overall(own, given)
        if not scores:
            continue
        take, score = next(iter(scores.items()))
        others = [f"{name} ({number(value, 2)})" for name, value in list(scores.items())[1:2]]
        rows = [row for board in own if (row := board.find(take)) is not None]
        worst = max(row.counted_relative for row in rows)
        stuck = [f"{row.group.part} ({row.n_locked_in} of {row.group.n_runs})" for row in rows if row.n_locked_in]
        found.append(Advice(when, take, score, worst, "".join(others), len(own), ", ".join(stuck)))
    return found


def overall(boards: Sequence[Board], given: str) -> dict[str, float]:
    """Geometric means of relative regret of the learners given the same that played in all these worlds."""
    logs: dict[str, list[float]] = {}
    meant = [board for board in boards if all(math.isfinite(row.counted_relative) for row in board.standings)]
    for board in meant:
        for row in board.standings:
            if row.given == given:
                logs.setdefault(row.learner, []).append(math.log(max(row.counted_relative, LEAST_RELATIVE)))
    means = {name: math.exp(float(np.mean(values))) for name, values in logs.items() if len(values) == len(meant)}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def lock_ins(boards: Sequence[Board]) -> list[str]:
    """In words, learner by learner: the worlds in which runs locked in."""
    places: dict[str, list[str]] = {}
    played: dict[str, list[int]] = {}
    for board in boards:
        for row in board.standings:
            played.setdefault(row.learner, []).append(row.group.n_runs)
            if row.n_locked_in:
                places.setdefault(row.learner, []).append(f"{board.name} ({row.n_locked_in} of {row.group.n_runs})")
    locked = [f"{learner} locked in: {', '.join(where)}." for learner, where in places.items()]
    never = [f"{name} ({counted(sum(runs), 'run')})" for name, runs in played.items() if name not in places]
    return [*locked, f"No run locked in of {', '.join(never)}."] if never else locked
