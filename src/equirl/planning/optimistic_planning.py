"""Extended value iteration: the best policy in the best plausible model (Algorithm 2 of the paper).

From u = 0, each sweep sets ``u'(s) = max_a [ r(s,a) + max_q q.u ]``, q in the set of the pair, and stops when the
span of ``u' - u`` is at most the accuracy. The optimal optimistic gain then lies between the least and the largest of
u' - u, so their midpoint is within accuracy / 2 of it, and the policy that attained u' is near-optimal to the
accuracy. That bracket holds for *any* u. So a warm start, or cheap sweeps along the last policy between full ones,
changes how soon the loop ends and not what it certifies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.planning.sweeps import Choices, ModelSet, Stop, choose, iterate_threaded, make_work

LOOKUPS_AT_ONCE = 2 * 10**7  # successors touched per compiled call, so that Ctrl-C is heard

PATIENCE = 1000  # full sweeps after which cheap ones are given up, should they not help


class Plan(NamedTuple):
    """An optimistic policy and what is certified about it."""

    policy: np.ndarray  # (S,) the pair to play in each state
    gain: float  # within span / 2 of the optimistic optimum
    bias: np.ndarray  # (S,) u, with minimum 0
    n_sweeps: int
    span: float  # of u' - u at the end
    converged: bool


def extended_value_iteration(
    pair_ptr: np.ndarray,
    models: ModelSet,
    accuracy: float,
    *,
    coin: np.ndarray | None = None,
    start: np.ndarray | None = None,
    policy_sweeps: int = 0,
    max_sweeps: int = 10**5,
    threads: int = 1,
    discount: float = 1.0,
) -> Plan:
    """Plan optimistically in a set of models; each sweep costs O(stored successors).

    Parameters
    ----------
    pair_ptr : array of int64, (S + 1,)
        The pairs of state s are ``pair_ptr[s]:pair_ptr[s + 1]``.
    models : ModelSet
        Plausible transition probabilities and rewards, such as a :class:`~equirl.planning.l1_ball.ConfidenceSet`.
    accuracy : float
        Span of u' - u at which the iteration ends.
    coin : array, (S,), optional
        A number in [0, 1) per state, to choose among actions within 1e-12 (1 + max|u|) of the best. Without: the first.
    start : array, (S,), optional
        Values to start from instead of 0.
    policy_sweeps : int
        Up to so many cheap sweeps along the last policy between full ones (modified policy iteration); only full ones
        are counted and certify.
    max_sweeps : int
        The cap on full sweeps is an outcome: ``converged=False`` with the span reached.
    threads : int
        Share each full sweep among so many, where the set allows it; the numbers stay the same.
    discount : float
        Below 1: the discounted operator. ``gain`` is then the midpoint of u' - u all the same, u being ``bias``; so
        optimal values lie within span / 2 / (1 - discount) of ``bias + gain / (1 - discount)``, or above by less.

    Returns
    -------
    Plan
        The policy, as pairs, with its certificate.
    """
    S = len(pair_ptr) - 1
    pair_ptr = np.array(pair_ptr)  # a read-only one would compile the loops anew
    choices = Choices(pair_ptr[:-1].copy(), pair_ptr[1:].copy())
    (solver, rows), u = models.prepare(), np.zeros(S) if start is None else start - start.min()
    work = make_work(u, models.r_upper)
    at_once = max(1, LOOKUPS_AT_ONCE // (models.n_entries + len(work.q)))
    if policy_sweeps:
        at_once = min(max(10, at_once // policy_sweeps), PATIENCE)

    n_sweeps, low, high = 0, -np.inf, np.inf
    while n_sweeps < max_sweeps and not high - low <= accuracy:
        if n_sweeps:
            u[:] = work.out - work.out.min()
        cheap = policy_sweeps if n_sweeps < PATIENCE else 0
        stop = Stop(float(discount), float(accuracy), min(at_once, max_sweeps - n_sweeps), cheap)
        if threads > 1 and solver.follow is not None:
            n, low, high = iterate_threaded(solver, choices, rows, work, stop, threads)
        else:
            n, low, high = solver.iterate(choices, rows, work, stop)
        n_sweeps += n
    policy = np.empty(S, np.int64)
    tolerance = 1e-12 * (1 + np.abs(u).max())
    choose(pair_ptr, work.q, tolerance, np.zeros(S) if coin is None else coin, policy)
    gain = (low + high) / 2 + (1 - discount) * float(u.min())  # of the bias returned, whose minimum is 0
    return Plan(policy, gain, u - u.min(), n_sweeps, high - low, bool(high - low <= accuracy))


def gain_bounds(models: ModelSet, policy: np.ndarray, accuracy: float, max_sweeps: int = 10**4) -> tuple[float, float]:
    """Certified bounds on the gain of ``policy`` (a pair per state) over all plausible models.

    Evaluates the policy in its best and its worst model; each iterate brackets the gain from every state, so the
    bounds hold even where ``max_sweeps`` ends the search.
    """
    best, worst = _best_and_worst(models, policy, accuracy, max_sweeps, 1.0)
    return max(0.0, -(worst.gain + worst.span / 2)), min(1.0, best.gain + best.span / 2)


def value_bounds(
    models: ModelSet, policy: np.ndarray, accuracy: float, discount: float, max_sweeps: int = 10**4
) -> tuple[np.ndarray, np.ndarray]:
    """Certified bounds on the discounted values of ``policy``, (S,) each, over all plausible models.

    Values in the best and in the worst model, by the bracket of the last sweep; rewards lie in [0, 1].
    """
    rest = 1.0 - discount
    best, worst = _best_and_worst(models, policy, accuracy, max_sweeps, discount)
    low, high = (plan.bias + (plan.gain + plan.span / 2) / rest for plan in (worst, best))
    return np.maximum(0.0, -low), np.minimum(1.0 / rest, high)


def _best_and_worst(
    models: ModelSet, policy: np.ndarray, accuracy: float, max_sweeps: int, discount: float
) -> tuple[Plan, Plan]:
    """A policy in its best model, and in its worst with all rewards negated."""
    own, ptr = models.restrict(policy), np.arange(len(policy) + 1)
    best, worst = (
        extended_value_iteration(ptr, chain, accuracy, max_sweeps=max_sweeps, discount=discount)
        for chain in (own, own.with_rewards(-own.r_lower))
    )
    return best, worst
