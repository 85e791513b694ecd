"""What to deploy, and what it earns: a policy that does not hope, and the behaviour that the data came from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from equirl.estimation.counts import Snapshot
from equirl.model.pairs import Pairs
from equirl.numerics.arrays import owners, places_in_rows, take_rows
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Plan, extended_value_iteration
from equirl.planning.wary_model import WaryModel
from equirl.posterior.bootstrap import Paid, resampled_rewards
from equirl.posterior.drawn_plan import POLICY_SWEEPS, chain_worth
from equirl.posterior.drawn_rows import LEAST

ACCURACY = 1e-5
MOST_SWEEPS, MOST_LOOKUPS = 5000, 2e9  # where parts of what was seen do not reach each other, sweeps do not converge


def wary_model(
    pairs: Pairs, seen: Snapshot, models: list[ExactModel], caution: float = 0.0, discount: float = 1.0
) -> WaryModel:
    """The mean of drawn MDPs, or with ``caution`` all of them, with a wary view of what was not seen.

    A pair is worth the lower end of the interval that holds so much of the draws: the tenth part from below with 0.8.
    """
    place = places_of_seen(seen, models)
    prob = np.array([model.rows.prob[at] for model, at in zip(models, place, strict=True)])
    reward = np.array([np.where(seen.visits > 0, model.reward, 0.0) for model in models])
    mean = reward.mean(axis=0)
    if caution == 0.0:
        prob, reward = prob.mean(axis=0)[None], mean[None]
    owner, D, M = owners(seen.ptr), len(prob), pairs.n_pairs
    known = np.array([np.bincount(owner, weights=row, minlength=M) for row in prob])
    unseen = np.where(known < 1.0 - LEAST, 1.0 - known, 0.0)
    tried = np.add.reduceat(seen.visits, pairs.ptr[:-1])
    return WaryModel(
        seen.ptr, seen.succ, prob / known[:, owner], unseen, mean, (reward - mean) / discount,
        tried / max(1, tried.sum()), (seen.visits == 0) & (tried[pairs.state] > 0), np.array(pairs.state),
        models[0].stay, int(D * (1.0 - caution) / 2) if D > 1 else 0, np.empty(D),
    )  # fmt: skip


def places_of_seen(seen: Snapshot, models: list[ExactModel]) -> list[np.ndarray]:
    """Where drawn rows hold the successors seen: they come first, in the same order."""
    owner, after = owners(seen.ptr), places_in_rows(seen.ptr)
    places = [model.rows.ptr[:-1][owner] + after for model in models]
    assert all(np.array_equal(model.rows.succ[at], seen.succ) for model, at in zip(models, places, strict=True))
    return places


def wary_plan(pair_ptr: np.ndarray, model: WaryModel, discount: float, coin: np.ndarray) -> Plan:
    """The best policy of a wary model; ``coin``, a number in [0, 1) per state, chooses among equals."""
    sweeps = int(min(MOST_SWEEPS, max(100, MOST_LOOKUPS / max(1, model.n_entries))))
    accuracy = ACCURACY * (1.0 if discount == 1.0 else 1.0 - discount)
    return extended_value_iteration(
        pair_ptr, model, accuracy, coin=coin, policy_sweeps=POLICY_SWEEPS, max_sweeps=sweeps, discount=discount
    )


def wary_worth(model: WaryModel, policy: np.ndarray, initial: np.ndarray, discount: float) -> float:
    """What a policy, a pair per state, is worth from the first state in a wary model of one draw.

    What is not known leads to a state more, where no time passes and a usual state follows.
    """
    S = len(policy)
    ptr, entry = take_rows(model.ptr, policy)
    own = model._replace(
        ptr=ptr, succ=model.succ[entry], prob=model.prob[:, entry], unseen=model.unseen[:, policy],
        reward=model.reward[policy], surplus=model.surplus[:, policy], avoided=np.zeros(S, bool), state=np.arange(S),
    )  # fmt: skip
    bias = wary_plan(np.arange(S + 1), own, discount, np.zeros(S)).bias
    owner, known = owners(ptr), np.diff(ptr) > 0
    value = np.bincount(owner, weights=own.prob[0] * bias[own.succ], minlength=S)
    astray = np.where(known, own.unseen[0] * (own.share @ bias < value), 1.0)
    usual = np.flatnonzero(own.share)
    cells = (
        np.concatenate([own.prob[0] * (1.0 - astray[owner]), astray, own.share[usual]]),
        (
            np.concatenate([owner, np.arange(S), np.full(len(usual), S)]),
            np.concatenate([own.succ, np.full(S, S), usual]),
        ),
    )
    chain, passes = _chain(cells, S + 1), np.arange(S + 1) < S
    return chain_worth(chain, np.append(own.reward, 0.0), np.append(initial, 0.0), discount, passes)


def behaviour_worth(
    pairs: Pairs, seen: Snapshot, initial: np.ndarray, discount: float, rng: np.random.Generator | None = None,
    paid: Paid = None,
) -> float:  # fmt: skip
    """What is earned by going on as before: playing in each state what was played there, as often.

    With ``rng`` what was seen is drawn again (the Bayesian bootstrap). After a state never left it begins anew.
    """
    S, owner = pairs.n_states, owners(seen.ptr)
    weight = seen.count.astype(float) if rng is None else rng.standard_gamma(seen.count.astype(float))
    every, mean = np.arange(pairs.n_pairs), (seen.r_sum / np.maximum(1, seen.visits))[owner]
    mean = mean if rng is None else resampled_rewards(seen, every, rng, paid)
    state = pairs.state[owner]
    total = np.bincount(state, weights=weight, minlength=S)
    left, first = np.flatnonzero(total == 0), np.flatnonzero(initial)
    again = np.repeat(left, len(first)), np.tile(first, len(left))
    cells = (
        np.concatenate([weight / total[state], np.tile(initial[first], len(left))]),
        (np.concatenate([state, again[0]]), np.concatenate([seen.succ, again[1]])),
    )
    reward = np.bincount(state, weights=weight * mean, minlength=S) / np.maximum(total, 1e-300)
    return chain_worth(_chain(cells, S), reward, initial, discount)


def _chain(cells: Any, n: int) -> sparse.csr_array:
    """A chain of n states from (probabilities, (from, to)), in which only what can happen is stored."""
    chain = sparse.csr_array(cells, shape=(n, n))
    chain.sum_duplicates()
    chain.eliminate_zeros()
    return chain
