"""Known MDPs with a discount: optimal values and policy with a certified accuracy.

With T v = max_a (r + gamma P v), c = gamma / (1 - gamma), and low, high the extremes of T v - v, MacQueen's bounds hold
for every v:  T v + c low <= v* <= T v + c high.  All methods end with them; half their distance is the accuracy, and
their middle is the value returned. They hold for every v, so sweeps keep v near 0 by subtracting that of the first
state, which saves the digits that values of 1 / (1 - gamma) would cost.

- ``value``: value iteration; the bounds close as fast as the chain mixes, not as slowly as gamma.
- ``modified``: modified policy iteration: some sweeps that only evaluate the greedy policy, then one that improves it.
- ``policy``: Howard's policy iteration, each policy solved by a sparse LU; exact up to rounding.
- ``auto``: modified policy iteration; where it stalls, every now and then an exact evaluation if its LU is affordable.
  Large problems whose first sweeps promise no end are swept in order first (:mod:`equirl.solving.sweep_engine`).

Which pairs are equivalent does not depend on the criterion: classes compare transition probabilities and rewards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Name, Pairs, named_policy, policy_table
from equirl.model.reward_distributions import original_values
from equirl.model.rows import INDEX, Rows
from equirl.numerics.compiling import kernel
from equirl.solving.chains import Block, Model, summing_to_one, whole
from equirl.solving.gpu_engine import checked_device
from equirl.solving.renewal import IllConditioned, TooMuchFill, discounted_values
from equirl.solving.sweep_engine import LARGE, PATIENCE, TURNS, rounds_in_order, swept
from equirl.solving.value_iteration import (
    LEAST_PER_CALL,
    SUCCESSORS_PER_CALL,
    Aim,
    SolverLimits,
    bellman,
    greedy,
    mean_value,
)
from equirl.words.answer_units import ByName, ByNumber, InUnits, UnitReward
from equirl.words.checking import choice, discount_below_one, inside, whole_number
from equirl.words.tables import Table, card

DISCOUNTED_METHODS = ("auto", "modified", "policy", "value")
EVALUATION_SWEEPS = 20  # of modified policy iteration, per improvement
FIRST_SWEEPS = 1000  # before policies are evaluated exactly
LARGE_SWEEPS = 50  # of a large block, before and after which the rate of sweeps is judged
SWEEPS_BETWEEN = 200  # between two exact evaluations


@dataclass(frozen=True, eq=False)
class DiscountedSolution:
    """What is optimal in a known MDP with a discount.

    Attributes
    ----------
    value, unit_value : ndarray of shape (S,)
        Optimal discounted reward from each state, in the units of the problem's rewards; and with rewards in [0, 1],
        as all that begins with ``unit_``.
    policy : ndarray of shape (S,)
        An action of each state that is greedy for ``value``.
    policy_pair : ndarray of shape (S,)
        The pair played in each state.
    discount : float
        The discount.
    value_from_start : float
        Optimal discounted reward from the initial distribution.
    accuracy, unit_accuracy : float
        Certified: every optimal value is within this of ``value``.
    converged : bool
        Whether the accuracy asked for was reached.
    n_sweeps : int
        Sweeps over all pairs; an evaluation sweep or a step of policy iteration is one.
    method : str
        "value", "modified" or "policy": the one that finished.
    initial : ndarray of shape (S,)
        The initial distribution.
    pairs : Pairs
        The pairs of the problem, with their names.
    reward_map : tuple of float
        (scale, shift) of the problem: original reward = scale * reward + shift.
    """

    unit_value: UnitReward[np.ndarray]
    policy: ByNumber[np.ndarray]
    policy_pair: np.ndarray
    discount: float
    initial: np.ndarray
    unit_accuracy: UnitReward[float]
    converged: bool
    n_sweeps: int
    method: str
    pairs: Pairs
    reward_map: tuple[float, float] = (1.0, 0.0)

    @property
    def value(self) -> InUnits[np.ndarray]:
        return original_values(self.unit_value, self.discount, self.reward_map)

    @property
    def value_from_start(self) -> InUnits[float]:
        return float(self.initial @ self.value)

    @property
    def accuracy(self) -> InUnits[float]:
        return self.reward_map[0] * self.unit_accuracy

    def named_policy(self) -> ByName[dict[Name, Name]]:
        """``{state: action}``, by name where there are names."""
        return named_policy(self.pairs, self.policy)

    def table(self) -> InUnits[ByName[Table]]:
        """The policy with names, and values; a row per state."""
        return policy_table(self.pairs, self.policy, {"value": self.value})

    def __repr__(self) -> str:
        return f"DiscountedSolution(discount={self.discount:g}, largest value {self.value.max():.6g})"

    def _repr_html_(self) -> str:
        facts = {"discount": self.discount, "accuracy": self.accuracy}
        return card("DiscountedSolution", facts, {"Policy": self.table()})


class _Values(NamedTuple):
    """What a discounted solver found: ``bound`` certifies ``value``."""

    value: np.ndarray  # (S,)
    bound: float
    n_sweeps: int
    method: str


def solve_discounted(
    mdp: TabularMDP,
    discount: float,
    accuracy: float = 1e-8,
    method: str = "auto",
    max_sweeps: int = 100_000,
    device: str = "cpu",
) -> DiscountedSolution:
    check_mdp(mdp)
    discount = discount_below_one(discount)
    method = choice("method", method, DISCOUNTED_METHODS)
    limits = SolverLimits(inside("accuracy", accuracy, 0, math.inf), whole_number("max_sweeps", max_sweeps))
    part = whole(mdp)
    if checked_device(device) == "gpu":
        if method == "policy":
            raise ValueError("method='policy' factors matrices on the processor; leave it or device='gpu' out")
        evaluations = 0 if method == "value" else EVALUATION_SWEEPS
        found = _sweeps(part, discount, np.zeros(mdp.n_states), limits, evaluations, device=device)
    else:
        found = _find_values(part, discount, method, limits)
    pair = np.zeros(mdp.n_states, np.int64)
    greedy(part.model, discount, found.value, pair)
    return DiscountedSolution(
        unit_value=found.value,
        policy=mdp.pairs.action[pair],
        policy_pair=pair,
        discount=discount,
        initial=mdp.initial,
        unit_accuracy=found.bound,
        converged=found.bound <= limits.accuracy,
        n_sweeps=found.n_sweeps,
        method=found.method,
        pairs=mdp.pairs,
        reward_map=mdp.reward_map,
    )


def chain_values(chain: scipy.sparse.csr_array, reward: np.ndarray, discount: float) -> np.ndarray:
    """(S,) discounted reward from each state of a chain that pays ``reward``, by sweeps on the GPU."""
    each = np.arange(len(reward) + 1)
    rows = Rows(chain.indptr.astype(np.int64), chain.indices.astype(INDEX), chain.data)
    prob, defect = summing_to_one(rows.prob, rows.ptr)
    part = Block(each[:-1], each[:-1], each, rows._replace(prob=prob), reward, defect)
    limits = SolverLimits(1e-8, 100_000)
    found = _sweeps(part, discount, np.zeros(len(reward)), limits, EVALUATION_SWEEPS, device="gpu")
    if found.bound > limits.accuracy:
        raise IllConditioned(
            f"after {found.n_sweeps} sweeps values are only known within {found.bound:.1g}; leave device='gpu' out"
        )
    return found.value


def _find_values(part: Block, discount: float, method: str, limits: SolverLimits) -> _Values:
    v = np.zeros(part.n_states)
    if method == "value":
        return _sweeps(part, discount, v, limits, 0)
    if method == "modified":
        return _sweeps(part, discount, v, limits, EVALUATION_SWEEPS)
    if method == "policy":
        return _policy_iteration(part, discount, v, limits, 0)
    found = _first_values(part, discount, v, limits)
    seen: set[bytes] = set()
    while found.bound > limits.accuracy and found.n_sweeps < limits.max_sweeps:
        pair = np.zeros(part.n_states, np.int64)
        greedy(part.model, discount, found.value, pair)
        if pair.tobytes() in seen:
            return found
        seen.add(pair.tobytes())
        try:
            exact = _exact_step(part, discount, pair, found.n_sweeps)
        except TooMuchFill:
            return _sweeps(part, discount, found.value, limits, EVALUATION_SWEEPS, found.n_sweeps)
        if exact.bound <= limits.accuracy:
            return exact
        some = SolverLimits(limits.accuracy, min(limits.max_sweeps, exact.n_sweeps + SWEEPS_BETWEEN))
        found = _sweeps(part, discount, exact.value, some, EVALUATION_SWEEPS, exact.n_sweeps)
        found = found if found.bound <= exact.bound else exact._replace(n_sweeps=found.n_sweeps)
    return found


def _first_values(part: Block, discount: float, v: np.ndarray, limits: SolverLimits) -> _Values:
    """Modified policy iteration for some sweeps; of a large block a few, then others in order where these stall."""
    accuracy, most = limits
    if len(part.rows.succ) <= LARGE:
        return _sweeps(part, discount, v, SolverLimits(accuracy, min(FIRST_SWEEPS, most)), EVALUATION_SWEEPS)
    first = _sweeps(part, discount, v, SolverLimits(accuracy, min(LARGE_SWEEPS, most)), EVALUATION_SWEEPS)
    if first.bound <= accuracy or first.n_sweeps >= most:
        return first
    cap = SolverLimits(accuracy, min(2 * LARGE_SWEEPS, most))
    found = _sweeps(part, discount, first.value, cap, EVALUATION_SWEEPS, first.n_sweeps)
    if found.bound <= accuracy or found.n_sweeps >= most:
        return found
    if (found.bound / first.bound) ** (FIRST_SWEEPS / LARGE_SWEEPS) <= accuracy / found.bound:
        cap = SolverLimits(accuracy, min(FIRST_SWEEPS, most))
        return _sweeps(part, discount, found.value, cap, EVALUATION_SWEEPS, found.n_sweeps)
    return _sweeps_in_order(part, discount, found, limits)


def _sweeps_in_order(part: Block, discount: float, found: _Values, limits: SolverLimits) -> _Values:
    """Rounds of sweeps in order, from no values at all, until they are accurate enough or get better too slowly."""
    best, done, most = found, found.n_sweeps, 2 * TURNS + 3  # sweeps of a round
    halved, waited = found.bound, 0
    if done + most > limits.max_sweeps:
        return found
    for n, low, high, out in rounds_in_order(part, discount, np.zeros(part.n_states)):
        done += n
        value, bound = _macqueen(part, discount, out, low, high)
        halved, waited = (bound, 0) if bound <= halved / 2 else (halved, waited + 1)
        if bound < best.bound:
            best = _Values(value, bound, done, "modified")
        if bound <= limits.accuracy or waited >= PATIENCE or done + most > limits.max_sweeps:
            break
    return best._replace(n_sweeps=done)


def _sweeps(
    part: Block,
    discount: float,
    v: np.ndarray,
    limits: SolverLimits,
    evaluations: int,
    done: int = 0,
    device: str = "cpu",
) -> _Values:
    """Value iteration, or modified policy iteration with some ``evaluations``, from ``v``."""
    method = "modified" if evaluations else "value"
    if len(part.rows.succ) > LARGE or device == "gpu":
        ahead, v = discount / (1 - discount), v - v[0]
        aim = Aim(discount, 1.0, limits.accuracy, part.rounding * (1 + ahead), limits.max_sweeps, ahead, 1 + ahead)
        engine, done, low, high = swept(part, v, aim, done, evaluations, device)
        return _Values(*_macqueen(part, discount, engine.out, low, high), done, method)
    v, out, pair = v - v[0], np.empty(part.n_states), np.zeros(part.n_states, np.int64)
    at_once = max(LEAST_PER_CALL, SUCCESSORS_PER_CALL // len(part.rows.succ))
    while True:
        cap = min(at_once, limits.max_sweeps - done)
        aim = Aim(discount, 1.0, limits.accuracy, part.rounding, cap)
        n, low, high = _discounted_sweeps(part.model, aim, evaluations, v, out, pair)
        done += n
        value, bound = _macqueen(part, discount, out, low, high)
        if bound <= limits.accuracy or done >= limits.max_sweeps or n < cap:
            return _Values(value, bound, done, method)


def _policy_iteration(part: Block, discount: float, v: np.ndarray, limits: SolverLimits, done: int) -> _Values:
    """Policy iteration from the greedy policy of ``v`` until it repeats."""
    pair, seen, best = np.zeros(part.n_states, np.int64), set[bytes](), None
    greedy(part.model, discount, v, pair)
    while done < limits.max_sweeps and pair.tobytes() not in seen:
        seen.add(pair.tobytes())
        new = _exact_step(part, discount, pair, done)
        done = new.n_sweeps
        best = new if best is None or new.bound < best.bound else best
        greedy(part.model, discount, new.value, pair)
    assert best is not None  # max_sweeps is at least 1
    return best._replace(n_sweeps=done)


def _exact_step(part: Block, discount: float, pair: np.ndarray, done: int) -> _Values:
    """The values of the policy ``pair``, swept once for their bounds."""
    v, out = discounted_values(part.matrix()[pair], part.reward[pair], discount), np.empty(part.n_states)
    v -= v[0]
    value, bound = _macqueen(part, discount, out, *bellman(part.model, discount, v, out))
    return _Values(value, bound, done + 1, "policy")


def _macqueen(part: Block, discount: float, swept: np.ndarray, low: float, high: float) -> tuple[np.ndarray, float]:
    """The middle of MacQueen's bounds and half their distance with what rounding may hide; ``swept`` is T v.

    Rows that sum to 1 but for rounding make values uncertain by that times their size, 1 / (1 - discount) times over.
    """
    ahead = discount / (1 - discount)
    value = swept + ahead * (low + high) / 2
    return value, float(ahead * (high - low) / 2 + part.rounding * (1 + ahead) * (1 + np.abs(value).max()))


@kernel
def _discounted_sweeps(
    model: Model, aim: Aim, evaluations: int, v: np.ndarray, out: np.ndarray, pair: np.ndarray
) -> tuple[int, float, float]:
    """Sweeps of ``v`` until half MacQueen's bounds meet the accuracy; ``out`` = T v, with the extremes of T v - v.

    Some ``evaluations`` of the greedy policy follow each. (``modified_sweeps`` is another loop: it steps to v +
    (T v - v - centre), which is not T v to the last bit, and calls Python between sweeps, too dear for small blocks.)
    """
    ahead, n = aim.discount / (1 - aim.discount), 0
    while True:
        low, high = bellman(model, aim.discount, v, out)
        n += 1
        half = ahead * (high - low) / 2
        if half <= aim.accuracy or n >= aim.max_sweeps or half <= 2 * aim.rounding * (1 + ahead) ** 2:
            size = 0.0
            for s in range(len(v)):
                size = max(size, abs(out[s] + ahead * (low + high) / 2))
            noise = aim.rounding * (1 + ahead) * (1 + size)
            if half + noise <= aim.accuracy or half <= noise or n >= aim.max_sweeps:
                return n, low, high
        first = out[0]
        for s in range(len(v)):
            v[s] = out[s] - first
        if evaluations > 0:
            greedy(model, aim.discount, v, pair)
            for _ in range(min(evaluations, aim.max_sweeps - n - 1)):
                _evaluate(model, aim.discount, pair, v, out)
                n += 1


@kernel
def _evaluate(model: Model, discount: float, pair: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """One sweep of ``v`` under the policy ``pair``, with room in ``out``; the first state is put at 0."""
    for s in range(len(v)):
        k = np.uint64(pair[s])
        out[s] = model.reward[k] + discount * mean_value(model, k, v)
    first = out[0]
    for s in range(len(v)):
        v[s] = out[s] - first
