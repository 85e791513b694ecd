"""Which decisions a log leaves open, what each is worth, and how many of the next steps they would take.

MDPs are drawn from the posterior. In one with optimal gain g* and bias h* a policy of gain g has

    g* - g = sum over states of (share of time in s) (best value in s - value of its action in s),

values being r + p.h*: what it loses, it loses by single decisions. The mean over draws is what knowing better would be
worth. With a discount, shares of time are discounted visits from where the log starts, and it is values that are lost.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.learners.contract import Learner, pair_played
from equirl.logs.log import Log
from equirl.logs.log_policy import drawn_problems, learn
from equirl.model.pairs import action_labels, state_labels
from equirl.numerics.random_draws import draw_state
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Stop, single_sweep
from equirl.posterior.drawn_plan import POLICY_SWEEPS, chain_of, plan_from, worth_in
from equirl.posterior.reward_priors import SAME
from equirl.solving.policies import policy_pairs
from equirl.solving.renewal import share_of_time
from equirl.words.checking import inside, whole_number
from equirl.words.tables import Table

MATTERS = 1e-3  # decisions that together are worth less, of what the best policy earns more than the worst, are settled
ACCURACY, MOST_SWEEPS = 1e-5, 5000  # of plans
WORLDS = 10  # drawn MDPs, at most, in which a learner spends the steps, and the worst policy is found
NOTHING_OPEN = "nothing is left to learn that would change the policy"


def next_steps(
    log: Log, steps: int = 1000, *, policy: Any = None, learner: str = "c-psrl", discount: float | None = None,
    draws: int = 50, seed: Seed = 0,
) -> Table:  # fmt: skip
    """As :meth:`equirl.Log.next_steps` says."""
    steps, draws, root = whole_number("steps", steps), whole_number("draws", draws), seed_sequence("seed", seed)
    by = 1.0 if discount is None else inside("discount", discount)
    aim: dict[str, Any] = {} if discount is None else {"discount": by}
    log.agent(learner, **aim)  # one that cannot be is told before anything is drawn
    given = learn(log, draws=draws, discount=discount, seed=seed).policy if policy is None else policy
    now = policy_pairs(log.pairs, given)
    seen, models, _ = drawn_problems(log, draws, root, discount=by)

    rng, stop = draw_state(root), Stop(by, ACCURACY * (1.0 if by == 1.0 else 1.0 - by), MOST_SWEEPS, POLICY_SWEEPS)
    found = decisions_of(log, now, models, stop, rng)
    undecided = open_decisions(found.worth, MATTERS * _range_of_worth(log, models[:WORLDS], stop, rng))
    rival, spent, visits = found.rival[undecided], np.zeros(log.pairs.n_states), log.seen.visits
    if len(undecided):
        known = now.copy()
        known[undecided] = np.where(visits[rival] > visits[now[undecided]], rival, now[undecided])
        of_play, *of_learners = root.spawn(1 + min(draws, WORLDS))
        dice, first = np.random.default_rng(of_play), int(np.argmax(log.initial))
        for own, model in zip(of_learners, models, strict=False):
            path = play_drawn(log.agent(learner, own, **aim), DrawnWorld(model, *noise_of(seen)), steps, first, dice)
            spent += steps_by_decision(path, log.pairs.state, known, undecided) / len(of_learners)
    return Table({
        "state": state_labels(log.pairs, undecided.tolist()),
        "action": action_labels(log.pairs, log.pairs.action[now[undecided]].tolist()),
        "rival": action_labels(log.pairs, log.pairs.action[rival].tolist()),
        "chance_better": found.chance[rival],
        "worth": log.reward_map[0] * found.worth[undecided],
        "visits": visits[now[undecided]],
        "rival_visits": visits[rival],
        "steps": spent[undecided],
    }, when_empty=NOTHING_OPEN)  # fmt: skip


# --- what decisions are worth


class Decisions(NamedTuple):
    """What a policy decides, over drawn MDPs; rewards in [0, 1]."""

    worth: np.ndarray  # (S,) of knowing the best action
    rival: np.ndarray  # (S,) the pair from which most is to be expected beside the policy's
    chance: np.ndarray  # (M,) the share of draws in which a pair is better than the policy's


def decisions_of(log: Log, now: np.ndarray, models: list[ExactModel], stop: Stop, rng: np.ndarray) -> Decisions:
    """What the decisions of a policy, a pair per state, lose on average over drawn MDPs."""
    (S, M), ptr, state = (log.pairs.n_states, log.pairs.n_pairs), log.pairs.ptr, log.pairs.state
    worth, bias, hope, chance = np.zeros(S), np.zeros(S), np.zeros(M), np.zeros(M)
    for model in models:
        plan = plan_from(int(np.argmax(log.initial)), ptr, model, bias, stop, rng)
        bias = plan.bias
        value = single_sweep(ptr, model, bias, stop.discount)().q
        better = value - value[now][state]
        better[better <= 2 * plan.span] = 0.0
        share = share_of_play(model, now, log.initial, stop.discount)
        worth += share * np.maximum.reduceat(better, ptr[:-1])
        hope += share[state] * better
        chance += better > 0
    rival = np.lexsort((-hope, state))[ptr[:-1]]
    return Decisions(worth / len(models), rival, chance / len(models))


def share_of_play(model: ExactModel, policy: np.ndarray, initial: np.ndarray, discount: float) -> np.ndarray:
    """(S,) how much of the time a policy is in each state of a drawn MDP; with a discount, its discounted visits."""
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    chain, _ = chain_of(model, policy)
    if discount == 1.0:
        return share_of_time(chain, initial)
    return spsolve(sparse.csc_array(sparse.identity(len(initial)) - discount * chain.T), initial)


def _range_of_worth(log: Log, models: list[ExactModel], stop: Stop, rng: np.ndarray) -> float:
    """What the best policy earns more than the worst by pairs that were played, on average over drawn MDPs."""
    played, start, none = log.seen.visits > 0, int(np.argmax(log.initial)), np.zeros(log.pairs.n_states)
    total = 0.0
    for model in models:
        for sign, reward in ((1, model.reward), (-1, -np.where(played, model.reward, 1.0))):
            found = plan_from(start, log.pairs.ptr, model.with_rewards(reward), none, stop, rng).policy
            total += sign * worth_in(model, found, log.initial, stop.discount)
    return max(0.0, total / len(models))


def open_decisions(worth: np.ndarray, least: float) -> np.ndarray:
    """The states in decreasing worth, without those at the end that together are worth no more than ``least``.

    >>> open_decisions(np.array([0.0, 0.3, 0.02, 0.5, 0.03]), 0.06)
    array([3, 1])
    """
    order = np.argsort(-worth, kind="stable")
    together = np.cumsum(worth[order][::-1])[::-1]
    return order[together > least]


# --- the steps they take


class DrawnWorld(NamedTuple):
    """A drawn MDP to play in."""

    model: ExactModel
    coin: np.ndarray  # (M,) whether a pair pays 0 or 1
    noise: np.ndarray  # (M,) standard deviations of what others pay


def noise_of(seen: Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """Who paid nothing but 0 and 1, those never played among them, and how much the others varied."""
    n = np.maximum(1, seen.visits)
    variance = np.maximum(0.0, seen.r_squares / n - (seen.r_sum / n) ** 2)
    return seen.r_sum - seen.r_squares <= SAME * n, np.sqrt(variance)


def play_drawn(agent: Learner, world: DrawnWorld, steps: int, state: int, rng: np.random.Generator) -> np.ndarray:
    """(steps,) the pairs that a learner plays in a drawn MDP, where rewards vary as they did in the log."""
    (rows, rest, mean, *_), ptr, S = world.model, np.array(agent.pairs.ptr), agent.pairs.n_states
    path, known = np.empty(steps, np.int64), {}
    for t in range(steps):
        pair = path[t] = int(pair_played(agent.decide(state), ptr, state, 0))
        if pair not in known:
            row = rows.row(pair)
            known[pair] = np.cumsum(rows.prob[row]).tolist(), rows.succ[row].tolist()
        along, succ = known[pair]
        place = bisect_left(along, rng.random() * (along[-1] + rest[pair] if along else 1.0))
        state = succ[place] if place < len(along) else int(rng.integers(S))
        tossed, varied = float(rng.random() < mean[pair]), mean[pair] + world.noise[pair] * rng.standard_normal()
        agent.record_step(pair, tossed if world.coin[pair] else min(1.0, max(0.0, varied)), state)
    return path


def steps_by_decision(path: np.ndarray, state: np.ndarray, known: np.ndarray, undecided: np.ndarray) -> np.ndarray:
    """(S,) how many steps of a path were spent on each of some decisions, ``known`` being a pair per state.

    An unbroken run of other pairs counts for the undecided state in it, until there is another.

    >>> steps_by_decision(np.array([0, 3, 1, 3, 0, 3]), np.array([0, 0, 1, 1]), np.array([0, 2]), np.array([0]))
    array([3., 0.])
    """
    spent, is_open, away, cause = np.zeros(len(known)), np.isin(np.arange(len(known)), undecided), 0, -1
    for pair, s in zip(path.tolist(), state[path].tolist(), strict=True):
        if pair == known[s]:
            away, cause = 0, -1
            continue
        away, cause = away + 1, s if is_open[s] else cause
        if cause >= 0:
            spent[cause] += away
            away = 0
    return spent
