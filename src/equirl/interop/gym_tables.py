"""MDPs of Gymnasium environments with a transition table: ``P[s][a]`` lists (probability, next, reward, terminated)."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from equirl.interop.encoder import episode_flag
from equirl.interop.gym import TabularEnv
from equirl.model.mdp import Picture, TabularMDP, split_extras
from equirl.model.pairs import Pairs
from equirl.model.reachability import reached
from equirl.model.reward_distributions import unit_map
from equirl.model.row_readers import initial_distribution
from equirl.model.rows import Rows, check_entries, check_n_states, rows_from_triplets
from equirl.numerics.arrays import starts
from equirl.words.checking import choice, flag, several, warn_caller, whole_number
from equirl.words.formatting import shown

ICE, FLOOR = "F", "."  # letters of Gymnasium's maps, and of ours
ON_TERMINAL = ("restart", "absorb", "error")
ROLLOUT_STEPS = 20_000
ROLLOUT_LEVEL = 1e-6  # a true table fails the comparison with at most this probability

Move = tuple[int, int, bool]  # pair, next state, terminated
OutcomeOdds = dict[Move, tuple[float, set[float]]]  # probability and possible rewards


class OutcomeTable(NamedTuple):
    """The outcomes that a transition table lists, one after the other."""

    pairs: Pairs
    pair: np.ndarray  # (E,) int64
    prob: np.ndarray  # (E,) float64
    succ: np.ndarray  # (E,) int64
    reward: np.ndarray  # (E,) float64
    ends: np.ndarray  # (E,) bool: this outcome terminates the episode


def from_gymnasium(
    env: Any,
    on_terminal: str = "restart",
    *,
    initial: Any = None,
    drop_unreachable: bool | None = None,
    normalize: bool = False,
    rescale: bool = True,
    check: bool = False,
    seed: int = 0,
    **extras: Any,
) -> TabularMDP:
    """The MDP in the transition table of an environment (``env.unwrapped.P``): FrozenLake, CliffWalking, Taxi, yours.

    Rewards are averaged over the outcomes of each pair. If one lies outside [0, 1] they are first mapped affinely onto
    it, and ``mdp.reward_map`` = (scale, shift) keeps the map: original = scale * reward + shift. An environment of
    equirl gives back its own MDP. An error names the state and action whose outcomes make no sense.

    Parameters
    ----------
    env : gymnasium.Env
        ``env.unwrapped.P[s][a]`` lists (probability, next, reward, terminated).
    on_terminal : {"restart", "absorb", "error"}
        What follows an outcome that ends the episode: a first state instead; a state that is never left and pays 0; or
        there must be none.
    initial : int or array_like, shape (S,), optional
        The first state or its distribution, where the environment does not give it (``initial_state_distrib``).
    drop_unreachable : bool, optional
        True leaves out states that cannot be reached, for learners stay optimistic about what they never see; the
        others are renumbered, and named by their old numbers ("14", a str). False keeps them all, so that numbers are
        those of the observations and ``agent.act(observation)`` means what it says. By default they are kept, with a
        warning where there are any.
    normalize : bool, default False
        Divide rows of probabilities by their sums, as in ``TabularMDP.from_arrays``.
    rescale : bool, default True
        Map rewards onto [0, 1] where one lies outside; False refuses such rewards.
    check : bool, default False
        Compare the table with 20,000 random steps of ``env``, which is reset.
    seed : int, default 0
        The seed of those steps.
    **extras
        ``state_names``, ``action_names``, ``reward_law`` ("deterministic" by default), ``concentration``, ``name`` (the
        id of the environment), ``discount``: as for :meth:`equirl.TabularMDP.from_arrays`. An environment of equirl has
        its own.

    Examples
    --------
    >>> import gymnasium
    >>> lake = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), drop_unreachable=False)
    >>> lake.transition_probabilities(14, 2), lake.mean_reward(14, 2)  # into the goal, and back to the start
    ({0: 1.0}, 1.0)
    """
    choice("on_terminal", on_terminal, ON_TERMINAL)
    normalize, rescale = flag("normalize", normalize), flag("rescale", rescale)
    if not hasattr(env, "unwrapped"):
        remedy = f"; gymnasium.make({env!r}) makes one" if isinstance(env, str) else ""
        raise TypeError(f"env must be a Gymnasium environment, not {shown(env)}{remedy}")
    names, extras = split_extras(extras)
    if "reward_map" in extras:
        raise TypeError("reward_map follows from the table; leave it out")
    bare = env.unwrapped
    table = read_table(env)
    first = initial_distribution(_initial(bare) if initial is None else initial, table.pairs, normalize=normalize)
    if flag("check", check):
        compare_with_rollouts(env, table, first, whole_number("seed", seed, least=0))
    if isinstance(bare, TabularEnv):
        first = bare.mdp.initial if initial is None else first
        mdp = replace(bare.mdp, pairs=replace(bare.mdp.pairs, **names), initial=first, **extras)
    else:
        rows, means, reward_map = _read_outcomes(_endless(table, first, on_terminal), normalize, rescale)
        title = bare.spec.id if getattr(bare, "spec", None) else type(bare).__name__
        picture = grid_picture(bare, table.pairs.n_states, np.flatnonzero(first), np.unique(table.succ[table.ends]))
        own = {"reward_map": reward_map, "name": title, "picture": picture, **extras}
        mdp = TabularMDP(replace(table.pairs, **names), rows, means, first, **own)
    if drop_unreachable is not None:
        return mdp.restrict_to_reachable() if flag("drop_unreachable", drop_unreachable) else mdp
    lost = int((~mdp.reachable()).sum())
    if lost:
        warn_caller(
            f"{lost} of the {mdp.n_states} states cannot be reached, and learners stay optimistic about them: "
            "drop_unreachable=True leaves them out and renumbers the others, drop_unreachable=False keeps them",
            UserWarning,
        )
    return mdp


def _read_outcomes(table: OutcomeTable, normalize: bool, rescale: bool) -> tuple[Rows, np.ndarray, tuple[float, float]]:
    """Rows, mean rewards in [0, 1] and the map back; rewards already inside are kept as they are."""
    possible = table.reward[table.prob > 0]
    inside = possible.min() >= 0 and possible.max() <= 1
    if not inside and not rescale:
        raise ValueError(
            f"rewards from {possible.min():g} to {possible.max():g} are not in [0, 1]; rescale=True maps them"
        )
    scale, shift = (1.0, 0.0) if inside else unit_map(possible)
    total, paid = (
        np.bincount(table.pair, weights=weights, minlength=table.pairs.n_pairs)
        for weights in (table.prob, table.prob * ((table.reward - shift) / scale))
    )
    rows = rows_from_triplets(table.pairs, table.pair, table.succ, table.prob, normalize=normalize)
    return rows, np.clip(paid / total, 0.0, 1.0), (scale, shift)


def _initial(bare: Any) -> Any:
    for attribute in ("initial_state_distrib", "isd"):
        if getattr(bare, attribute, None) is not None:
            return getattr(bare, attribute)
    raise ValueError(
        f"{type(bare).__name__} does not give the distribution of its first state (initial_state_distrib); "
        "give a state or a distribution as initial="
    )


def _endless(table: OutcomeTable, initial: np.ndarray, on_terminal: str) -> OutcomeTable:
    if on_terminal == "restart":
        return restarted(table, initial)
    if on_terminal == "absorb":
        return absorbed(table, initial)
    if table.ends.any():
        k = int(np.flatnonzero(table.ends)[0])
        raise ValueError(
            f"({table.pairs.describe(int(table.pair[k]))}) ends the episode in state {table.succ[k]}; "
            "on_terminal='restart' or 'absorb' says what follows"
        )
    return table


def read_table(env: Any) -> OutcomeTable:
    """The checked entries of ``env.unwrapped.P``."""
    bare = env.unwrapped
    table = getattr(bare, "P", None)
    name = type(bare).__name__
    if not isinstance(table, Mapping | Sequence):
        raise ValueError(
            f"{name} has no transition table: from_gymnasium reads P[s][a] = [(probability, next, reward, terminated), "
            "...] from env.unwrapped.P; play(env, 'c-psrl', steps) learns in an environment as it is, and other data "
            "go to TabularMDP.from_arrays or from_pairs"
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
        named = by_action if isinstance(by_action, Mapping) else range(len(by_action))
        actions.append(sorted(whole_number(f"an action of P[{s}]", action, least=0) for action in named))
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
    prob, succ = np.outer(table.prob[ends], initial[starts]).ravel(), np.tile(starts, len(ends))
    return _replaced(table, table.ends, pair, prob, succ, reward)


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
    stay = (stays, np.ones(len(stays)), table.pairs.state[stays], np.zeros(len(stays)))
    return _replaced(table, absorbing[state], *stay)


def _replaced(table: OutcomeTable, dropped: np.ndarray, *added: np.ndarray) -> OutcomeTable:
    """Without some outcomes and with others (pair, prob, succ, reward); none ends the episode."""
    kept = (column[~dropped] for column in table[1:5])
    pair, prob, succ, reward = map(np.concatenate, zip(kept, added, strict=True))
    return OutcomeTable(table.pairs, pair, prob, succ, reward, np.zeros(len(pair), bool))


def compare_with_rollouts(env: Any, table: OutcomeTable, initial: np.ndarray, seed: int) -> None:
    """Play ``env`` at random and refuse a table that its outcomes contradict.

    An outcome that is not listed is refused at once; frequencies where Hoeffding's bound puts them out of reach.
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


