"""What an agent knows of one pair, which pairs are alike to it, and why it plays the action it plays there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.learners.beliefs import ActionValues, Beliefs, PairBelief
from equirl.learners.contract import Learner, pair_played
from equirl.model.pairs import Name, action_labels, state_labels
from equirl.model.reward_distributions import original_rewards
from equirl.words.formatting import counted, number
from equirl.words.tables import Table, card

LISTED = 10  # pairs that it is alike to
LEAST_ALIKE = 0.05  # probability of those listed


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What an agent knows of a pair and why it does or does not play it, in the user's names and units.

    Made by ``agent.beliefs.explain(state, action)``; ``print`` shows it in words.

    Attributes
    ----------
    learner : str
        The agent's name.
    state, action : str, int or tuple
        The pair.
    visits : int
        How often it was played; -1 where the agent keeps no counts.
    mean_reward : float
        What it takes its mean reward to be; NaN where nothing is known of it.
    reward_bounds : tuple of float
        Between which it lies, by ``bounds_by``.
    samples : int
        Behind its probabilities: more than the visits where they are pooled with other pairs'.
    bounds_by : str
        What the bounds are: confidence sets, or the spread of draws.
    alike_by : str
        How those alike were found: "given", "estimated", "drawn", or "" where every pair stands alone.
    why : str
        The action played in the state now, and the reason, in a sentence.
    successors : Table
        ``state``, ``seen`` (times), ``probability``, ``lower``, ``upper``; the most probable first.
    alike : Table
        Pairs of its class: ``state``, ``action``, ``visits``, ``mean_reward`` and, where classes are drawn,
        ``probability`` of being alike.
    actions : Table
        All actions of the state: ``action``, ``visits``, ``mean_reward``, ``value`` (as ``why`` calls it), ``behind``
        (the best by so much), ``plays``.
    """

    learner: str
    state: Name
    action: Name
    visits: int
    mean_reward: float
    reward_bounds: tuple[float, float]
    samples: int
    bounds_by: str
    alike_by: str
    why: str
    successors: Table
    alike: Table
    actions: Table

    def table(self) -> Table:
        """The facts, a row each: ``what`` and ``value``."""
        facts = self._facts()
        return Table({"what": list(facts), "value": list(facts.values())})

    def _facts(self) -> dict[str, str]:
        low, high = self.reward_bounds
        known = not math.isnan(self.mean_reward)
        return {
            "visits": "not counted" if self.visits < 0 else f"{self.visits:,}",
            "mean reward": number(self.mean_reward, 6) if known else "not known",
            "mean reward in": f"[{number(low, 6)}, {number(high, 6)}]",
            "samples behind its probabilities": f"{self.samples:,}",
            "bounds": self.bounds_by,
            "alike": self._alike_text(),
            "why": self.why,
        }

    def _alike_text(self) -> str:
        if not self.alike_by:
            return "nothing: the learner treats every pair on its own"
        if not len(self.alike):
            return f"no other pair; classes are {self.alike_by}"
        return f"{counted(len(self.alike), 'pair')} listed; classes are {self.alike_by}"

    def __str__(self) -> str:
        facts = "\n".join(f"{name}: {value}" for name, value in self._facts().items())
        tables = {"successors": self.successors, "alike": self.alike, "actions": self.actions}
        shown = "".join(f"\n\n{name}\n{table!r}" for name, table in tables.items() if len(table))
        return f"{self.state}, {self.action} ({self.learner})\n{facts}{shown}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = {"Successors": self.successors, "Alike": self.alike, "Actions": self.actions}
        return card(f"{self.state}, {self.action} ({self.learner})", self._facts(), tables)


def explain(agent: Learner, state: Any, action: Any = None) -> Explanation:
    """A twin is asked, so that the agent is not changed."""
    pairs = agent.pairs
    s = pairs.state_number(state)
    asked = None if action is None else pairs.index(state, action)
    twin = agent.silent_copy()
    played = int(pair_played(twin.decide(s), np.array(pairs.ptr), s, 0))
    pair = played if asked is None else asked
    beliefs = twin.beliefs
    belief, values = beliefs.pair_belief(pair) or _nothing(), beliefs.action_values(s)
    means = original_rewards([belief.mean, belief.r_lower, belief.r_upper], agent.reward_map)
    mean, low, high = means.tolist()
    visits = -1 if beliefs.counts is None else int(beliefs.counts.visits[pair])
    (state_name,), (action_name,) = state_labels(pairs, [s]), action_labels(pairs, [int(pairs.action[pair])])
    return Explanation(
        agent.name, state_name, action_name, visits, mean, (low, high), belief.samples, belief.bounds_by,
        beliefs.alike_by(), _why(agent, s, played, values), _successors(beliefs, pair, belief), _alike(beliefs, pair),
        _actions(beliefs, s, played, values),
    )  # fmt: skip


