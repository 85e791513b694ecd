"""Transition tables of Gymnasium environments: ``P[s][a]`` lists (probability, next, reward, terminated)."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from equirl.interop.episode_flags import episode_flag
from equirl.model.pairs import Pairs
from equirl.model.reachability import reached
from equirl.model.transition_rows import check_entries, check_n_states
from equirl.numerics.arrays import starts
from equirl.words.checking import several, whole_number
from equirl.words.formatting import shown

ROLLOUT_STEPS = 20_000
ROLLOUT_LEVEL = 1e-6  # a true table fails the comparison with at most this probability

Outcome = tuple[int, int, bool]  # pair, next state, terminated
OutcomeOdds = dict[Outcome, tuple[float, set[float]]]  # probability and possible rewards


class OutcomeTable(NamedTuple):
    """The outcomes that a transition table lists, one after the other."""

    pairs: Pairs
    pair: np.ndarray  # (E,) int64
    prob: np.ndarray  # (E,) float64
    succ: np.ndarray  # (E,) int64
    reward: np.ndarray  # (E,) float64
    ends: np.ndarray  # (E,) bool: this outcome terminates the episode


def read_table(env: Any) -> OutcomeTable:
    """The checked entries of ``env.unwrapped.P``."""
    bare = env.unwrapped
    table = getattr(bare, "P", None)
    name = type(bare).__name__
    if not isinstance(table, Mapping | Sequence):
        raise ValueError(
            f"{name} has no transition table: from_gymnasium reads P[s][a] = [(probability, next, reward, terminated), "
            "...] from env.unwrapped.P; with other data use TabularMDP.from_arrays or from_pairs"
        )
    if getattr(bare, "fickle_passenger", False):
        raise ValueError(
            f"{name} hides state behind its table: whether the passenger will still change destination is not in the "
            "observation; use fickle_passenger=False"
        )
    n_states = getattr(getattr(bare, "observation_space", None), "n", len(table))
    if len(table) != n_states:
        raise ValueError(f"the table of {name} has {len(table)} states, its observation space {n_states}")
    check_n_states(len(table))
    return _entries(table)


def _entries(table: Any) -> OutcomeTable:
    actions, entries = [], []
    for s in range(len(table)):
        if isinstance(table, Mapping) and s not in table:
            raise ValueError(f"the table has {len(table)} states but no state {s}")
        by_action = table[s]
        if not isinstance(by_action, Mapping | Sequence) or isinstance(by_action, str):
            raise TypeError(f"P[{s}] must list outcomes by action, not {shown(by_action)}")
        actions.append(sorted(_ids(s, by_action)) if isinstance(by_action, Mapping) else list(range(len(by_action))))
        for a in actions[-1]:
            outcomes = [_outcome(s, a, outcome) for outcome in several(f"P[{s}][{a}]", by_action[a])]
            if not outcomes:
                raise ValueError(f"P[{s}][{a}] lists no outcome; a pair needs at least one")
            entries.append(outcomes)
    pairs = Pairs(starts([len(ids) for ids in actions]), np.array([a for ids in actions for a in ids], dtype=np.int64))
    pair = np.repeat(np.arange(pairs.n_pairs), [len(outcomes) for outcomes in entries])
    flat = [outcome for outcomes in entries for outcome in outcomes]
    prob, succ, reward, ends = (np.array(column) for column in zip(*flat, strict=True))
    check_entries(pairs, pair, succ, prob)
    bad = np.flatnonzero(~np.isfinite(reward))
    if len(bad):
        k = bad[0]
        raise ValueError(f"the reward of ({pairs.describe(int(pair[k]))}) on the way to {succ[k]} is {reward[k]}")
    return OutcomeTable(pairs, pair, prob, succ, reward, ends)


def _ids(state: int, by_action: Mapping[Any, Any]) -> list[int]:
    return [whole_number(f"an action of P[{state}]", action, least=0) for action in by_action]


def _outcome(state: int, action: Any, outcome: Any) -> tuple[float, int, float, bool]:
    try:
        prob, succ, reward, ends = outcome
        return float(prob), operator.index(succ), float(reward), episode_flag("terminated", ends)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"P[{state}][{action}] holds {shown(outcome)}, not (probability, next, reward, terminated)"
        ) from None


def restarted(table: OutcomeTable, initial: np.ndarray) -> OutcomeTable:
    """The table in which an outcome that ends the episode leads to a first state instead."""
    starts = np.flatnonzero(initial)
    ends = np.flatnonzero(table.ends)
    pair, reward = (np.repeat(column[ends], len(starts)) for column in (table.pair, table.reward))
    added = (pair, np.outer(table.prob[ends], initial[starts]).ravel(), np.tile(starts, len(ends)), reward)
    kept = (column[~table.ends] for column in table[1:5])
    pair, prob, succ, reward = map(np.concatenate, zip(kept, added, strict=True))
    return OutcomeTable(table.pairs, pair, prob, succ, reward, np.zeros(len(pair), bool))


def absorbed(table: OutcomeTable, initial: np.ndarray) -> OutcomeTable:
    """The table in which a state entered by an ending outcome is kept for ever, and pays nothing there.

    Such a state must not also be entered without an end, from anywhere that can be reached.
    """
    absorbing = np.zeros(table.pairs.n_states, bool)
    absorbing[table.succ[table.ends & (table.prob > 0)]] = True
    if (absorbing & (initial > 0)).any():
        s = int(np.flatnonzero(absorbing & (initial > 0))[0])
        raise ValueError(f"state {s} ends episodes and starts them, so it cannot absorb; use on_terminal='restart'")
    state = table.pairs.state[table.pair]
    lives = ~absorbing[state] & (table.prob > 0)
    both = lives & ~table.ends & absorbing[table.succ]
    both &= reached(initial > 0, state[lives], table.succ[lives])[state]
    if both.any():
        k = int(np.flatnonzero(both)[0])
        raise ValueError(
            f"state {table.succ[k]} ends the episode on some ways in, but not on that from "
            f"({table.pairs.describe(int(table.pair[k]))}), so it cannot be absorbing; use on_terminal='restart'"
        )
    stays = np.flatnonzero(absorbing[table.pairs.state])
    added = (stays, np.ones(len(stays)), table.pairs.state[stays], np.zeros(len(stays)))
    kept = (column[~absorbing[state]] for column in table[1:5])
    pair, prob, succ, reward = map(np.concatenate, zip(kept, added, strict=True))
    return OutcomeTable(table.pairs, pair, prob, succ, reward, np.zeros(len(pair), bool))


def compare_with_rollouts(env: Any, table: OutcomeTable, initial: np.ndarray, seed: int) -> None:
    """Play ``env`` at random and refuse a table that its outcomes contradict.

    An outcome the table does not list is refused at once; frequencies are refused when Hoeffding's bound puts them
    out of reach at level 1e-6 over all comparisons together.
    """
    expected = _outcome_odds(table)
    seen, starts = _rollouts(env, table, expected, seed)
    visits = Counter[int]()
    for (pair, _, _), n in seen.items():
        visits[pair] += n
    cells = [
        (f"next state {after} of ({table.pairs.describe(pair)})", p, seen[pair, after, ends], visits[pair])
        for (pair, after, ends), (p, _) in expected.items()
    ]
    cells += [(f"initial state {s}", float(initial[s]), starts[s], starts.total()) for s in range(len(initial))]
    _compare(cells)


def _rollouts(env: Any, table: OutcomeTable, expected: OutcomeOdds, seed: int) -> tuple[Counter[Outcome], Counter[int]]:
    """How often each outcome, and each initial state, came up in random play."""
    rng = np.random.default_rng(seed)
    seen, starts = Counter[Outcome](), Counter[int]()
    state, over = 0, True
    for step in range(ROLLOUT_STEPS):
        if over:
            state = _state(env.reset(seed=seed if step == 0 else None)[0], table)
            starts[state] += 1
        pair = int(rng.integers(table.pairs.ptr[state], table.pairs.ptr[state + 1]))
        after, reward, ends, truncated, _ = env.step(int(table.pairs.action[pair]))
        ends, truncated = episode_flag("terminated", ends), episode_flag("truncated", truncated)
        outcome = pair, _state(after, table), ends
        _, rewards = expected.get(outcome, (0.0, ()))
        if not any(abs(reward - paid) <= 1e-9 for paid in rewards):
            raise ValueError(
                f"the table lists no outcome of ({table.pairs.describe(pair)}) with next state {after}, reward "
                f"{reward} and terminated={ends}, but the environment gave it"
            )
        seen[outcome] += 1
        state, over = outcome[1], ends or truncated
    return seen, starts


def _state(observation: Any, table: OutcomeTable) -> int:
    try:
        return table.pairs.state_number(observation)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the environment shows {shown(observation)}, which is no state of its table: {error}"
        ) from None


def _outcome_odds(table: OutcomeTable) -> OutcomeOdds:
    """Probability and possible rewards of each outcome (pair, next state, terminated)."""
    odds: OutcomeOdds = {}
    for pair, prob, succ, reward, ends in zip(*(column.tolist() for column in table[1:]), strict=True):
        if prob > 0:
            total, rewards = odds.get((pair, succ, ends), (0.0, set()))
            odds[pair, succ, ends] = total + prob, rewards | {reward}
    return odds


def _compare(cells: list[tuple[str, float, int, int]]) -> None:
    allowed = math.log(2 * len(cells) / ROLLOUT_LEVEL) / 2
    for what, p, count, n in cells:
        if (count - n * p) ** 2 > n * allowed or (p == 0 and count):
            raise ValueError(f"{what}: probability {p:g} in the table, frequency {count / n:g} in {n} rollouts")
