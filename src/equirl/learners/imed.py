"""IMED-RL: no episodes; before every step the pair of least index is chosen (Pesquerel and Maillard 2022).

For ergodic MDPs with rewards in [0, 1]. At every step: the skeleton ``A_s = {a : N(s,a) >= log^2 max_b N(s,b)}``; the
bias phi of the empirical MDP restricted to it; then in the current state, with X = r + phi(s') the outcome of a pair,
gamma = the best empirical mean of X over the skeleton's pairs of s, and top = 1 + max phi, the pair of least

    index = N K + log N,        K = max over 0 <= l <= 1 / (top - gamma) of mean log(1 - l (X - gamma)),

is played. A pair whose mean of X reaches gamma has K = 0, so the best one has index log N; one never played has -inf.

Counts keep successors and the sum of rewards, not rewards one by one. A pair's rewards are read as all equal to r_hat
(``binary`` False: right where rewards are deterministic), or as 0 or 1 with mean r_hat, independent of the successor
(``binary`` True: right for Bernoulli rewards; for others on [0, 1] that do not depend on the successor K can only
become smaller, so that the pair is explored more).

``prior`` is the weight of one more sample of every pair that pays 1/2 and leads to every state alike. 0 is the index as
published; it visits a state only as often as the policy of the moment leads there, which on a river of 25 states takes
longer than anyone waits. The authors' program has weight 1.

Pooling is offered where classes and profiles are both given: pooled counts are then samples of one distribution, and
n(c) stands for the visits of a pair. Estimated classes would put samples of other distributions behind the index.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.kl_inf import kl_inf
from equirl.estimation.pooling import Grouping, pool_given
from equirl.learners.beliefs import ActionValues, GivenBeliefs
from equirl.learners.contract import CountingLearner, State, Stretch, checked_choice, step_limits
from equirl.learners.parts import Indices, Problem
from equirl.learners.recipes import Blueprint
from equirl.numerics.compiling import kernel
from equirl.solving.value_iteration import DAMPING, Aim, damped_sweeps
from equirl.words.checking import between, flag, whole_number


class CountedRows(NamedTuple):
    """An empirical MDP: successors of pair k in ``succ[ptr[k]:ptr[k + 1]]``, seen ``times`` each."""

    pair_ptr: np.ndarray  # (S + 1,)
    ptr: np.ndarray  # (M + 1,)
    succ: np.ndarray  # (nnz,)
    times: np.ndarray  # (nnz,)
    visits: np.ndarray  # (M,)
    r_hat: np.ndarray  # (M,) in [0, 1]
    binary: np.ndarray  # (M,) bool: whether rewards are read as 0 or 1
    prior: float  # weight of a sample that pays 1/2 and leads anywhere; 0 for none


@dataclass(frozen=True)
class OwnIndices(Indices):
    """Indices from each pair's own counts; ``prior`` and ``binary`` as above, ``max_sweeps`` per step."""

    prior: float = 1.0
    binary: bool = True
    max_sweeps: int = 20

    def __post_init__(self) -> None:
        between("prior", self.prior, most=1e6)
        flag("binary", self.binary)
        whole_number("max_sweeps", self.max_sweeps)

    def rows(self, seen: Snapshot, problem: Problem) -> CountedRows:
        r_hat = np.divide(seen.r_sum, seen.visits, out=np.zeros(len(seen.visits)), where=seen.visits > 0)
        return self._counted(seen.ptr, seen.succ, seen.count.astype(float), seen.visits.astype(float), r_hat, problem)

    def _counted(
        self, ptr: np.ndarray, succ: np.ndarray, count: np.ndarray, visits: np.ndarray, r_hat: np.ndarray,
        problem: Problem,
    ) -> CountedRows:  # fmt: skip
        binary = np.full(len(visits), self.binary)
        pair_ptr = np.array(problem.pairs.ptr)
        return CountedRows(pair_ptr, np.array(ptr), np.array(succ), count, visits, r_hat, binary, float(self.prior))


@dataclass(frozen=True)
class ClassIndices(OwnIndices):
    """Indices from counts pooled over given classes, through given profiles."""

    needs: ClassVar[tuple[str, ...]] = ("classes", "profiles")

    def rows(self, seen: Snapshot, problem: Problem) -> CountedRows:
        """The empirical MDP of pooled counts: every pair has its class's."""
        given = problem.given
        assert given.classes is not None
        assert given.profiles is not None
        assert given.tie is not None
        groups = Grouping.of(given.classes)
        pooled = pool_given(seen, groups, given.profiles, given.tie, means=groups)
        visits = pooled.samples.astype(float)
        ptr, succ, prob = pooled.rows
        count = prob * np.repeat(visits, np.diff(ptr))
        return self._counted(ptr, succ, count, visits, pooled.r_hat, problem)


