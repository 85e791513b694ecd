"""Drawn MDPs: the best policy from where one stands, what policies earn in them, and what was seen drawn again.

A drawn MDP may fall apart into pieces that do not reach each other; a common gain exists only inside one. So planning
looks at the part that can be reached from the current state, and elsewhere acts greedily by the values known from
earlier draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.model.pairs import Pairs
from equirl.model.rows import Rows
from equirl.numerics.arrays import owners, starts, take_rows
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.portions import Portions, finished
from equirl.numerics.random_draws import uniform
from equirl.planning.exact_model import ExactModel, follow_exact, sweep_exact
from equirl.planning.optimistic_planning import (
    Choices,
    Plan,
    Plannable,
    Stop,
    choose,
    extended_value_iteration,
    make_work,
    plan_of,
    single_sweep,
    sweeps_in_portions,
)
from equirl.posterior.reward_priors import SAME
from equirl.solving.renewal import share_of_time

POLICY_SWEEPS = 5  # cheap sweeps between full ones

Paid = tuple[np.ndarray, np.ndarray] | None  # (nnz,) sums of the rewards that came with each successor, and of squares


def plan_from(
    state: int, pair_ptr: np.ndarray, model: ExactModel, bias: np.ndarray, stop: Stop, rng: np.ndarray
) -> Plan:
    """Plan in the part of ``model`` that can be reached from ``state``, warm from ``bias``; ties at random.

    With a discount the pieces need no common gain: everything is planned in at once.
    """
    return finished(plan_portions(state, pair_ptr, model, bias, stop, rng, _all_sweeps))


def plan_portions(
    state: int,
    pair_ptr: np.ndarray,
    model: ExactModel,
    bias: np.ndarray,
    stop: Stop,
    rng: np.ndarray,
    planned: Callable[..., Portions[Plan]] | None = None,
) -> Portions[Plan]:
    """The same, sweep by sweep."""
    planned = planned or sweep_by_sweep
    S, look_ups = len(bias), model.n_entries + len(model.rest)
    yield look_ups
    coin = np.empty(S)
    _toss(rng, coin)
    number, inside = np.full(S, -1), np.empty(S, np.int64)
    n = _reach(state, pair_ptr, model, number, inside)
    if n == S or stop.discount < 1.0:
        return (yield from planned(pair_ptr, model, stop, coin, bias))
    yield look_ups
    inside = inside[:n]
    ptr, part = _part(pair_ptr, model, inside, number)
    found = yield from planned(ptr, part, stop, coin[inside], bias[inside])
    yield look_ups
    whole = bias - bias[inside].min()
    whole[inside] = found.bias
    work = single_sweep(pair_ptr, model, whole)()
    policy = np.empty(S, np.int64)
    choose(np.array(pair_ptr), work.q, 1e-12 * (1 + np.abs(whole).max()), coin, policy)
    policy[inside] = pair_ptr[inside] + found.policy - ptr[:-1]
    return found._replace(policy=policy, bias=whole - whole.min())


def _all_sweeps(ptr: np.ndarray, model: ExactModel, stop: Stop, coin: np.ndarray, start: np.ndarray) -> Portions[Plan]:
    yield math.inf
    return extended_value_iteration(
        ptr, model, stop.accuracy, coin=coin, start=start, max_sweeps=stop.max_sweeps,
        policy_sweeps=stop.policy_sweeps, discount=stop.discount,
    )  # fmt: skip


def sweep_by_sweep(
    ptr: np.ndarray, model: ExactModel, stop: Stop, coin: np.ndarray, start: np.ndarray
) -> Portions[Plan]:
    """Extended value iteration that can be paused after each full sweep and each round of cheap ones."""
    ptr, u = np.array(ptr), start - start.min()
    choices, work = Choices(ptr[:-1].copy(), ptr[1:].copy()), make_work(u, model.reward)
    look_ups = model.n_entries + len(model.reward)
    end = yield from sweeps_in_portions(sweep_exact, follow_exact, choices, model, work, stop, look_ups)
    return plan_of(ptr, work, coin, stop, *end)


@lean_kernel
def _toss(rng: np.ndarray, coin: np.ndarray) -> None:
    for s in range(len(coin)):
        coin[s] = uniform(rng)


@lean_kernel
def _reach(state: int, pair_ptr: np.ndarray, model: ExactModel, number: np.ndarray, inside: np.ndarray) -> int:
    """Number the states that can be reached from ``state`` in the order they are found; how many there are."""
    inside[0], number[state], head, tail = state, 0, 0, 1
    while head < tail:
        s = inside[head]
        head += 1
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            if model.rest[k] > 0.0:
                return len(number)
            for i in range(model.rows.ptr[k], model.rows.ptr[k + 1]):
                x = model.rows.succ[i]
                if number[x] < 0:
                    number[x] = tail
                    inside[tail] = x
                    tail += 1
        if tail == len(number):
            break
    return tail


def _part(
    pair_ptr: np.ndarray, model: ExactModel, inside: np.ndarray, number: np.ndarray
) -> tuple[np.ndarray, ExactModel]:
    ptr, pairs = take_rows(pair_ptr, inside)
    part = model.restrict(pairs)
    rows = part.rows._replace(succ=number[part.rows.succ].astype(np.int32))
    return ptr, part._replace(rows=rows, state=number[part.state])


def mean_model(pairs: Pairs, played: np.ndarray, models: list[ExactModel]) -> ExactModel:
    """The mean of drawn MDPs; pairs never played stay put and pay the least reward, so that no policy seeks them."""
    from scipy import sparse

    shape, weight = (pairs.n_pairs, pairs.n_states), played.astype(float)
    total = sparse.csr_array((1 - weight, (np.arange(len(weight)), pairs.state)), shape=shape)
    for model in models:
        own_ptr, own_succ, own_prob = model.rows
        row = np.repeat(weight, np.diff(own_ptr))
        total = sparse.csr_array(total + sparse.csr_array((row * own_prob, own_succ, own_ptr), shape=shape))
    total.eliminate_zeros()
    prob = total.data / np.repeat(np.asarray(total.sum(axis=1)).ravel(), np.diff(total.indptr))
    reward = weight * np.mean([model.reward for model in models], axis=0)
    ptr, succ = total.indptr.astype(np.int64), total.indices.astype(np.int32)
    return ExactModel(Rows(ptr, succ, prob), np.zeros(len(weight)), reward, np.array(pairs.state), models[0].stay)


def gain_in(model: ExactModel, policy: np.ndarray, initial: np.ndarray) -> float:
    """The gain of a policy, a pair per state, in a drawn MDP from the first state."""
    return worth_in(model, policy, initial, 1.0)


def worth_in(model: ExactModel, policy: np.ndarray, initial: np.ndarray, discount: float) -> float:
    """What a policy is worth from the first state in a drawn MDP: its gain, or with a discount its value."""
    return chain_worth(*chain_of(model, policy), initial, discount)


def chain_worth(
    chain: Any, reward: np.ndarray, initial: np.ndarray, discount: float, takes_time: np.ndarray | None = None
) -> float:
    """The gain of a chain from its first state, or with a discount its value; in some states no time may pass."""
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    timed = np.ones(len(reward), bool) if takes_time is None else takes_time
    if discount == 1.0:
        share = share_of_time(chain, initial)
        return float(share @ reward) if timed.all() else float(share[timed] @ reward[timed] / share[timed].sum())
    ahead = sparse.diags_array(np.where(timed, discount, 1.0)) @ chain
    return float(initial @ spsolve(sparse.csc_array(sparse.identity(len(reward)) - ahead), reward))


def chain_of(model: ExactModel, policy: np.ndarray) -> tuple[Any, np.ndarray]:
    """The chain of a policy, a pair per state, in a drawn MDP, and what its states pay."""
    from scipy import sparse

    own, S = model.restrict(policy), len(policy)
    chain = sparse.csr_array((own.rows.prob, own.rows.succ, own.rows.ptr), shape=(S, S))
    chain.sum_duplicates()
    if (anywhere := np.flatnonzero(own.rest > 0)).size:
        row = np.repeat(anywhere, S)
        spread = np.repeat(own.rest[anywhere] / S, S), (row, np.tile(np.arange(S), len(anywhere)))
        chain = sparse.csr_array(chain + sparse.csr_array(spread, shape=(S, S)))
    total = np.asarray(chain.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / total) @ chain), own.reward


def losses(model: Plannable, plan: Plan, pair_ptr: np.ndarray, pairs: np.ndarray, discount: float = 1.0) -> np.ndarray:
    """(S,) what playing these pairs once, and then the plan, loses against the plan."""
    value = single_sweep(pair_ptr, model, plan.bias, discount)().q
    return np.maximum(0.0, np.maximum.reduceat(value, pair_ptr[:-1]) - value[pairs])


def resampled_rows(
    seen: Snapshot, policy: np.ndarray, model: ExactModel, rng: np.random.Generator, paid: Paid = None
) -> ExactModel:
    """The rows of a policy by the Bayesian bootstrap (Rubin 1981); those never played as in ``model``.

    A pair leads where it was seen to lead, with probabilities Dirichlet(counts), and pays what came with that
    (``resampled_rewards``). No prior has a say. In a posterior every pair on the way may also lead where it never did:
    with few visits that shifts what a policy earns, at every pair the same way. So the two spreads together say more
    than either.
    """
    played, drawn = seen.visits[policy] > 0, model.restrict(policy)
    ptr, entry = take_rows(seen.ptr, policy)
    owner, S = owners(ptr), len(policy)
    weight = rng.standard_gamma(seen.count[entry].astype(float))
    prob = weight / np.bincount(owner, weights=weight, minlength=S)[owner]
    mean = np.bincount(owner, weights=prob * resampled_rewards(seen, policy, rng, paid), minlength=S)

    own_size, size = np.diff(ptr), np.diff(drawn.rows.ptr)
    whole = starts(np.where(played, own_size, size))
    succ, chance = np.zeros(whole[-1], np.int32), np.zeros(whole[-1])
    rows = np.flatnonzero(played), ptr, seen.succ[entry], prob
    for chosen, from_ptr, states, masses in (rows, (np.flatnonzero(~played), *drawn.rows)):
        sizes, place = take_rows(from_ptr, chosen)
        goal = np.repeat(whole[chosen] - sizes[:-1], np.diff(sizes)) + np.arange(sizes[-1])
        succ[goal], chance[goal] = states[place], masses[place]
    rest, reward = np.where(played, 0.0, drawn.rest), np.where(played, mean, drawn.reward)
    return ExactModel(Rows(whole, succ, chance), rest, reward, np.arange(S), drawn.stay)


def resampled_rewards(seen: Snapshot, pairs: np.ndarray, rng: np.random.Generator, paid: Paid = None) -> np.ndarray:
    """What comes with each successor of some pairs, likewise: where it is not known, what the pair pays on average.

    It is what always came, a coin's mean Beta(sum, visits - sum), or a mean as far off as its own noise allows.
    """
    ptr, entry = take_rows(seen.ptr, pairs)
    if paid is not None:
        return resampled_means(seen.count[entry], paid[0][entry], paid[1][entry], rng)
    return resampled_means(seen.visits[pairs], seen.r_sum[pairs], seen.r_squares[pairs], rng)[owners(ptr)]


def resampled_means(n: np.ndarray, total: np.ndarray, squares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean rewards, given how many there were, their sums and those of their squares; 0 where there was none."""
    total = np.clip(total, 0.0, n)
    mean = total / np.maximum(1, n)
    variance = np.maximum(0.0, squares / np.maximum(1, n) - mean**2)
    varies, coins = variance > SAME, total - squares <= SAME * n
    tossed = varies & coins
    mean[tossed] = rng.beta(total[tossed], (n - total)[tossed])
    noisy = varies & ~coins
    drawn_mean = mean[noisy] + np.sqrt(variance[noisy] / n[noisy]) * rng.standard_normal(noisy.sum())
    mean[noisy] = np.clip(drawn_mean, 0.0, 1.0)
    return mean
