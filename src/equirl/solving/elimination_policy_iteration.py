"""Policy iteration for sticky chains: certified gains where rare transitions leave double precision no digits.

A chain that crosses between regions once in 1e12 steps has a bias of about 1e12, of which a double keeps four decimals;
sweeps stall and linear equations cancel. Three things help:

- each policy is solved by GTH elimination, which never subtracts;
- the bias is kept as a sum of two doubles, refined until its equation holds;
- T h - h is computed from differences, r + sum_x p(x) (h(x) - h(s)), to which steps from s to s add nothing,
  with a bound on its error, by rounding and by rows that sum to 1 but for rounding. So the bracket around the
  optimal gain stays a certificate.

Policies are kept unichain: where one has several recurrent classes, all states head for the best of them. Dense: n^2
numbers and at most n^3 / 3 operations per policy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.numerics.compiling import kernel
from equirl.solving.approach import approach
from equirl.solving.bellman import Index, Model
from equirl.solving.chains import Block, closed_classes
from equirl.solving.gth_elimination import costs_to_go, eliminate, irreducible_law
from equirl.solving.value_iteration import Answer, SolverLimits

MOST_REFINEMENTS = 8
MOST_STEPS = 200
EPS = float(np.finfo(float).eps)


class Bias(NamedTuple):
    """A function of the states as the sum of two doubles, the second below the last digit of the first."""

    main: np.ndarray  # (n,)
    rest: np.ndarray  # (n,)


def elimination_policy_iteration(part: Block, pair: np.ndarray, limits: SolverLimits, done: int = 0) -> Answer | None:
    """Policy iteration from the policy ``pair``; None where a policy cannot be made to have one recurrent class."""
    pair, answer = pair.copy(), None
    seen: set[bytes] = set()
    for _ in range(min(MOST_STEPS, limits.max_sweeps - done)):
        unichain = _unichain(part, pair)
        if unichain is None or unichain.tobytes() in seen:
            break
        pair = unichain
        seen.add(pair.tobytes())
        done += 1
        bias = _bias(part, pair)
        low, high = _bracket(part.model, bias, pair)
        if answer is None or high - low < answer.high - answer.low:
            best = np.zeros(part.n_states, np.int64)
            _greedy(part.model, bias, 0.0, best)
            answer = Answer(low, high, 0.0, bias.main, best, done, "policy")
        tie = max(4 * EPS, min(limits.accuracy, answer.high - answer.low) / 16)
        if answer.accuracy <= limits.accuracy or not _greedy(part.model, bias, tie, pair):
            break
    return answer and answer._replace(n_sweeps=done)


def certified_by_differences(part: Block, answer: Answer) -> Answer:
    """The answer with its bracket computed anew from differences, where rounding had widened it."""
    bias = Bias(answer.bias, np.zeros(part.n_states))
    low, high = _bracket(part.model, bias, answer.pair)
    new = answer._replace(low=low, high=high, noise=0.0)
    return new if new.accuracy < answer.accuracy else answer


def _unichain(part: Block, pair: np.ndarray) -> np.ndarray | None:
    """The policy, changed outside its best recurrent class so that this is its only one; None where it cannot be."""
    chain = part.matrix()[pair]
    label = closed_classes(chain)
    if label.max() == 0:
        return pair
    gains = []
    for c in range(label.max() + 1):
        inside = np.flatnonzero(label == c)
        gains.append(irreducible_law(chain[inside][:, inside].toarray()) @ part.reward[pair[inside]])
    best = label == int(np.argmax(gains))
    towards = approach(part, best)
    return None if towards is None else np.where(best, pair, towards)


def _bias(part: Block, pair: np.ndarray) -> Bias:
    """The bias of a policy with one recurrent class, refined until its equation holds to rounding."""
    chain = part.matrix()[pair]
    first = int((closed_classes(chain) == 0).argmax())
    order = np.arange(part.n_states)  # a recurrent state first: all others lead to it
    order[[0, first]] = first, 0
    steps, leaving = eliminate(chain[order][:, order].toarray())
    cycle, _ = costs_to_go(steps, leaving, np.ones(part.n_states))
    bias, error = Bias(np.zeros(part.n_states), np.zeros(part.n_states)), np.empty(part.n_states)
    for _ in range(MOST_REFINEMENTS):
        _advantage(part.model, bias, pair, error)
        if np.ptp(error) <= 4 * EPS:
            break
        mean = costs_to_go(steps, leaving, error[order])[0] / cycle
        correction = np.empty(part.n_states)
        correction[order] = costs_to_go(steps, leaving, error[order] - mean)[1]
        bias = _sum(bias, correction)
    return bias


def _sum(bias: Bias, more: np.ndarray) -> Bias:
    """The sum, exact but for the last digit of the rest (Knuth)."""
    main = bias.main + more
    back = main - bias.main
    rest = (bias.main - (main - back)) + (more - back) + bias.rest
    top = main + rest
    return Bias(top, rest - (top - main))


@kernel
def _change(model: Model, bias: Bias, k: Index, s: int) -> tuple[float, float]:
    """reward[k] + sum over x of p(x | k) (h(x) - h(s)), and a bound on its rounding error."""
    total, size, n = model.reward[k], model.reward[k], 2
    for j in range(model.row_ptr[k], model.row_ptr[k + np.uint64(1)]):
        x = model.succ[j]
        main, rest = bias.main[x] - bias.main[s], bias.rest[x] - bias.rest[s]
        total += model.prob[j] * (main + rest)
        size += model.prob[j] * (abs(main) + abs(rest))
        n += 1
    return total, ((n + 2) * EPS + model.defect) * size


@kernel
def _advantage(model: Model, bias: Bias, pair: np.ndarray, out: np.ndarray) -> None:
    """``out``: r + P h - h under the policy ``pair``, which is its gain everywhere once h is its bias."""
    for s in range(np.uint64(len(pair))):
        out[s] = _change(model, bias, np.uint64(pair[s]), s)[0]


@kernel
def _bracket(model: Model, bias: Bias, pair: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest of T h - h, widened by rounding errors: the optimal gain lies between."""
    low, high = np.inf, -np.inf
    for s in range(np.uint64(len(pair))):
        least, most = -np.inf, -np.inf
        for k in range(model.pair_ptr[s], model.pair_ptr[s + np.uint64(1)]):
            q, error = _change(model, bias, k, s)
            least, most = max(least, q - error), max(most, q + error)
        low, high = min(low, least), max(high, most)
    return low, high


@kernel
def _greedy(model: Model, bias: Bias, tie: float, pair: np.ndarray) -> bool:
    """Change ``pair`` where another one is better by more than ``tie``; whether any changed."""
    changed = False
    for s in range(np.uint64(len(pair))):
        kept = np.uint64(pair[s])
        chosen: Index = kept
        value = -np.inf
        if model.pair_ptr[s] <= kept and kept < model.pair_ptr[s + np.uint64(1)]:
            value = _change(model, bias, kept, s)[0] + tie
        for k in range(model.pair_ptr[s], model.pair_ptr[s + np.uint64(1)]):
            q, _ = _change(model, bias, k, s)
            if q > value:
                value, chosen = q, k
        pair[s] = chosen
        changed |= chosen != kept
    return changed
