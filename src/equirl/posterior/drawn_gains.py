"""What policies earn in drawn MDPs, and the mean of such MDPs: how sure one is of a policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.model.pairs import Pairs
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Plan
from equirl.planning.sweeps import single_sweep
from equirl.solving.renewal import share_of_time


def mean_model(pairs: Pairs, played: np.ndarray, models: list[ExactModel]) -> ExactModel:
    """The mean of drawn MDPs; pairs never played stay put and pay the least reward, so that no policy seeks them."""
    from scipy import sparse

    shape, weight = (pairs.n_pairs, pairs.n_states), played.astype(float)
    total = sparse.csr_array((1 - weight, (np.arange(len(weight)), pairs.state)), shape=shape)
    for model in models:
        row = np.repeat(weight, np.diff(model.ptr))
        total = sparse.csr_array(total + sparse.csr_array((row * model.prob, model.succ, model.ptr), shape=shape))
    total.eliminate_zeros()
    prob = total.data / np.repeat(np.asarray(total.sum(axis=1)).ravel(), np.diff(total.indptr))
    reward = weight * np.mean([model.reward for model in models], axis=0)
    ptr, succ = total.indptr.astype(np.int64), total.indices.astype(np.int32)
    return ExactModel(ptr, succ, prob, np.zeros(len(weight)), reward, np.array(pairs.state), models[0].stay)


def gain_in(model: ExactModel, policy: np.ndarray, initial: np.ndarray) -> float:
    """The gain of a policy, a pair per state, in a drawn MDP from the first state."""
    chain, reward = _chain(model, policy)
    return float(share_of_time(chain, initial) @ reward)


def worth_in(model: ExactModel, policy: np.ndarray, initial: np.ndarray, discount: float) -> float:
    """What a policy is worth from the first state in a drawn MDP: its gain, or with a discount its value."""
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    if discount == 1.0:
        return gain_in(model, policy, initial)
    chain, reward = _chain(model, policy)
    system = sparse.csc_array(sparse.identity(len(initial)) - discount * chain)
    return float(initial @ spsolve(system, reward))


def best_worth(model: ExactModel, plan: Plan, initial: np.ndarray, discount: float) -> float:
    """What the best policy is worth: that of the plan, by its certificate where it has one."""
    if not plan.converged:
        return worth_in(model, plan.policy, initial, discount)
    return plan.gain if discount == 1.0 else float(initial @ plan.bias) + plan.gain / (1.0 - discount)


def _chain(model: ExactModel, policy: np.ndarray) -> tuple[Any, np.ndarray]:
    """The sparse chain of a policy, and its rewards."""
    from scipy import sparse

    own, S = model.restrict(policy), len(policy)
    chain = sparse.csr_array((own.prob, own.succ, own.ptr), shape=(S, S))
    chain.sum_duplicates()
    if (anywhere := np.flatnonzero(own.rest > 0)).size:
        row = np.repeat(anywhere, S)
        spread = np.repeat(own.rest[anywhere] / S, S), (row, np.tile(np.arange(S), len(anywhere)))
        chain = sparse.csr_array(chain + sparse.csr_array(spread, shape=(S, S)))
    total = np.asarray(chain.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / total) @ chain), own.reward


def losses(model: ExactModel, plan: Plan, pair_ptr: np.ndarray, pairs: np.ndarray, discount: float = 1.0) -> np.ndarray:
    """(S,) what playing these pairs once, and then the plan, loses against the plan."""
    value = single_sweep(pair_ptr, model, plan.bias, discount)().q
    return np.maximum(0.0, np.maximum.reduceat(value, pair_ptr[:-1]) - value[pairs])
