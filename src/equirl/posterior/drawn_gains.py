"""What policies earn in drawn MDPs, and the mean of such MDPs: how sure one is of a policy."""

from __future__ import annotations

import numpy as np

from equirl.model.pairs import Pairs
from equirl.planning.exact_model import ExactModel
from equirl.planning.extended_value_iteration import Plan
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
    from scipy import sparse

    own, S = model.restrict(policy), len(initial)
    chain = sparse.csr_array((own.prob, own.succ, own.ptr), shape=(S, S))
    chain.sum_duplicates()
    if (anywhere := np.flatnonzero(own.rest > 0)).size:
        row = np.repeat(anywhere, S)
        spread = np.repeat(own.rest[anywhere] / S, S), (row, np.tile(np.arange(S), len(anywhere)))
        chain = sparse.csr_array(chain + sparse.csr_array(spread, shape=(S, S)))
    total = np.asarray(chain.sum(axis=1)).ravel()
    chain = sparse.csr_array(sparse.diags_array(1 / total) @ chain)
    return float(share_of_time(chain, initial) @ own.reward)


def losses(model: ExactModel, plan: Plan, pair_ptr: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(S,) what playing these pairs once, and then the plan, loses against the plan."""
    value = single_sweep(pair_ptr, model, plan.bias)().q
    return np.maximum(0.0, np.maximum.reduceat(value, pair_ptr[:-1]) - value[pairs])
