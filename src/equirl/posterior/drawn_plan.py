"""The best policy of a drawn MDP from where one stands.

A drawn MDP may fall apart into pieces that do not reach each other; a common gain exists only inside one. So planning
looks at the part that can be reached from the current state, and elsewhere acts greedily by the values known from
earlier draws.
"""

from __future__ import annotations

import numpy as np

from equirl.numerics.arrays import take_rows
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import uniform
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Plan, extended_value_iteration
from equirl.planning.sweeps import Stop, choose, single_sweep

POLICY_SWEEPS = 5  # cheap sweeps between full ones


def plan_from(
    state: int, pair_ptr: np.ndarray, model: ExactModel, bias: np.ndarray, stop: Stop, rng: np.ndarray
) -> Plan:
    """Plan in the part of ``model`` that can be reached from ``state``, warm from ``bias``; ties at random.

    With a discount the pieces need no common gain: everything is planned in at once.
    """
    S = len(bias)
    coin = np.empty(S)
    _toss(rng, coin)
    number, inside = np.full(S, -1), np.empty(S, np.int64)
    n = _reach(state, pair_ptr, model, number, inside)
    if n == S or stop.discount < 1.0:
        return _planned(pair_ptr, model, stop, coin, bias)
    inside = inside[:n]
    ptr, part = _part(pair_ptr, model, inside, number)
    found = _planned(ptr, part, stop, coin[inside], bias[inside])
    whole = bias - bias[inside].min()
    whole[inside] = found.bias
    work = single_sweep(pair_ptr, model, whole)()
    policy = np.empty(S, np.int64)
    choose(np.array(pair_ptr), work.q, 1e-12 * (1 + np.abs(whole).max()), coin, policy)
    policy[inside] = pair_ptr[inside] + found.policy - ptr[:-1]
    return found._replace(policy=policy, bias=whole - whole.min())


def _planned(ptr: np.ndarray, model: ExactModel, stop: Stop, coin: np.ndarray, start: np.ndarray) -> Plan:
    return extended_value_iteration(
        ptr, model, stop.accuracy, coin=coin, start=start, max_sweeps=stop.max_sweeps,
        policy_sweeps=stop.policy_sweeps, discount=stop.discount,
    )  # fmt: skip


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
            for i in range(model.ptr[k], model.ptr[k + 1]):
                x = model.succ[i]
                if number[x] < 0:
                    number[x] = tail
                    inside[tail] = x
                    tail += 1
    return tail


def _part(
    pair_ptr: np.ndarray, model: ExactModel, inside: np.ndarray, number: np.ndarray
) -> tuple[np.ndarray, ExactModel]:
    """The MDP of the states inside alone, numbered as found."""
    ptr, pairs = take_rows(pair_ptr, inside)
    part = model.restrict(pairs)
    return ptr, part._replace(succ=number[part.succ].astype(np.int32), state=number[part.state])
