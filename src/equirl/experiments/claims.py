"""The paper's claims, one by one: what was measured, what was published, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from equirl.experiments.published import (
    AT_QUARTER,
    CLUSTERING,
    DEFAULT,
    IMPROVEMENT,
    KNOWN_ALL,
    PUBLISHED,
    QUARTER_PART,
    REGRET,
    UCRL2L,
    PublishedClustering,
    PublishedFigure,
)
from equirl.experiments.summary import Comparison, Group, compare, find, half_width

Verdict = Literal[
    "reproduced", "not reproduced", "turned round", "not turned round", "undecided", "reported", "no data"
]
ENOUGH_RUNS = 100  # what the margins were stated for
UNSTATED = (
    "This learner rests on choices the paper does not state: pooled rewards, balance asked among the conditions of a "
    "neighbour, unseen successors ordered by state number, the first of tied actions, the class rule alone."
)


@dataclass(frozen=True)
class Margin:
    """How far a measured value may be from a published one: by a share of it, or by a factor."""

    share: float | None = None
    factor: float | None = None

    def holds(self, measured: float, published: float) -> bool:
        """Whether the measured value is close enough."""
        if self.share is not None:
            return abs(measured - published) <= self.share * published
        return self.factor is None or 1 / self.factor <= measured / published <= self.factor

    def __str__(self) -> str:
        if self.share is not None:
            return f"within {100 * self.share:.0f} %"
        return f"within a factor of {self.factor:g}" if self.factor else "no margin is stated"


TIGHT, WIDE, TWOFOLD, ABOUT, FREE = Margin(0.15), Margin(0.35), Margin(factor=2), Margin(factor=1.5), Margin()


@dataclass(frozen=True)
class Claim:
    """One claim of the paper and what became of it."""

    subject: str  # the figure or table it belongs to
    statement: str
    published: str
    measured: str
    verdict: Verdict
    note: str = ""


def check_claims(groups: Sequence[Group]) -> list[Claim]:
    """All claims about regret and clustering, from finished runs."""
    claims: list[Claim] = []
    for figure in REGRET:
        claims += _guarded(figure.title, lambda figure=figure: _regret_claims(groups, figure))  # type: ignore[misc]
    for world in CLUSTERING:
        claims += _guarded("Clustering", lambda world=world: _clustering_claims(groups, world))  # type: ignore[misc]
    return claims


def _guarded(subject: str, claims: Callable[[], Iterator[Claim]]) -> list[Claim]:
    try:
        return list(claims())
    except KeyError as error:
        return [Claim(subject, "all claims about this figure", "", str(error.args[0]), "no data")]


def _regret_claims(groups: Sequence[Group], figure: PublishedFigure) -> Iterator[Claim]:
    plain, published = find(groups, figure.part, UCRL2L), find(groups, figure.part, PUBLISHED)
    known, default = find(groups, figure.part, KNOWN_ALL), find(groups, figure.part, DEFAULT)
    river = figure.part != "grid"

    yield _value(figure.title, plain, figure.horizon, figure.ucrl2l, TIGHT)
    yield _value(figure.title, known, figure.horizon, figure.known_all, WIDE)
    yield _value(figure.title, published, figure.horizon, figure.c_ucrl, TWOFOLD if river else FREE, UNSTATED)
    if figure.part == QUARTER_PART:
        yield from _quarter_claims(groups, figure)
    yield _slope(figure, plain)
    if figure.part in IMPROVEMENT:
        yield _improvement(figure, compare(plain, known))
    yield _ordering(figure.title, compare(known, plain), "reproduced")
    if figure.part.startswith("ergodic"):
        yield _ordering(figure.title, compare(published, plain), "reproduced", UNSTATED)
        yield _ordering(figure.title, compare(known, published), "reproduced", UNSTATED)
    else:
        yield _ordering(figure.title, compare(plain, published), "reproduced", UNSTATED)
        yield _ordering(figure.title, compare(default, plain), "turned round", "The paper has it the other way round.")


def _value(subject: str, group: Group, time: int, published: float, margin: Margin, note: str = "") -> Claim:
    values = group.curves["regret"].at(time)
    mean = float(values.mean())
    verdict: Verdict = "reported" if margin is FREE else _agrees(margin.holds(mean, published))
    statement = f"regret of {group.learner} at T = {time:,}, {margin}"
    return Claim(subject, statement, number(published), _interval(mean, float(half_width(values))), verdict, note)


def _slope(figure: PublishedFigure, group: Group) -> Claim:
    """The linear phase: the regret grows by g* a step, less what exploring pays, before the learner finds its way."""
    until = figure.horizon / 40
    slope = group.curves["regret"].at(until) / until
    mean = float(slope.mean())
    statement = f"the regret of {UCRL2L} first grows linearly, by g* a step (measured up to T/40), {TIGHT}"
    published = f"{figure.gain:.3g} (g* = {group.gain:.6f})"
    note = "Below g* by what wandering about pays before anything is learned." if mean < 0.95 * group.gain else ""
    return Claim(figure.title, statement, published, f"{mean:.4f}", _agrees(TIGHT.holds(mean, group.gain)), note)


def _improvement(figure: PublishedFigure, comparison: Comparison) -> Claim:
    published = IMPROVEMENT[figure.part]
    statement = f"regret of {UCRL2L} divided by that of {KNOWN_ALL}, {ABOUT}"
    table = figure.ucrl2l / figure.known_all
    note = f"The text says about {published:g}; the curves of the published figure have {table:.1f}."
    verdict = _agrees(ABOUT.holds(comparison.ratio, published))
    return Claim(figure.title, statement, f"about {published:g}", f"{comparison.ratio:.2f}", verdict, note)


def _ordering(subject: str, comparison: Comparison, good: Verdict, note: str = "") -> Claim:
    """The first has less regret than the second: the 95 % interval of the difference decides."""
    measured = f"{comparison.ratio:.2f} times its regret"
    verdict: Verdict = good
    if not comparison.decided:
        verdict = "undecided"
        measured += ", a difference that chance explains"
    elif comparison.difference > 0:
        verdict = "not turned round" if good == "turned round" else "not reproduced"
    statement = f"{comparison.first} has less regret than {comparison.second}"
    published = "more" if good == "turned round" else "less"
    return Claim(subject, statement, published, measured, verdict, note)


def _quarter_claims(groups: Sequence[Group], figure: PublishedFigure) -> Iterator[Claim]:
    margins = {UCRL2L: TIGHT, PUBLISHED: TWOFOLD, KNOWN_ALL: WIDE}
    for learner, published in AT_QUARTER.items():
        note = UNSTATED if learner == PUBLISHED else ""
        group = find(groups, figure.part, learner)
        yield _value(figure.title, group, figure.horizon // 4, published, margins[learner], note)


def _clustering_claims(groups: Sequence[Group], world: PublishedClustering) -> Iterator[Claim]:
    subject = f"Clustering, {world.n_states} states"
    group = find(groups, world.part, PUBLISHED)
    ratio, bias = group.curves["misclustering_ratio"], group.curves["misclustering_bias"]
    last, half = float(ratio.mean[-1]), float(ratio.half_width()[-1])

    statement = f"mis-clustering ratio at T = {group.horizon:,}, {TWOFOLD}"
    verdict = _agrees(TWOFOLD.holds(last, world.ratio_last))
    yield Claim(subject, statement, f"{world.ratio_last:g}", _interval(last, half), verdict, UNSTATED)
    peak = float(ratio.mean.max())
    yield Claim(subject, "peak of the mis-clustering ratio", f"{world.ratio_peak:g}", f"{peak:.3f}", "reported")
    falls = last < peak - half
    yield Claim(subject, "the errors of clustering fall with time", "yes", f"{peak:.3f} to {last:.3f}", _agrees(falls))

    yield _bias(subject, f"mis-clustering bias at T = {group.horizon:,}", float(bias.mean[-1]), world.bias_last, world)
    yield _bias(subject, "peak of the mis-clustering bias", float(bias.mean.max()), world.bias_peak, world)


def _bias(subject: str, statement: str, bias: float, published: float, world: PublishedClustering) -> Claim:
    """The bias on both scales, and which of them is nearer to the published value."""
    n_pairs = 2 * world.n_states
    plain, scaled = bias / published, bias / n_pairs / published
    near = "as defined" if abs(math.log(max(plain, 1e-300))) < abs(math.log(max(scaled, 1e-300))) else "divided by M"
    note = f"{number(plain, 2)} and {number(scaled, 2)} times the published value; nearer to its scale: {near}."
    measured = f"{number(bias)} as defined, {number(bias / n_pairs)} divided by M = {n_pairs}"
    return Claim(subject, statement, f"{published:g}", measured, "reported", note)


def _agrees(holds: bool) -> Verdict:
    return "reproduced" if holds else "not reproduced"


def number(value: float, digits: int = 3) -> str:
    """A number with that many significant digits, as people write it.

    >>> number(61234.5), number(0.12345), number(2.0)
    ('61,200', '0.123', '2')
    """
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def _interval(mean: float, half: float) -> str:
    """A mean and half its interval with sensible digits.

    >>> _interval(61234.5, 812.3), _interval(0.1234, float("nan"))
    ('61,200 ± 810', '0.123')
    """
    return number(mean) + (f" ± {number(half, 2)}" if math.isfinite(half) else "")
