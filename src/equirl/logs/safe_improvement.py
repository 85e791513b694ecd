"""Better than the behaviour with a confidence, or the behaviour: a policy from one half of a log, tested on the other.

What a policy is worth on the data it was chosen for says little. So transitions are split at random, pair by pair. From
the first half comes a policy, which plays as the behaviour wherever its own action was seen too rarely there. On the
other half it is compared with the behaviour, once. With J the worth, w(k) how often a pair is played (its discounted
visits or share of time) and v the values (the bias, without a discount), c of the policy and b of the behaviour, a
change of the transition probabilities or rewards of pair k changes J_c - J_b by the mean change of

    f_k(r, x) = w_c(k) (r + gamma v_c(x)) - w_b(k) (r + gamma v_b(x))

so that the difference estimated from n(k) visits has the variance sum_k Var f_k / n(k). Where the two play alike f is
small, however little is known. What was never seen may still happen: with D_k how far f_k may fall below its mean,
outcomes that stay unseen with probability delta or more lower the difference by log(1 / delta) max_k D_k / n(k) at
most. The bound is the difference less both, the deviation times its normal quantile and that, added as squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from equirl.estimation.counts import Snapshot
from equirl.model.pairs import Pairs, action_labels, state_labels
from equirl.numerics.arrays import owners
from equirl.solving.renewal import IllConditioned, factor, gain_and_bias, renew
from equirl.words.answer_units import ByName, InUnits
from equirl.words.tables import Table, card

if TYPE_CHECKING:
    from equirl.logs.log import Log

UNSEEN = 0.5  # how often an outcome as bad as can be is taken to have been missed at each pair, in the deviation
LEAST_VISITS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # with which a policy may leave the behaviour: tried in turn


@dataclass(frozen=True, eq=False, repr=False)
class SafePolicy:
    """A policy that is better than the behaviour with a confidence, or the behaviour. Make one with ``learn``.

    What policies earn is in the units of the log, per step or, with a discount, from where the log starts; estimated
    from the half of the log that the policy was not chosen by.

    Attributes
    ----------
    log : Log
        The counts.
    policy : ndarray of float, shape (M,)
        The probability of each pair in its state: to be deployed.
    baseline : ndarray of float, shape (M,)
        That of the behaviour, as given or as in the log.
    is_better : bool
        Whether the policy passed the test; if not, it is the baseline.
    confidence : float
        Of the test.
    gain, behaviour : float
        What the policy and the baseline earn.
    least_improvement : float
        The lower bound on what the tested policy earns more than the baseline; below 0 where it failed.
    discount : float or None
        Of rewards to come; None for the average reward.
    """

    log: Log
    policy: np.ndarray
    baseline: np.ndarray
    is_better: bool
    confidence: float
    gain: InUnits[float]
    behaviour: InUnits[float]
    least_improvement: InUnits[float]
    discount: float | None = None

    def table(self) -> ByName[Table]:
        """A row per pair: with which probability it is played, with which it was, and how often."""
        pairs = self.log.pairs
        return Table({
            "state": state_labels(pairs, pairs.state.tolist()),
            "action": action_labels(pairs, pairs.action.tolist()),
            "visits": self.log.seen.visits,
            "baseline": self.baseline,
            "policy": self.policy,
        })  # fmt: skip

    def _repr_html_(self) -> str:
        facts = {
            "earns": self.gain, "as before": self.behaviour, "more by at least": self.least_improvement,
            "confidence": self.confidence,
        }  # fmt: skip
        return card("SafePolicy", facts, {"Policy": self.table()})

    def __repr__(self) -> str:
        if not self.is_better:
            return f"SafePolicy(as before, {self.behaviour:.4g}: nothing better at {self.confidence:.0%})"
        return (
            f"SafePolicy({self.gain:.4g} in place of {self.behaviour:.4g}, more by {self.least_improvement:.4g} or "
            f"better at {self.confidence:.0%})"
        )


class Sample(NamedTuple):
    """Counts, and what came with each successor."""

    seen: Snapshot
    paid: np.ndarray  # (nnz,) sums of the rewards that came with the successors of ``seen``
    squares: np.ndarray  # (nnz,) sums of their squares

    @property
    def variance(self) -> np.ndarray:
        """(nnz,) of the rewards that came with a successor; 0 where there was one."""
        n = self.seen.count
        return np.maximum(0.0, self.squares - self.paid**2 / n) / np.maximum(1, n - 1)


class Question(NamedTuple):
    """What is compared, and how surely."""

    pairs: Pairs
    initial: np.ndarray  # (S,)
    discount: float  # 1 for the average reward
    confidence: float
    baseline: np.ndarray | None  # (M,) None: as in the data


class Tested(NamedTuple):
    """What a test found."""

    policy: np.ndarray  # (M,)
    baseline: np.ndarray  # (M,)
    bound: float  # on the difference, -inf where nothing can be said
    worth: float
    baseline_worth: float


def sample_of(log: Log) -> Sample:
    """What a log has seen; where it does not say which reward came with which successor, those of a pair are alike."""
    if log.unit_paid is not None:
        return Sample(log.seen, *log.unit_paid)
    owner = owners(log.seen.ptr)
    share = log.seen.count / log.seen.visits[owner]
    return Sample(log.seen, share * log.seen.r_sum[owner], share * log.seen.r_squares[owner])


def halves(sample: Sample, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """The visits of each pair split in two at random, an odd one by a coin.

    Of the rewards that came with a successor only the sum is known: it is split as visits are where all were 0 or 1,
    and else as the sum over some of them is distributed given that over all, if that is normal.
    """
    seen, size = sample.seen, np.diff(sample.seen.ptr)
    wanted = (seen.visits + rng.integers(0, 2, len(size))) // 2
    first, left, rest = np.zeros_like(seen.count), wanted.copy(), seen.visits.copy()
    for place in range(int(size.max(initial=0))):
        k = np.flatnonzero(size > place)
        entry = seen.ptr[:-1][k] + place
        rest[k] -= seen.count[entry]
        first[entry] = rng.hypergeometric(seen.count[entry], rest[k], left[k])
        left[k] -= first[entry]

    other, share = seen.count - first, first / seen.count
    spread = np.sqrt(sample.variance * share * other)
    drawn = np.clip(share * sample.paid + spread * rng.standard_normal(len(first)), 0.0, first)
    paid = np.round(sample.paid).astype(np.int64)
    coins = (sample.paid == sample.squares) & (paid == sample.paid)
    hits = rng.hypergeometric(*(np.where(coins, n, 0) for n in (paid, seen.count - paid, first)))
    earned = np.where(coins, hits, np.clip(drawn, sample.paid - other, sample.paid))
    return (
        _part(seen, first, earned, share * sample.squares),
        _part(seen, other, sample.paid - earned, (1 - share) * sample.squares),
    )


def _part(seen: Snapshot, count: np.ndarray, paid: np.ndarray, squares: np.ndarray) -> Sample:
    """Some of what was seen, successors in the order of the profile."""
    owner, M = owners(seen.ptr), len(seen.visits)
    order = np.lexsort((-seen.succ, -count, owner))
    order = order[count[order] > 0]
    total = [np.bincount(owner, weights=of, minlength=M) for of in (count, paid, squares)]
    ptr = np.searchsorted(owner[order], np.arange(M + 1))
    part = Snapshot(ptr, seen.succ[order], count[order], total[0].astype(np.int64), *total[1:])
    return Sample(part, paid[order], squares[order])


def behaviour_of(pairs: Pairs, seen: Snapshot) -> np.ndarray:
    """(M,) how often each pair was played in its state; all alike in a state never left."""
    total = np.add.reduceat(seen.visits, pairs.ptr[:-1])[pairs.state]
    alike = 1.0 / np.diff(pairs.ptr)[pairs.state]
    return np.where(total > 0, seen.visits / np.maximum(1, total), alike)


def judged_policy(asked: Question, played: np.ndarray, one: Sample, other: Sample) -> Tested:
    """A policy made of the pairs ``played`` (S,) and the behaviour by one half of a log, tested on the other half."""
    first = _half(asked, one)
    found = [
        _compared(asked, _policy(asked.pairs, played, one.seen.visits[played] >= least, first.base), first)
        for least in LEAST_VISITS
        if least == 1 or (one.seen.visits[played] >= least).any()
    ]
    best = max(found, key=lambda tested: tested.bound)
    return _compared(asked, best.policy, _half(asked, other))


def _policy(pairs: Pairs, played: np.ndarray, leaves: np.ndarray, base: np.ndarray) -> np.ndarray:
    """(M,) the pair ``played`` in states that leave the behaviour, which goes on in the others."""
    policy = np.where(leaves[pairs.state], 0.0, base)
    policy[played[leaves]] = 1.0
    return policy


class _Worth(NamedTuple):
    """What a policy is worth by the frequencies of some data."""

    total: float
    value: np.ndarray  # (S,)
    visits: np.ndarray  # (M,) discounted visits, or share of time


class _Half(NamedTuple):
    """One half of a log, and what the behaviour is worth by it."""

    sample: Sample
    laws: sparse.csr_array  # (M, S)
    reward: np.ndarray  # (M,)
    base: np.ndarray  # (M,)
    old: _Worth | None  # None: beyond double precision
    noise: float  # variance that comes from estimating the behaviour


def _half(asked: Question, sample: Sample) -> _Half:
    seen = sample.seen
    base = behaviour_of(asked.pairs, seen) if asked.baseline is None else asked.baseline
    laws, reward = _frequencies(seen, asked.initial), seen.r_sum / np.maximum(1, seen.visits)
    old = _worth(asked, base, laws, reward)
    half = _Half(sample, laws, reward, base, old, 0.0)
    return half if asked.baseline is not None or old is None else half._replace(noise=_noise(asked, half, old))


def _noise(asked: Question, half: _Half, old: _Worth) -> float:
    """The variance that comes from estimating the behaviour: of its action values, by visits of states."""
    ptr, state = asked.pairs.ptr[:-1], asked.pairs.state
    worth = half.reward + asked.discount * (half.laws @ old.value)
    mean = np.add.reduceat(half.base * worth, ptr)
    spread = np.add.reduceat(half.base * (worth - mean[state]) ** 2, ptr)
    often, visits = np.add.reduceat(old.visits, ptr), np.add.reduceat(half.sample.seen.visits, ptr)
    return float((often**2 * spread / np.maximum(1, visits)).sum())


def _compared(asked: Question, policy: np.ndarray, half: _Half) -> Tested:
    """The lower bound on how much better a policy is than the behaviour, by data that it was not chosen by."""
    (sample, laws, reward, base, old, _), gamma = half, asked.discount
    new = _worth(asked, policy, laws, reward)
    if new is None or old is None:
        return Tested(policy, base, -math.inf, math.nan, math.nan)
    seen, more = sample.seen, new.visits - old.visits
    n, owner, succ = seen.visits, owners(seen.ptr), seen.succ
    after = gamma * (new.visits[owner] * new.value[succ] - old.visits[owner] * old.value[succ])
    f = more[owner] * sample.paid / seen.count + after
    share = seen.count / n[owner]
    mean = np.bincount(owner, weights=share * f, minlength=len(n))
    off = (f - mean[owner]) ** 2 + more[owner] ** 2 * sample.variance
    spread = np.bincount(owner, weights=share * off, minlength=len(n))
    anew = gamma * (new.visits * (asked.initial @ new.value) - old.visits * (asked.initial @ old.value))
    mean = np.where(n > 0, mean, anew)

    # f is gamma w_c (v_c - v_b) + (w_c - w_b) (r + gamma v_b), of which each part has a least value
    apart, times, known = new.value - old.value, np.maximum(1, n), n > 0
    later = gamma * old.value
    least = np.minimum(more * later.min(), more * (1 + later.max()))  # with rewards in [0, 1]
    fall = np.maximum(0.0, mean - gamma * new.visits * apart.min() - least)
    noise = spread * times / np.maximum(1, n - 1)
    total = half.noise + float((noise / times + (UNSEEN * fall / times) ** 2)[known].sum())
    quantile, risk = NormalDist().inv_cdf(asked.confidence), 1.0 - asked.confidence
    unseen = math.log(1 / risk) * float((fall / times)[known].max(initial=0.0))
    less = math.sqrt(quantile**2 * total + unseen**2) + float(fall[~known].sum())
    return Tested(policy, base, new.total - old.total - less, new.total, old.total)


def _frequencies(seen: Snapshot, initial: np.ndarray) -> sparse.csr_array:
    """(M, S) where each pair led; one without data begins anew."""
    prob = seen.count / np.maximum(1, seen.visits)[owners(seen.ptr)]
    laws = sparse.csr_array((prob, seen.succ, seen.ptr), shape=(len(seen.visits), len(initial)))
    anew, first = np.flatnonzero(seen.visits == 0), np.flatnonzero(initial)
    if len(anew):
        cells = (np.tile(initial[first], len(anew)), (np.repeat(anew, len(first)), np.tile(first, len(anew))))
        laws = sparse.csr_array(laws + sparse.csr_array(cells, shape=laws.shape))
    return laws


def _worth(asked: Question, weight: np.ndarray, laws: sparse.csr_array, reward: np.ndarray) -> _Worth | None:
    """What a policy is worth; None where it may end in several places, or beyond double precision."""
    pairs, initial, S = asked.pairs, asked.initial, asked.pairs.n_states
    choice = sparse.csr_array((weight, np.arange(len(weight)), pairs.ptr), shape=(S, len(weight)))
    chain = sparse.csr_array(choice @ laws)
    chain.eliminate_zeros()
    paid = choice @ reward
    if asked.discount < 1.0:
        lu = factor(chain, np.full(S, asked.discount))
        value, visits = lu.solve(paid), lu.solve(np.array(initial), "T")
        return _Worth(float(initial @ value), value, visits[pairs.state] * weight)
    try:
        parts = renew(chain)
    except IllConditioned:
        return None
    if parts.label.max() > 0:
        return None
    gain, bias = gain_and_bias(parts, paid)
    return _Worth(float(initial @ gain), bias, parts.stationary[pairs.state] * weight)
