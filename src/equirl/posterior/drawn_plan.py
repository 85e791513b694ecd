"""Drawn MDPs: the best policy from where one stands, and what policies earn in them.

A drawn MDP may fall apart into pieces that do not reach each other; a common gain exists only inside one. So planning
looks at the part that can be reached from the current state, and elsewhere acts greedily by the values known from
earlier draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from equirl.model.pairs import Pairs
from equirl.model.rows import Rows
from equirl.numerics.arrays import take_rows
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
from equirl.solving.renewal import share_of_time

POLICY_SWEEPS = 5  # cheap sweeps between full ones


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
    planned: Callable[..., Portions[Plan]] = sweep_by_sweep,
) -> Portions[Plan]:
    """The same, sweep by sweep."""
    S, look_ups = len(bias), model.n_entries + len(model.rest)
    yield look_ups
    coin = np.empty(S)
    _toss(rng, coin)
    inside = np.empty(S + 1, np.int64)
    n = _reach(state, pair_ptr, model, np.zeros(S, np.bool_), inside)
    if n == S or stop.discount < 1.0:
        return (yield from planned(pair_ptr, model, stop, coin, bias))
    yield look_ups
    inside = inside[:n]
    ptr, part = _part(pair_ptr, model, inside)
    found = yield from planned(ptr, part, stop, coin[inside], bias[inside])
    yield look_ups
    whole = bias - bias[inside].min()
    whole[inside] = found.bias
    work = single_sweep(pair_ptr, model, whole)()
    policy = np.empty(S, np.int64)
    choose(np.array(pair_ptr), work.q, 1e-12 * (1 + np.abs(whole).max()), coin, policy)
    policy[inside] = pair_ptr[inside] + found.policy - ptr[:-1]
    return found._replace(policy=policy, bias=whole - whole.min())


@lean_kernel
def _toss(rng: np.ndarray, coin: np.ndarray) -> None:
    for s in range(len(coin)):
        coin[s] = uniform(rng)


@lean_kernel
def _reach(state: int, pair_ptr: np.ndarray, model: ExactModel, found: np.ndarray, inside: np.ndarray) -> int:
    """List the states that can be reached from ``state`` in the order they are found; how many there are.

    ``found``: (S,) False; ``inside``: (S + 1,) the list.
    """
    inside[0], found[state], head, tail = state, True, 0, 1
    while head < tail < len(found):
        s = inside[head]
        head += 1
        for k in range(pair_ptr[s], pair_ptr[s + 1]):
            if model.rest[k] > 0.0:
                return len(found)
        for i in range(model.rows.ptr[pair_ptr[s]], model.rows.ptr[pair_ptr[s + 1]]):
            x = model.rows.succ[i]
            inside[tail] = x  # stays where it is new: no branch that cannot be foreseen
            tail += not found[x]
            found[x] = True
    return tail


def _part(pair_ptr: np.ndarray, model: ExactModel, inside: np.ndarray) -> tuple[np.ndarray, ExactModel]:
    """The states ``inside`` alone, numbered in this order."""
    ptr, pairs = take_rows(pair_ptr, inside)
    number = np.empty(len(pair_ptr) - 1, np.int64)
    number[inside] = np.arange(len(inside))
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