def _nothing() -> PairBelief:
    none = np.zeros(0)
    return PairBelief(none.astype(int), none, none, none, 1.0, math.nan, 0.0, 1.0, 0, "none: the learner says nothing")


def _why(agent: Learner, s: int, played: int, values: ActionValues | None) -> str:
    pairs = agent.pairs
    (name,) = action_labels(pairs, [int(pairs.action[played])])
    first, n = int(pairs.ptr[s]), int(pairs.ptr[s + 1] - pairs.ptr[s])
    if n == 1:
        return f"{name!r} is the only action here"
    if values is None:
        return f"{name!r}, by a rule that looks at no values"
    worth = values.value * (agent.reward_map[0] if values.of_rewards else 1.0)
    own, sign = worth[played - first], 1.0 if values.least else -1.0
    others = np.delete(worth, played - first)
    rival = float((sign * others).min())
    lead = 0.0 if rival == sign * own else rival - float(sign * own)  # both may be infinite
    best = "least" if values.least else "largest"
    slack = 1e-9 * (1.0 + abs(own)) if math.isfinite(own) else 0.0
    if lead < -slack:
        return f"{name!r}, though its {values.name} is not the {best}: it explores, or keeps to its plan"
    if lead <= slack:
        return f"{name!r}: no other action has a better {values.name}, and of equals one is taken"
    return f"{name!r} has the {best} {values.name}, ahead of the next by {number(lead)}"


def _successors(beliefs: Beliefs, pair: int, belief: PairBelief) -> Table:
    pairs, seen = beliefs.agent.pairs, {}
    if beliefs.counts is not None:
        now = beliefs.counts.snapshot()
        row = slice(now.ptr[pair], now.ptr[pair + 1])
        seen = dict(zip(now.succ[row].tolist(), now.count[row].tolist(), strict=True))
    states = belief.succ.tolist()
    order = np.argsort(-belief.prob, kind="stable").tolist()
    unplaced = len(states) < pairs.n_states and belief.unseen_upper > 0
    columns: dict[str, list[Any]] = {
        "state": state_labels(pairs, [states[i] for i in order]),
        "seen": [seen.get(states[i], 0) for i in order],
        "probability": belief.prob[order].tolist(),
        "lower": belief.lower[order].tolist(),
        "upper": belief.upper[order].tolist(),
    }
    if unplaced:
        for name, value in zip(columns, ("any other", 0, 0.0, 0.0, belief.unseen_upper), strict=True):
            columns[name].append(value)
    return Table(columns)


def _alike(beliefs: Beliefs, pair: int) -> Table:
    """Those in the class of the pair, the surest and most visited first."""
    pairs, M = beliefs.agent.pairs, beliefs.agent.pairs.n_pairs
    chance = beliefs.alike_to(pair)
    chance[pair] = 0.0
    visits = np.zeros(M, np.int64) if beliefs.counts is None else beliefs.counts.visits
    order = np.lexsort((np.arange(M), -visits, -chance))[:LISTED]
    order = order[chance[order] >= LEAST_ALIKE]
    columns: dict[str, Any] = {
        "state": state_labels(pairs, pairs.state[order].tolist()),
        "action": action_labels(pairs, pairs.action[order].tolist()),
        **beliefs.own_columns(order),
    }
    return Table({**columns, "probability": chance[order]} if beliefs.alike_by() == "drawn" else columns)


def _actions(beliefs: Beliefs, s: int, played: int, values: ActionValues | None) -> Table:
    pairs, (scale, shift) = beliefs.agent.pairs, beliefs.agent.reward_map
    own = np.arange(pairs.ptr[s], pairs.ptr[s + 1])
    columns: dict[str, Any] = {"action": action_labels(pairs, pairs.action[own].tolist()), **beliefs.own_columns(own)}
    if values is not None:
        unit, zero = (scale, shift) if values.of_rewards else (1.0, 0.0)
        best = values.value.min() if values.least else values.value.max()
        behind = np.zeros(len(own))
        np.subtract(values.value, best, out=behind, where=values.value != best)  # both may be infinite
        columns |= {"value": unit * values.value + zero, "behind": unit * np.abs(behind)}
    return Table({**columns, "plays": ["yes" if k == played else "" for k in own.tolist()]})
