"""The paper's claims, one by one: what was measured, what was published, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equirl.lab.paper.published import (
    AT_QUARTER,
    CLUSTERING,
    DEFAULT,
    IMPROVEMENT,
    KNOWN_ALL,
    PROGRAMMED,
    PUBLISHED,
    QUARTER_PART,
    REGRET,
    UCRL2L,
    PublishedClustering,
    PublishedFigure,
)
from equirl.lab.studies.summary import Comparison, Group, compare_groups, find
from equirl.simulation import half_width
from equirl.words.formatting import mean_with_interval, number

Verdict = Literal[
    "reproduced", "not reproduced", "turned round", "not turned round", "undecided", "reported", "no data"
]
ENOUGH_RUNS = 100  # what the margins were stated for
UNSTATED = (
    "This learner rests on choices the paper does not state: pooled rewards, balance asked among the conditions of a "
    "neighbour, unseen successors ordered by state number, the first of tied actions, the class rule alone."
)
PROGRAM = (
    "The same with two more unstated choices of the program: nearest is the neighbour for which the larger of two "
    "lower distances, of transition probabilities and of means, is smallest; and tied successors stand as a quicksort "
    "leaves them."
)
VARIANTS = {PUBLISHED: UNSTATED, PROGRAMMED: PROGRAM}  # two readings of the published C-UCRL


@dataclass(frozen=True)
class Margin:
    share: float | None = None
    factor: float | None = None

    def holds(self, measured: float, published: float) -> bool:
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
    subject: str
    statement: str
    published: str
    measured: str
    verdict: Verdict
    note: str = ""


def check_claims(groups: Sequence[Group]) -> list[Claim]:
    subjects = [(figure.title, _regret_claims(groups, figure)) for figure in REGRET]
    subjects += [("Clustering", _clustering_claims(groups, world)) for world in CLUSTERING]
    claims: list[Claim] = []
    for subject, own in subjects:
        try:
            claims += list(own)
        except KeyError as error:
            claims.append(Claim(subject, "all claims about this figure", "", str(error.args[0]), "no data"))
    return claims


def _regret_claims(groups: Sequence[Group], figure: PublishedFigure) -> Iterator[Claim]:
    plain, known = find(groups, figure.part, UCRL2L), find(groups, figure.part, KNOWN_ALL)
    default = find(groups, figure.part, DEFAULT)
    variants = [(find(groups, figure.part, label), note) for label, note in VARIANTS.items()]
    margin = FREE if figure.part == "grid" else TWOFOLD

    yield _value(figure.title, plain, figure.horizon, figure.ucrl2l, TIGHT)
    yield _value(figure.title, known, figure.horizon, figure.known_all, WIDE)
    for variant, note in variants:
        yield _value(figure.title, variant, figure.horizon, figure.c_ucrl, margin, note)
    if figure.part == QUARTER_PART:
        yield from _quarter_claims(groups, figure)
    yield _slope(figure, plain)
    if figure.part in IMPROVEMENT:
        yield _improvement(figure, compare_groups(plain, known))
    yield _ordering(figure.title, compare_groups(known, plain), "reproduced")
    if figure.part.startswith("ergodic"):
        for variant, note in variants:
            yield _ordering(figure.title, compare_groups(variant, plain), "reproduced", note)
            yield _ordering(figure.title, compare_groups(known, variant), "reproduced", note)
    else:
        for variant, note in variants:
            yield _ordering(figure.title, compare_groups(plain, variant), "reproduced", note)
        note = "The paper has it the other way round."
        yield _ordering(figure.title, compare_groups(default, plain), "turned round", note)


def _value(subject: str, group: Group, time: int, published: float, margin: Margin, note: str = "") -> Claim:
    values = group.curves.at("regret", time)
    mean = float(values.mean())
    verdict: Verdict = "reported" if margin is FREE else _agrees(margin.holds(mean, published))
    statement = f"regret of {group.learner} at T = {time:,}, {margin}"
    measured = mean_with_interval(mean, float(half_width(values)))
    return Claim(subject, statement, number(published), measured, verdict, note)


def _slope(figure: PublishedFigure, group: Group) -> Claim:
    """The linear phase: the regret grows by g* a step, less what exploring pays, before the learner finds its way."""
    until = figure.horizon / 40
    slope = group.curves.at("regret", until) / until
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
    margins = {UCRL2L: TIGHT, KNOWN_ALL: WIDE}
    for learner, published in AT_QUARTER.items():
        group, margin = find(groups, figure.part, learner), margins.get(learner, TWOFOLD)
        yield _value(figure.title, group, figure.horizon // 4, published, margin, VARIANTS.get(learner, ""))


def _clustering_claims(groups: Sequence[Group], world: PublishedClustering) -> Iterator[Claim]:
    for label, note in VARIANTS.items():
        yield from _quality_claims(find(groups, world.part, label), world, note)


def _quality_claims(group: Group, world: PublishedClustering, note: str) -> Iterator[Claim]:
    subject = f"Clustering, {world.n_states} states, {group.learner}"
    ratio, half = group.curves.mean("misclustering_ratio"), float(group.curves.half_width("misclustering_ratio")[-1])
    last, peak = float(ratio[-1]), float(ratio.max())

    statement = f"mis-clustering ratio at T = {group.horizon:,}, {TWOFOLD}"
    verdict = _agrees(TWOFOLD.holds(last, world.ratio_last))
    yield Claim(subject, statement, f"{world.ratio_last:g}", mean_with_interval(last, half), verdict, note)
    yield Claim(subject, "peak of the mis-clustering ratio", f"{world.ratio_peak:g}", f"{peak:.3f}", "reported")
    falls = last < peak - half
    yield Claim(subject, "the errors of clustering fall with time", "yes", f"{peak:.3f} to {last:.3f}", _agrees(falls))

    n_pairs = 2 * world.n_states
    final = f"mis-clustering bias at T = {group.horizon:,}"
    yield _bias(subject, final, lambda bias: float(bias[-1]), world.bias_last, group, n_pairs)
    peak_of_bias = "peak of the mis-clustering bias"
    yield _bias(subject, peak_of_bias, lambda bias: float(bias.max()), world.bias_peak, group, n_pairs)


def _bias(
    subject: str, statement: str, read: Callable[[np.ndarray], float], published: float, group: Group, n_pairs: int
) -> Claim:
    """The bias on three scales, and which of them is nearest to the published value."""
    defined, by_state = (read(group.curves.mean(f"misclustering_bias{way}")) for way in ("", "_by_state"))
    scales = {
        "as defined": defined,
        f"divided by M = {n_pairs}": defined / n_pairs,
        "pooled by state and divided by M": by_state / n_pairs,
    }
    near = min(scales, key=lambda scale: abs(math.log(max(scales[scale], 1e-300) / published)))
    measured = ", ".join(f"{number(value)} {scale}" for scale, value in scales.items())
    return Claim(subject, statement, f"{published:g}", measured, "reported", f"Nearest to the published scale: {near}.")


def _agrees(holds: bool) -> Verdict:
    return "reproduced" if holds else "not reproduced"
