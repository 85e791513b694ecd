"""Extended value iteration (Algorithm 2 of the paper): the best policy in the best model of a set of plausible ones.

From u = 0, each sweep sets ``q[k] = reward_k + discount * (max of q.u over the set of pair k)`` and u'(s) to the best
q[k] of state s, and stops when the span of u' - u is at most the accuracy. The optimal optimistic gain then lies
between the least and the largest of u' - u, so their midpoint is within accuracy / 2 of it, and the policy that
attained u' is near-optimal to the accuracy. That bracket holds for *any* u. So a warm start, or cheap sweeps along the
last policy between full ones, changes how soon the loop ends and not what it certifies.

The inner maximum is the set's own: a small function that Numba compiles into the loops below. So a set of models is a
named tuple of arrays, that function, and two or three kernels of one line that put it in place:

    @lean_kernel
    def sweep_mine(choices, models, work, stop, u_max, shift):
        return sweep_states(my_maximum, choices, models, work, stop, u_max, shift)

    @lean_kernel
    def iterate_mine(choices, models, work, stop):
        return iterate(sweep_mine, sweep_mine, choices, models, work, stop)

Such kernels are functions of a module, so they are found in Numba's cache on disk. See ``exact_model`` for the
shortest example.

Threads may share the sweeps of one big problem. Kernels hold no lock, and the pairs of different states share nothing,
so each thread sweeps a run of states with about equally many successors. The numbers are the same, bit for bit, with
any number of threads. A sweep costs a few tens of microseconds more than its share of the work: worth it from about
10^5 states.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from equirl.numerics.compiling import inlined, lean_kernel
from equirl.numerics.portions import Portions, finished

LONGEST_CYCLE = 32  # sweeps of a cycle that is noticed, at most
LOOKUPS_AT_ONCE = 2 * 10**7  # successors touched per compiled call, so that Ctrl-C is heard
CHEAP_UNTIL = 1000  # full sweeps after which cheap ones are given up, should they not help


class Choices(NamedTuple):
    """The pairs to choose from in each state swept: ``first[s]:last[s]``."""

    first: np.ndarray  # (n,) int64
    last: np.ndarray  # (n,) int64


class Work(NamedTuple):
    """The arrays that sweeps read and write."""

    u: np.ndarray  # (S,) values now
    own: np.ndarray  # (n,) those of the states swept: u itself where all are
    out: np.ndarray  # (n,) values after the sweep
    q: np.ndarray  # (M,) values of the pairs
    reward: np.ndarray  # (M,) their largest plausible mean rewards
    by_u: np.ndarray  # (S,) int64: the states in decreasing u, kept so by sets that need it
    best: np.ndarray  # (S,) int64: scratch, the best pair of each state
    after: np.ndarray  # (S,) int64: scratch, one past it
    met: np.ndarray  # (n, S + 2) scratch: u of earlier sweeps with the span of u' - u and the sweep's number


class Stop(NamedTuple):
    """The operator and when its iteration ends."""

    discount: float  # 1: average reward
    accuracy: float  # of the span of u' - u
    max_sweeps: int
    policy_sweeps: int  # cheap sweeps along the best pairs between full ones, at most


Bounds = tuple[float, float, float, float]  # the least and largest of out - own, and of out
Sweep = Callable[..., Bounds]
Follow = Callable[..., tuple[float, float]]  # the least and largest of u


class Solver(NamedTuple):
    """The kernels of a set of models. With ``follow``, threads may share its sweeps by the field ``rows``."""

    iterate: Callable[..., tuple[int, float, float]]
    sweep: Sweep
    follow: Follow | None = None
    on_gpu: bool = False  # whether a GPU sweeps the same set: L1 balls, by the fields ``rows`` and ``moved``


class Plannable(Protocol):
    """What sweeps ask of a set of models."""

    @property
    def r_upper(self) -> np.ndarray:
        """(M,) upper bounds on mean rewards."""

    @property
    def n_entries(self) -> int:
        """Stored successors: what one sweep looks at."""

    def prepare(self) -> tuple[Solver, Any]:
        """The kernels, and the arrays they read as a named tuple; sweeps may reorder them."""


class ModelSet(Plannable, Protocol):
    """What planning asks of a set of plausible models. Rows are by pair; rewards are bounds on means in [0, 1]."""

    @property
    def r_lower(self) -> np.ndarray:
        """(M,) lower bounds on mean rewards."""

    def restrict(self, pairs: np.ndarray) -> ModelSet:
        """The set of some pairs alone, numbered 0, 1, ... in the order given."""

    def with_rewards(self, reward: np.ndarray) -> ModelSet:
        """The same transition probabilities with these rewards."""

    def without_supports(self) -> ModelSet:
        """The set without growing supports, which may keep sweeps from ending."""

    def widths(self) -> np.ndarray:
        """(M,) how far plausible transition probabilities of a pair may lie from its estimate in L1, at most 2."""

    def row_bounds(self, pair: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Bounds on the probabilities of a pair's stored successors, and the largest of any other state."""


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
    models: Plannable,
    accuracy: float,
    *,
    coin: np.ndarray | None = None,
    start: np.ndarray | None = None,
    policy_sweeps: int = 0,
    max_sweeps: int = 10**5,
    threads: int = 1,
    discount: float = 1.0,
    device: str = "cpu",
) -> Plan:
    """Plan optimistically in a set of models; each sweep costs O(stored successors).

    Parameters
    ----------
    pair_ptr : array of int64, (S + 1,)
        The pairs of state s are ``pair_ptr[s]:pair_ptr[s + 1]``.
    models : Plannable
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
    device : {"cpu", "gpu"}
        With "gpu" (the extra ``gpu``), L1 balls without spare masses are swept there first, and the processor goes on
        from these values, as a rule for one sweep, which is what is certified.
    """
    S = len(pair_ptr) - 1
    pair_ptr = np.array(pair_ptr)  # a read-only one would compile the loops anew
    choices = Choices(pair_ptr[:-1].copy(), pair_ptr[1:].copy())
    (solver, rows), u = models.prepare(), np.zeros(S) if start is None else start - start.min()
    stop, done = Stop(float(discount), float(accuracy), max_sweeps, policy_sweeps), 0
    if device != "cpu":
        if not solver.on_gpu:
            raise ValueError("device='gpu' plans in L1 balls whose mass is all placed; leave it out for other sets")
        done = _on_device(device, pair_ptr, rows, models.r_upper, u, stop)
    work = make_work(u, models.r_upper)
    at_once = max(1, LOOKUPS_AT_ONCE // (models.n_entries + len(work.q)))
    if policy_sweeps:
        at_once = min(max(10, at_once // policy_sweeps), CHEAP_UNTIL)

    n_sweeps, low, high = done, -np.inf, np.inf
    while n_sweeps < max_sweeps and not high - low <= accuracy:
        if n_sweeps > done:
            u[:] = work.out - work.out.min()
        cheap = policy_sweeps if n_sweeps < CHEAP_UNTIL else 0
        some = stop._replace(max_sweeps=min(at_once, max_sweeps - n_sweeps), policy_sweeps=cheap)
        if threads > 1 and solver.follow is not None:
            n, low, high = iterate_threaded(solver, choices, rows, work, some, threads)
        else:
            n, low, high = solver.iterate(choices, rows, work, some)
        n_sweeps += n
    return plan_of(pair_ptr, work, coin, stop, n_sweeps, low, high)


def plan_of(
    pair_ptr: np.ndarray, work: Work, coin: np.ndarray | None, stop: Stop, n_sweeps: int, low: float, high: float
) -> Plan:
    """The plan of the last sweep, which began at ``work.u``."""
    u, policy = work.u, np.empty(len(work.u), np.int64)
    tolerance = 1e-12 * (1 + np.abs(u).max())
    choose(pair_ptr, work.q, tolerance, np.zeros(len(u)) if coin is None else coin, policy)
    gain = (low + high) / 2 + (1 - stop.discount) * float(u.min())  # of the bias returned, whose minimum is 0
    return Plan(policy, gain, u - u.min(), n_sweeps, high - low, bool(high - low <= stop.accuracy))


def _on_device(device: str, pair_ptr: np.ndarray, models: Any, reward: np.ndarray, u: np.ndarray, stop: Stop) -> int:
    """Sweeps of ``u`` over balls on a GPU until the span of u' - u meets the accuracy; the number of sweeps."""
    from equirl.solving.gpu_engine import GpuEngine, checked_device, swept_on_gpu
    from equirl.solving.value_iteration import Aim

    checked_device(device)
    engine = GpuEngine(pair_ptr, models.rows, reward, u, models.moved)
    aim = Aim(stop.discount, 1.0, stop.accuracy / 2, 0.0, stop.max_sweeps)
    done = swept_on_gpu(engine, u, aim, 0, stop.policy_sweeps)
    u -= u.min()
    return done


def make_work(u: np.ndarray, reward: np.ndarray) -> Work:
    """Arrays for sweeps over all states, starting from u, which is changed in place."""
    S, M = len(u), len(reward)
    met = np.empty((min(LONGEST_CYCLE, 1 + 10**6 // S), S + 2))
    met[:, S] = np.nan
    scratch = np.empty(S, np.int64), np.empty(S, np.int64), met
    return Work(u, u, np.empty(S), np.empty(M), np.array(reward), np.arange(S), *scratch)


@inlined
def sweep_states(
    maximum: Any, choices: Choices, models: Any, work: Work, stop: Stop, of_u: float, shift: float
) -> tuple[float, float, float, float]:
    """One sweep over the pairs of a set of models.

    Parameters
    ----------
    maximum : inlined function
        ``maximum(models, k, work, of_u)`` is the largest q.u over the set of pair k.
    choices, models, work, stop : tuples of arrays
        The pairs of each state, the set, the arrays that sweeps write to, and when they stop.
    of_u : float
        What ``maximum`` is handed of u: the largest value, or what else the set needs (``exact_model``: the mean).
    shift : float
        Taken off what is written, so that values do not drift.

    Returns
    -------
    tuple of float
        The least and largest of the signed difference out - own (without the shift), and of ``out``.
    """
    low, high, out_min, out_max = np.inf, -np.inf, np.inf, -np.inf
    for s in range(np.uint64(len(work.out))):  # unsigned indices spare the loop its tests for negative ones
        best = -np.inf
        for k in range(np.uint64(choices.first[s]), np.uint64(choices.last[s])):
            value = stop.discount * maximum(models, k, work, of_u) + work.reward[k]
            work.q[k] = value
            best = max(best, value)
        low, high = min(low, best - work.own[s]), max(high, best - work.own[s])
        best -= shift
        work.out[s] = best
        out_min, out_max = min(out_min, best), max(out_max, best)
    return low, high, out_min, out_max


@inlined
def iterate(full: Any, cheap: Any, choices: Choices, models: Any, work: Work, stop: Stop) -> tuple[int, float, float]:
    """Sweep until the span of u' - u is at most the accuracy, or ``max_sweeps``; u and q hold the last sweep's.

    Values that came up before, bit by bit, come up again for ever: whole rounds of such a cycle are counted and not
    done.

    Parameters
    ----------
    full, cheap : kernels
        The sweep over all pairs, and the one used along the best pairs between full ones.
    choices, models, work, stop : tuples of arrays
        As :func:`sweep_states` takes them.

    Returns
    -------
    tuple of int, float, float
        The number of full sweeps, and the least and largest of u' - u; ``work.out`` is u'.
    """
    u_min, u_max, n, least, cycle = 0.0, largest(work.u), 0, np.inf, 0
    while True:
        low, high, next_min, next_max = full(choices, models, work, stop, u_max, u_min)
        n += 1
        if high - low < least:
            least = high - low
        elif cycle == 0:  # no progress
            cycle = cycle_length(work, n, high - low)
            if cycle > 0:
                n += (stop.max_sweeps - n) // cycle * cycle
        if high - low <= stop.accuracy or n == stop.max_sweeps:
            break
        u_min, u_max = next_min, next_max
        copy_into(work.out, work.u)
        if stop.policy_sweeps > 0:
            u_min, u_max = follow(cheap, choices, models, work, stop, u_min, u_max)
    return n, low, high


@inlined
def follow(
    cheap: Any, choices: Choices, models: Any, work: Work, stop: Stop, u_min: float, u_max: float
) -> tuple[float, float]:
    """Improve u by cheap sweeps over the best pair of each state alone; returns the least and largest of u."""
    first_best(choices, work)
    one_each = Choices(work.best, work.after)
    for _ in range(stop.policy_sweeps):
        low, high, next_min, next_max = cheap(one_each, models, work, stop, u_max, u_min)
        u_min, u_max = next_min, next_max
        copy_into(work.out, work.u)
        if high - low <= 0.5 * stop.accuracy:
            break
    return u_min, u_max


@lean_kernel
def first_best(choices: Choices, work: Work) -> None:
    """Note the best pair of each state (of equals the first) and the number after it."""
    for s in range(len(work.best)):
        best, top = choices.first[s], -np.inf
        for k in range(choices.first[s], choices.last[s]):
            best, top = k if work.q[k] > top else best, max(top, work.q[k])  # no branch that cannot be foreseen
        work.best[s], work.after[s] = best, best + 1


@lean_kernel
def largest(u: np.ndarray) -> float:
    top = -np.inf
    for s in range(len(u)):
        top = max(top, u[s])
    return top


@lean_kernel
def cycle_length(work: Work, n: int, span: float) -> int:
    """How many sweeps before the n-th u was as it is now, bit by bit; where that is not known, u is noted, and 0."""
    n_states = len(work.u)
    for row in range(len(work.met)):
        if work.met[row, n_states] == span and is_met(work, row):
            return n - int(work.met[row, n_states + 1])
    row = n % len(work.met)
    for s in range(n_states):
        work.met[row, s] = work.u[s]
    work.met[row, n_states], work.met[row, n_states + 1] = span, n
    return 0


@lean_kernel
def is_met(work: Work, row: int) -> bool:
    """Whether u is as noted in this row."""
    s = 0
    while s < len(work.u) and work.u[s] == work.met[row, s]:
        s += 1
    return s == len(work.u)


@lean_kernel
def copy_into(source: np.ndarray, out: np.ndarray) -> None:
    """Copy values; a slice assignment takes seconds to compile."""
    for s in range(len(out)):
        out[s] = source[s]


@lean_kernel
def sort_by_u(u: np.ndarray, by_u: np.ndarray) -> None:
    """Keep ``by_u`` in decreasing u: insertion, fast where the order hardly changed."""
    for i in range(1, len(by_u)):
        s, j = by_u[i], i
        while j > 0 and u[by_u[j - 1]] < u[s]:
            by_u[j] = by_u[j - 1]
            j -= 1
        by_u[j] = s


@lean_kernel
def choose(pair_ptr: np.ndarray, q: np.ndarray, tolerance: float, coin: np.ndarray, out: np.ndarray) -> None:
    """In each state, of the pairs within ``tolerance`` of the best the one that ``coin[s]`` in [0, 1) points at."""
    for s in range(len(pair_ptr) - 1):
        best, tied = -np.inf, 0
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            out[s], best = k if q[k] > best else out[s], max(best, q[k])
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            tied += q[k] >= best - tolerance
        wanted = int(coin[s] * tied)
        for k in range(pair_ptr[s], pair_ptr[s + 1] if tied > 1 else 0):
            if q[k] >= best - tolerance:
                if wanted == 0:
                    out[s] = k
                    break
                wanted -= 1


def sweeps_in_portions(
    sweep: Sweep, follow: Follow | None, choices: Choices, models: Any, work: Work, stop: Stop, look_ups: float
) -> Portions[tuple[int, float, float]]:
    """What :func:`iterate` does, in plain Python: it can be paused before a full sweep and a round of cheap ones.

    ``look_ups`` of a full sweep. u starts with minimum 0.
    """
    n, u_min, u_max, least, cycle = 0, 0.0, largest(work.u), np.inf, 0
    while True:
        yield look_ups
        low, high, next_min, next_max = sweep(choices, models, work, stop, u_max, u_min)
        n += 1
        if high - low < least:
            least = high - low
        elif cycle == 0:
            cycle = cycle_length(work, n, high - low)
            n += (stop.max_sweeps - n) // cycle * cycle if cycle else 0
        if high - low <= stop.accuracy or n == stop.max_sweeps:
            return n, low, high
        u_min, u_max = next_min, next_max
        copy_into(work.out, work.u)
        if stop.policy_sweeps > 0 and follow is not None:
            yield stop.policy_sweeps * look_ups * len(work.u) / len(work.q)
            u_min, u_max = follow(choices, models, work, stop, u_min, u_max)


def iterate_threaded(
    solver: Solver, choices: Choices, models: Any, work: Work, stop: Stop, threads: int
) -> tuple[int, float, float]:
    """What ``solver.iterate`` does, each full sweep shared among ``threads``. u starts with minimum 0."""
    parts = _parts(choices, models.rows.ptr, work, threads)
    with ThreadPoolExecutor(len(parts)) as pool:

        def shared(_: Choices, models: Any, __: Work, stop: Stop, u_max: float, shift: float) -> Bounds:
            done = pool.map(lambda part: solver.sweep(part[0], models, part[1], stop, u_max, shift), parts)
            lows, highs, mins, maxs = zip(*done, strict=True)
            return min(lows), max(highs), min(mins), max(maxs)

        return finished(sweeps_in_portions(shared, solver.follow, choices, models, work, stop, models.rows.ptr[-1]))


def _parts(choices: Choices, ptr: np.ndarray, work: Work, threads: int) -> list[tuple[Choices, Work]]:
    """Runs of states with about equally many successors, each with its part of the arrays."""
    ends = np.append(choices.first, choices.last[-1])
    load = ptr[ends] + ends
    cuts = np.searchsorted(load, load[-1] * np.arange(threads + 1) / threads)
    cuts[0], cuts[-1] = 0, len(work.u)
    runs = [slice(a, b) for a, b in pairwise(cuts.tolist()) if a < b]
    return [
        (Choices(choices.first[run], choices.last[run]), work._replace(own=work.u[run], out=work.out[run]))
        for run in runs
    ]


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


def single_sweep(pair_ptr: np.ndarray, models: Plannable, u: np.ndarray, discount: float = 1.0) -> Callable[[], Work]:
    """A function that does one sweep from u each time it is called: to look inside, and to measure."""
    (solver, rows), ptr = models.prepare(), np.array(pair_ptr)
    choices, work = Choices(ptr[:-1].copy(), ptr[1:].copy()), make_work(u.copy(), models.r_upper)
    stop = Stop(float(discount), 0.0, 1, 0)

    def sweep() -> Work:
        solver.iterate(choices, rows, work, stop)  # which planning has compiled, not the sweep alone
        return work

    return sweep
