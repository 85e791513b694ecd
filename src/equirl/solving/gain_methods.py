"""The optimal gain of a block whose gain is constant, by the method asked for or by the one that suits it.

``auto`` sweeps first, for most problems mix quickly. Where the accuracy is then met, policy iteration sharpens the
answer if its LU takes milliseconds. Where it is not, come in turn: policy iteration from the policy that value
iteration has found; policy iteration towards a state worth going to, if its factors are affordable (a real count, see
:mod:`equirl.solving.renewal`); elimination for sticky chains of a few thousand states; more sweeps. Large blocks try
the second before they spend a thousand sweeps. The best bracket found is returned.

**Policy iteration** (Howard): each policy solved by a sparse LU, exact up to rounding. It starts from the greedy policy
of a value function, as value iteration leaves it; or, where sweeps stall, from the policy that heads for one state
worth going to: information then need not travel a step per sweep, and the first policies already return to that state
quickly, so that they can be evaluated in double precision.

**Elimination** for sticky chains: certified gains where rare transitions leave double precision no digits. A chain that
crosses between regions once in 1e12 steps has a bias of about 1e12, of which a double keeps four decimals; sweeps stall
and linear equations cancel. Three things help:

- each policy is solved by GTH elimination, which never subtracts;
- the bias is kept as a sum of two doubles, refined until its equation holds;
- T h - h is computed from differences, r + sum_x p(x) (h(x) - h(s)), to which steps from s to s add nothing,
  with a bound on its error, by rounding and by rows that sum to 1 but for rounding. So the bracket around the
  optimal gain stays a certificate.

Policies are kept unichain: where one has several recurrent classes, all states head for the best of them. Dense: n^2
numbers and at most n^3 / 3 operations per policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy

from equirl.numerics.arrays import owners
from equirl.numerics.compiling import kernel
from equirl.solving.chains import Block, Model, approach, closed_classes
from equirl.solving.gth_elimination import MOST_DENSE, costs_to_go, eliminate, irreducible_distribution
from equirl.solving.renewal import SMALL, IllConditioned, TooMuchFill, gain_and_bias, renew, settled_mass
from equirl.solving.sweep_engine import LARGE, swept
from equirl.solving.value_iteration import (
    DAMPING,
    Aim,
    BlockAnswer,
    Index,
    SolverLimits,
    Ties,
    better,
    greedy,
    improve,
    rounding_error,
    value_iteration,
)

ESCAPE_SWEEPS = 100  # of value iteration, away from a policy that cannot be evaluated
GAIN_TIE = 1e-10  # gains this close are equal to policy iteration
SWEEPS_BETWEEN = 200  # of value iteration, between two policies evaluated


def policy_iteration(part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0) -> BlockAnswer:
    """Policy iteration from the greedy policy of ``u`` (changed in place) until no action improves.

    A policy whose chain is out of reach of double precision is left by value iteration. The best bracket is returned.
    """
    seen = set()
    answer = value_iteration(part, u, SolverLimits(limits.accuracy, done + 1), done)
    pair, n_sweeps = answer.pair.copy(), answer.n_sweeps
    while n_sweeps < limits.max_sweeps and pair.tobytes() not in seen:
        seen.add(pair.tobytes())
        try:
            new, improved = _policy_step(part, u, pair, limits.accuracy, n_sweeps)
        except (IllConditioned, TooMuchFill):
            if answer.accuracy <= limits.accuracy:
                break
            last = min(limits.max_sweeps, n_sweeps + ESCAPE_SWEEPS)
            new = value_iteration(part, u, SolverLimits(limits.accuracy, last), n_sweeps)
            seen.discard(pair.tobytes())
            pair[:], improved = new.pair, True
        n_sweeps = new.n_sweeps
        answer = better(answer, new)
        if not improved:
            break
    return answer


def directed_policy_iteration(part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0) -> BlockAnswer | None:
    """Policy iteration from a policy that heads for one state; None where no such policy can be evaluated cheaply.

    ``u`` is the value function with which value iteration stalled; it is not changed.
    """
    for target in _states_worth_going_to(part, u):
        pair = approach(part, np.arange(part.n_states) == target)
        if pair is None:
            return None
        own = slice(part.pair_ptr[target], part.pair_ptr[target + 1])
        pair[target] = part.pair_ptr[target] + int(part.reward[own].argmax())
        answer = _improved(part, pair, target, limits, done)
        if answer is not None:
            return answer
    return None


def _improved(part: Block, pair: np.ndarray, target: int, limits: SolverLimits, done: int) -> BlockAnswer | None:
    """Policy iteration from ``pair``, whose chain returns to the ``target``, with some sweeps after each evaluation.

    Sweeps from a policy's bias never lower the bracket, so their greedy policy is at least as good.
    """
    answer, u = None, np.empty(part.n_states)
    seen: set[bytes] = set()
    while done < limits.max_sweeps and pair.tobytes() not in seen:
        seen.add(pair.tobytes())
        try:
            new, _ = _policy_step(part, u, pair.copy(), limits.accuracy, done, target)
        except (IllConditioned, TooMuchFill):
            break
        answer = new if answer is None else better(answer, new)
        if answer.accuracy <= limits.accuracy:
            break
        last = min(limits.max_sweeps, new.n_sweeps + SWEEPS_BETWEEN)
        swept = value_iteration(part, u, SolverLimits(limits.accuracy, last), new.n_sweeps - 1)
        answer, pair, done = better(answer, swept), swept.pair, swept.n_sweeps
    return answer


def _policy_step(
    part: Block, u: np.ndarray, pair: np.ndarray, accuracy: float, done: int, reference: int | None = None
) -> tuple[BlockAnswer, bool]:
    """Evaluate the policy ``pair`` (its bias is written into ``u``), improve it, and say whether it changed."""
    chain = part.matrix()[pair]
    gain, bias = gain_and_bias(renew(chain, reference=reference), part.reward[pair])
    u[:] = bias
    new = value_iteration(part, u, SolverLimits(accuracy, done + 1), done)._replace(method="policy")
    error = np.abs(part.reward[pair] + chain @ bias - bias - gain).max()
    return new, improve(part.model, gain, bias, Ties(GAIN_TIE, 4 * (error + rounding_error(part, bias))), pair)


def _states_worth_going_to(part: Block, u: np.ndarray) -> Iterator[int]:
    """States to renew at: where the largest reward is paid, and where the greedy policy of ``u`` settles."""
    closed = closed_classes(part.edges)
    if closed.max() > 0:
        return
    yield int(part.owner[np.where(closed[part.owner] == 0, part.reward, -1.0).argmax()])
    pair = np.zeros(part.n_states, np.int64)
    greedy(part.model, 1.0, u, pair)
    chain = part.matrix()[pair]
    mass = settled_mass(chain, closed_classes(chain), n_steps=50)
    yield int(np.where(closed == 0, mass, -1.0).argmax())


MOST_REFINEMENTS = 8
MOST_STEPS = 200
EPS = float(np.finfo(float).eps)


class Bias(NamedTuple):
    """A function of the states as the sum of two doubles, the second below the last digit of the first."""

    main: np.ndarray  # (n,)
    rest: np.ndarray  # (n,)


def elimination_policy_iteration(
    part: Block, pair: np.ndarray, limits: SolverLimits, done: int = 0
) -> BlockAnswer | None:
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
            answer = BlockAnswer(low, high, 0.0, bias.main, best, done, "policy")
        tie = max(4 * EPS, min(limits.accuracy, answer.high - answer.low) / 16)
        if answer.accuracy <= limits.accuracy or not _greedy(part.model, bias, tie, pair):
            break
    return answer and answer._replace(n_sweeps=done)


def certified_by_differences(part: Block, answer: BlockAnswer) -> BlockAnswer:
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
        gains.append(irreducible_distribution(chain[inside][:, inside].toarray()) @ part.reward[pair[inside]])
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
    rows = model.rows
    for j in range(rows.ptr[k], rows.ptr[k + np.uint64(1)]):
        x = rows.succ[j]
        main, rest = bias.main[x] - bias.main[s], bias.rest[x] - bias.rest[s]
        total += rows.prob[j] * (main + rest)
        size += rows.prob[j] * (abs(main) + abs(rest))
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


METHODS = ("auto", "policy", "value")
FIRST_SWEEPS = 1000  # of value iteration, before policy iteration is considered
MOST_POLICY_SWEEPS = 5000  # of policy iteration and of escapes from policies, before what helps slow and sticky chains
LARGE_SWEEPS = 50  # the first ones of a block of more than LARGE successors or SMALL states
FACTOR_WORK, POLISH_WORK = 2e9, 1e7  # what an LU may cost where it is needed, and where it only sharpens the answer


def solve_block(part: Block, method: str, limits: SolverLimits) -> BlockAnswer:
    u = np.zeros(part.n_states)
    if method == "value":
        return value_iteration(part, u, limits)
    if method == "policy":
        some = SolverLimits(limits.accuracy, min(limits.max_sweeps, MOST_POLICY_SWEEPS))
        answer = _helped_where_stalled(part, u, limits, policy_iteration(part, u, some))
        if answer.accuracy > limits.accuracy and MOST_POLICY_SWEEPS <= answer.n_sweeps < limits.max_sweeps:
            answer = better(answer, policy_iteration(part, u, limits, answer.n_sweeps))
        return answer
    if part.n_states > SMALL or len(part.rows.succ) > LARGE:
        return _solve_large(part, u, limits)
    answer = value_iteration(part, u, SolverLimits(limits.accuracy, min(FIRST_SWEEPS, limits.max_sweeps)))
    allowed = POLISH_WORK if answer.accuracy <= limits.accuracy else FACTOR_WORK
    if answer.n_sweeps < limits.max_sweeps and band_work(part) <= allowed:
        last = min(limits.max_sweeps, answer.n_sweeps + FIRST_SWEEPS)
        answer = better(answer, policy_iteration(part, u, SolverLimits(limits.accuracy, last), answer.n_sweeps))
    answer = _helped_where_stalled(part, u, limits, answer)
    return _last_sweeps(part, u, limits, answer, value_iteration)


def _solve_large(part: Block, u: np.ndarray, limits: SolverLimits) -> BlockAnswer:
    """A few sweeps; where a thousand would not do at the rate they show, policy iteration towards one state."""
    accuracy, most = limits
    first = modified_iteration(part, u, SolverLimits(accuracy, min(LARGE_SWEEPS, most)))
    answer = _last_sweeps(part, u, SolverLimits(accuracy, min(2 * LARGE_SWEEPS, most)), first, modified_iteration)
    shrunk = (answer.high - answer.low) / (first.high - first.low) if first.high > first.low else 0.0
    if answer.accuracy > accuracy and 0 < shrunk ** (FIRST_SWEEPS / LARGE_SWEEPS) <= accuracy / answer.accuracy:
        answer = _last_sweeps(part, u, SolverLimits(accuracy, min(FIRST_SWEEPS, most)), answer, modified_iteration)
    answer = _helped_where_stalled(part, u, limits, answer)
    return _last_sweeps(part, u, limits, answer, value_iteration)


def modified_iteration(
    part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0, device: str = "cpu"
) -> BlockAnswer:
    """Value iteration with cheap sweeps along the best pairs between full ones; ``u`` is changed in place."""
    aim = Aim(1.0, DAMPING, limits.accuracy, part.rounding, limits.max_sweeps)
    engine, done, low, high = swept(part, u, aim, done, device=device)
    return BlockAnswer(low, high, rounding_error(part, u), u.copy(), engine.pair, done, "value")


def _last_sweeps(
    part: Block, u: np.ndarray, limits: SolverLimits, answer: BlockAnswer, sweeps: Callable[..., BlockAnswer]
) -> BlockAnswer:
    """The answer, bettered by more sweeps of ``u`` where it misses the accuracy."""
    if answer.accuracy <= limits.accuracy or answer.n_sweeps >= limits.max_sweeps:
        return answer
    return better(answer, sweeps(part, u, limits, answer.n_sweeps))


def _helped_where_stalled(part: Block, u: np.ndarray, limits: SolverLimits, answer: BlockAnswer) -> BlockAnswer:
    """The answer, bettered by the methods for slow and for sticky chains where it misses the accuracy."""
    if answer.accuracy > limits.accuracy and answer.n_sweeps < limits.max_sweeps:
        new = directed_policy_iteration(part, u, limits, answer.n_sweeps)
        answer = answer if new is None else better(answer, new)
    if answer.accuracy > limits.accuracy >= answer.accuracy - answer.noise:
        answer = certified_by_differences(part, answer)
    if answer.accuracy > limits.accuracy and answer.n_sweeps < limits.max_sweeps and part.n_states <= MOST_DENSE:
        new = elimination_policy_iteration(part, answer.pair, limits, answer.n_sweeps)
        answer = answer if new is None else better(answer, new)
    return answer


def band_work(part: Block) -> float:
    """At most how many operations a sparse LU of a policy's chain takes: n times the squared bandwidth of the graph."""
    graph = part.graph()
    place = np.empty(part.n_states, np.int64)
    place[scipy.sparse.csgraph.reverse_cuthill_mckee(graph, symmetric_mode=False)] = np.arange(part.n_states)
    source = owners(graph.indptr)
    bandwidth = float(np.abs(place[source] - place[graph.indices]).max())
    return part.n_states * bandwidth**2
