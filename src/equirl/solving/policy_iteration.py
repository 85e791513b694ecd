"""Howard's policy iteration for average reward, each policy solved by a sparse LU; exact up to rounding.

Two starts. From the greedy policy of a value function, as value iteration leaves it. Or, where sweeps stall, from the
policy that heads for one state worth going to: information then need not travel a step per sweep, and the first
policies already return to that state quickly, so that they can be evaluated in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equirl.solving.approach import approach
from equirl.solving.bellman import Ties, greedy, improve
from equirl.solving.chains import Block, closed_classes
from equirl.solving.factorization import TooMuchFill
from equirl.solving.renewal import IllConditioned, gain_and_bias, renew, settled_mass
from equirl.solving.value_iteration import Answer, SolverLimits, better, rounding_error, value_iteration

ESCAPE_SWEEPS = 100  # of value iteration, away from a policy that cannot be evaluated
GAIN_TIE = 1e-10  # gains this close are equal to policy iteration
SWEEPS_BETWEEN = 200  # of value iteration, between two policies evaluated


def policy_iteration(part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0) -> Answer:
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


def directed_policy_iteration(part: Block, u: np.ndarray, limits: SolverLimits, done: int = 0) -> Answer | None:
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


def _improved(part: Block, pair: np.ndarray, target: int, limits: SolverLimits, done: int) -> Answer | None:
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
) -> tuple[Answer, bool]:
    """Evaluate the policy ``pair`` (its bias is written into ``u``), improve it, and say whether it changed."""
    chain = part.matrix()[pair]
    gain, bias = gain_and_bias(renew(chain, reference=reference), part.reward[pair])
    u[:] = bias
    new = value_iteration(part, u, SolverLimits(accuracy, done + 1), done)._replace(method="policy")
    error = np.abs(part.reward[pair] + chain @ bias - bias - gain).max()
    return new, improve(part.model, gain, bias, Ties(GAIN_TIE, 4 * (error + rounding_error(part, bias))), pair)


def _states_worth_going_to(part: Block, u: np.ndarray) -> Iterator[int]:
    """States to renew at: where the largest reward is paid, and where the greedy policy of ``u`` settles."""
    closed = closed_classes(part.graph())
    if closed.max() > 0:
        return
    yield int(part.owner[np.where(closed[part.owner] == 0, part.reward, -1.0).argmax()])
    pair = np.zeros(part.n_states, np.int64)
    greedy(part.model, 1.0, u, pair)
    chain = part.matrix()[pair]
    mass = settled_mass(chain, closed_classes(chain), n_steps=50)
    yield int(np.where(closed == 0, mass, -1.0).argmax())