def _rollouts(env: Any, table: OutcomeTable, expected: OutcomeOdds, seed: int) -> tuple[Counter[Move], Counter[int]]:
    """How often each outcome, and each initial state, came up in random play."""
    rng = np.random.default_rng(seed)
    seen, starts = Counter[Move](), Counter[int]()
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


# --- maps: a cell per state, as FrozenLake (``desc``) and CliffWalking (``shape``) keep them


def grid_picture(bare: Any, n_states: int, first: np.ndarray, last: np.ndarray) -> Picture | None:
    """The map of an environment whose states are the cells of a grid, row by row; None where it keeps none.

    ``first`` and ``last`` are states in which episodes begin and end: S and G where the environment writes no letters.
    """
    letters = _letters(getattr(bare, "desc", None))
    if letters is None:
        shape = getattr(bare, "shape", None)
        if not isinstance(shape, tuple) or len(shape) != 2 or shape[0] * shape[1] != n_states:
            return None
        letters = np.full(n_states, FLOOR)
        cliff = np.asarray(getattr(bare, "_cliff", ()), bool).ravel()
        letters[np.flatnonzero(cliff[:n_states])] = "C"
        letters[last], letters[first] = "G", "S"
        letters = letters.reshape(shape)
    if letters.size != n_states:
        return None
    rows = tuple("".join(row).replace(ICE, FLOOR) for row in letters.tolist())
    return Picture(rows, np.stack(np.divmod(np.arange(n_states), letters.shape[1]), axis=1))


def _letters(desc: Any) -> np.ndarray | None:
    """A table of single letters, or of bytes."""
    table = np.asarray(desc)
    if table.ndim != 2 or table.dtype.kind not in "SU" or table.dtype.itemsize > (1 if table.dtype.kind == "S" else 4):
        return None
    return table.astype(str)