class ImedLearner(CountingLearner):
    """An agent that plays the pair of least index. Make one with ``equirl.make_agent``."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self.part = self.settings.part(Indices)
        self.problem = Problem(self.pairs, self.given, math.nan, True)
        self.tie_rng = np.random.default_rng(blueprint.seed)
        self.bias = np.zeros(self.pairs.n_states)
        self.policy = np.zeros(self.pairs.n_states, np.int64)
        self.chosen: tuple[int, int] | None = None  # state and pair decided, not yet played

    def decide(self, state: int) -> Stretch:
        """The pair of least index in ``state``, for one step; asked again before it is played, the same."""
        self.test_structure()
        if self.chosen is None or self.chosen[0] != state:
            self.chosen = state, self._choose(state)
        self.policy[state] = self.chosen[1]
        return Stretch(self.policy, step_limits(1))

    def _choose(self, state: int) -> int:
        index = self.indices(state, self.bias)
        least = np.flatnonzero(index <= index.min())
        return int(self.pairs.ptr[state] + least[int(self.tie_rng.random() * len(least))])

    def indices(self, state: int, bias: np.ndarray) -> np.ndarray:
        """The index of each action in a state; ``bias`` is brought up to date in place."""
        rows = self.part.rows(self.counts.snapshot(), self.problem)
        keep = np.zeros(self.pairs.n_pairs, np.bool_)
        skeleton(rows.pair_ptr, rows.visits, keep)
        empirical_bias(rows, keep, 1 / math.sqrt(self.t), self.part.max_sweeps, bias)
        index = np.empty(self.pairs.ptr[state + 1] - self.pairs.ptr[state])
        write_indices(rows, keep, state, bias, 1.0 + bias.max(), index)
        return index

    def record(self, path: np.ndarray, rewards: np.ndarray, final: int) -> None:
        super().record(path, rewards, final)
        self.chosen = None

    def record_step(self, pair: int, reward: float, successor: int) -> None:
        super().record_step(pair, reward, successor)
        self.chosen = None

    @property
    def beliefs(self) -> ImedBeliefs:
        return ImedBeliefs(self)

    def state(self) -> State:
        arrays, values = super().state()
        arrays["index_bias"] = self.bias
        return State(arrays, values | {"chosen": self.chosen, "tie_rng": self.tie_rng.bit_generator.state})

    def restore(self, state: State) -> None:
        super().restore(state)
        bias = state.arrays["index_bias"]
        if bias.shape != self.bias.shape or not np.isfinite(bias).all():
            raise ValueError("the bias does not fit the agent")
        self.bias, self.tie_rng.bit_generator.state = bias.copy(), state.values["tie_rng"]
        self.chosen = checked_choice(state.values["chosen"], self.pairs)


class ImedBeliefs(GivenBeliefs):
    agent: ImedLearner
    has_policy: ClassVar[bool] = True

    def action_values(self, state: int) -> ActionValues:
        agent = self.agent
        return ActionValues(agent.indices(state, agent.bias.copy()), "index", of_rewards=False, least=True)


# --- the index


@kernel
def skeleton(pair_ptr: np.ndarray, visits: np.ndarray, keep: np.ndarray) -> None:
    """keep[k] = whether N_k >= log^2 max N in its state and N_k > 0. O(M). Where a state was visited, one is kept."""
    for s in range(len(pair_ptr) - 1):
        most = 1.0
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            most = max(most, float(visits[k]))
        least = max(1.0, math.log(most) ** 2)
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            keep[k] = visits[k] >= least


@kernel
def average(phi: np.ndarray) -> float:
    total = 0.0
    for s in range(len(phi)):
        total += phi[s]
    return total / len(phi)


@kernel
def mean_outcome(model: CountedRows, k: int, phi: np.ndarray, centre: float) -> float:
    """The empirical mean of r + phi(s') of a visited pair, the prior included; ``centre`` is the average of phi."""
    total = model.r_hat[k] * model.visits[k] + model.prior * (0.5 + centre)
    for i in range(model.ptr[k], model.ptr[k + 1]):
        total += model.times[i] * phi[model.succ[i]]
    return total / (model.visits[k] + model.prior)


@kernel
def best_outcome(model: CountedRows, keep: np.ndarray, state: int, phi: np.ndarray, centre: float) -> float:
    """gamma: the best mean outcome over the kept pairs of a state; -inf where none is kept."""
    best = -math.inf
    for k in range(model.pair_ptr[state], model.pair_ptr[state + 1]):
        if keep[k]:
            best = max(best, mean_outcome(model, k, phi, centre))
    return best


@kernel
def _has_untried(model: CountedRows, state: int) -> bool:
    for k in range(model.pair_ptr[state], model.pair_ptr[state + 1]):  # noqa: SIM110 - any() is not compiled
        if model.visits[k] <= 0:
            return True
    return False


@kernel
def _sweep_kept(kept: tuple[CountedRows, np.ndarray], phi: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """out = T phi on the kept pairs; the smallest and the largest of T phi - phi."""
    model, keep = kept
    centre, low, high = average(phi), math.inf, -math.inf
    for s in range(len(phi)):
        out[s] = best_outcome(model, keep, s, phi, centre)
        if _has_untried(model, s):
            out[s] = max(out[s], 1.0 + centre)
        low, high = min(low, out[s] - phi[s]), max(high, out[s] - phi[s])
    return low, high


@kernel
def empirical_bias(
    model: CountedRows, keep: np.ndarray, accuracy: float, max_sweeps: int, phi: np.ndarray
) -> tuple[int, float, float]:
    """The bias of the empirical MDP on the kept pairs, from and into ``phi``; least value 0.

    Damped value iteration; returns the number of sweeps and the least and largest of T phi - phi, which bracket the
    gain. A pair never played is read as paying 1 and leading to every state alike ("each pair once"). While pairs are
    few the empirical MDP may fall apart; its gains then differ and only the cap ends the sweeps.
    """
    aim = Aim(1.0, DAMPING, accuracy / 2, 0.0, max_sweeps, 1.0, 0.0)  # accuracy / 2: of half the bracket
    n, low, high = damped_sweeps(_sweep_kept, (model, keep), phi, aim)
    _lift_to_zero(phi)
    return n, low, high


@kernel
def _lift_to_zero(phi: np.ndarray) -> None:
    least = math.inf
    for s in range(len(phi)):
        least = min(least, phi[s])
    for s in range(len(phi)):
        phi[s] -= least


@kernel
def outcome_distribution(model: CountedRows, k: int, phi: np.ndarray, weight: np.ndarray, x: np.ndarray) -> int:
    """Write the distribution of r + phi(s') of a visited pair, prior included, as masses and values; their number."""
    n, r, whole = 0, model.r_hat[k], model.visits[k] + model.prior
    for i in range(model.ptr[k], model.ptr[k + 1]):
        p, after = model.times[i] / whole, phi[model.succ[i]]
        if model.binary[k]:
            weight[n], x[n] = p * (1.0 - r), after
            weight[n + 1], x[n + 1] = p * r, 1.0 + after
            n += 2
        else:
            weight[n], x[n] = p, r + after
            n += 1
    if model.prior > 0.0:
        for s in range(len(phi)):
            weight[n], x[n] = model.prior / (whole * len(phi)), 0.5 + phi[s]
            n += 1
    return n


@kernel
def write_indices(
    model: CountedRows, keep: np.ndarray, state: int, phi: np.ndarray, top: float, out: np.ndarray
) -> float:
    """Write the index of each pair of ``state`` into ``out``, its first action first; returns gamma.

    ``top`` is 1 + max phi. O(S) and O(successors of the state's pairs) times about eight; with a prior O(S) times that.
    """
    first, last = model.pair_ptr[state], model.pair_ptr[state + 1]
    size = 0
    for k in range(first, last):
        size = max(size, model.ptr[k + 1] - model.ptr[k])
    size = 2 * size + len(phi) if model.prior > 0.0 else 2 * size
    weight, x = np.empty(size), np.empty(size)
    centre = average(phi)
    gamma = best_outcome(model, keep, state, phi, centre)
    tie = 1e-12 * (1.0 + abs(gamma))  # what rounding may put between two equal means
    for k in range(first, last):
        n = float(model.visits[k])
        if n <= 0.0:
            out[k - first] = -math.inf
        elif mean_outcome(model, k, phi, centre) >= gamma - tie:
            out[k - first] = math.log(n)
        else:
            atoms = outcome_distribution(model, k, phi, weight, x)
            out[k - first] = n * kl_inf(weight, x, atoms, gamma, top) + math.log(n)
    return gamma
