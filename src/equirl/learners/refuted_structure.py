"""Structure that a user gives, tested while an agent learns: what the data refute is said before it costs much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import Given
from equirl.estimation.refutation import OUTSIDE, REST, REWARDS, GivenStructure, Refutation, StructureTest
from equirl.model.pairs import Pairs, action_labels, state_labels
from equirl.words.checking import warn_caller
from equirl.words.formatting import counted, number, shown
from equirl.words.tables import Table

if TYPE_CHECKING:
    from equirl.learners.contract import CountingLearner, Learner

RISK = 0.05  # of a false alarm in a whole run, for learners without a delta of their own
FIRST = 64  # steps until the first look; then a look after half as many steps again, or SPARE times its work
SPARE = 4


class RefutedStructure(UserWarning):
    """What was seen refutes the classes, or the corresponding successors, that were given."""


class StructureWatch:
    """Classes and profiles that a user gave an agent, tested now and then against its counts."""

    def __init__(self, agent: CountingLearner) -> None:
        assert agent.given.classes is not None
        self.test = prepared_test(agent)
        self.warned = np.zeros(agent.given.classes.n_classes, np.bool_)  # by class

    def look(self, agent: CountingLearner) -> int:
        """Warn of every class newly refuted, once; when to look again."""
        seen = agent.counts.snapshot()
        if self.test.look(seen, self.warned):
            self._warn(agent, seen)
        return agent.t + max(FIRST, agent.t // 2, SPARE * (len(seen.visits) + len(seen.succ)))

    def _warn(self, agent: CountingLearner, seen: Snapshot) -> None:
        new = [one for one in self.test.refutations(seen) if not self.warned[one.label]]
        self.warned[[one.label for one in new]] = True
        for label in dict.fromkeys(one.label for one in new):
            strongest = max((one for one in new if one.label == label), key=lambda one: one.evidence - one.bound)
            text = sentence(strongest, agent.pairs, agent.reward_map)
            where = "agent.beliefs.refuted() has a table"
            warn_caller(f"the structure given to {agent.name!r} is refuted: {text}; {where}", RefutedStructure)


def prepared_test(agent: Learner) -> StructureTest:
    delta = agent.settings.as_dict().get("delta", RISK)
    return StructureTest(given_structure(agent.given, agent.pairs, agent.settings.pools_rewards), delta)


def given_structure(given: Given, pairs: Pairs, rewards: bool) -> GivenStructure:
    assert given.classes is not None
    compared = rewards and given.mean_rewards is None
    return GivenStructure(given.classes.label.copy(), given.classes.n_classes, given.profiles, compared, pairs.n_states)


def refuted_table(agent: Learner) -> Table:
    """A row per class refuted and kind of evidence, by all that was seen until now."""
    counts, found = agent.beliefs.counts, []
    if counts is not None and agent.given.refutable and agent.given.classes is not None:
        found = prepared_test(agent).refutations(counts.snapshot())
    return evidence_table(found, agent.pairs, agent.reward_map)


def sentence(one: Refutation, pairs: Pairs, reward_map: tuple[float, float]) -> str:
    pair, often = f"({pairs.describe(one.pair)})", counted(one.visits, "visit")
    if one.what == OUTSIDE:
        (state,) = state_labels(pairs, [one.other])
        return f"{pair} led to {shown(state)} {counted(int(one.difference), 'time')}, outside the order given"
    other = "the rest of its class" if one.other == REST else f"({pairs.describe(one.other)}), of the same class"
    if one.what == REWARDS:
        what = f"mean rewards differ by {number(reward_map[0] * one.difference)}"
    else:
        what = f"{'successors' if one.other == REST else 'profiles'} differ by {number(one.difference)} in L1"
    against = f"{pair}, {often}, and {other}, {counted(one.other_visits, 'visit')}"
    odds = f"log likelihood ratio {number(one.evidence)}, bound {number(one.bound)}"
    return f"{against}: their {what} ({odds})"


def evidence_table(found: Sequence[Refutation], pairs: Pairs, reward_map: tuple[float, float]) -> Table:
    states = state_labels(pairs, [int(pairs.state[one.pair]) for one in found])
    actions = action_labels(pairs, [int(pairs.action[one.pair]) for one in found])
    scale = [reward_map[0] if one.what == REWARDS else 1.0 for one in found]
    return Table({
        "class": [one.label for one in found],
        "what": [one.what for one in found],
        "state": states,
        "action": actions,
        "against": [_against(one, pairs) for one in found],
        "visits": [one.visits for one in found],
        "visits_against": [one.other_visits for one in found],
        "difference": [unit * one.difference for unit, one in zip(scale, found, strict=True)],
        "evidence": [one.evidence for one in found],
        "bound": [one.bound for one in found],
    })  # fmt: skip


def _against(one: Refutation, pairs: Pairs) -> str:
    if one.what == OUTSIDE:
        return f"state {state_labels(pairs, [one.other])[0]}"
    return "rest of the class" if one.other == REST else pairs.describe(one.other)
