"""Structure that a user states, watched while a learner learns: what the data refute is told before it costs much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.estimation.given_knowledge import Given
from equirl.estimation.refutation import OUTSIDE, REST, REWARDS, Refutation, Statement, StructureTest
from equirl.learners.handout import pools_rewards
from equirl.model.names import action_labels, state_labels
from equirl.model.pairs import Pairs
from equirl.words.checking import warn_caller
from equirl.words.formatting import counted, number, shown
from equirl.words.tables import Table

if TYPE_CHECKING:
    from equirl.learners.contract import CountingLearner, Learner

RISK = 0.05  # of a false alarm in a whole run, for learners without a delta of their own
FIRST = 64  # steps until the first look; then a look after half as many steps again, or SPARE times its work
SPARE = 4


class RefutedStructure(UserWarning):
    """What was seen refutes the classes, or the corresponding successors, that were stated."""


class StatementWatch:
    """What was stated for a learner, tested now and then against its counts."""

    def __init__(self, learner: CountingLearner) -> None:
        assert learner.given.classes is not None
        self.test = prepared_test(learner)
        self.told = np.zeros(learner.given.classes.n_classes, np.bool_)  # classes warned of

    def look(self, learner: CountingLearner) -> int:
        """Warn of every class newly refuted, once; when to look again."""
        seen = learner.counts.snapshot()
        if self.test.look(seen, self.told):
            self._warn(learner, seen)
        return learner.t + max(FIRST, learner.t // 2, SPARE * (len(seen.visits) + len(seen.succ)))

    def _warn(self, learner: CountingLearner, seen: Snapshot) -> None:
        new = [one for one in self.test.refutations(seen) if not self.told[one.label]]
        self.told[[one.label for one in new]] = True
        for label in dict.fromkeys(one.label for one in new):
            strongest = max((one for one in new if one.label == label), key=lambda one: one.evidence - one.bound)
            text = sentence(strongest, learner.pairs, learner.reward_map)
            told = f"the structure stated for {learner.name!r} is refuted: {text}; agent.refuted() has a table"
            warn_caller(told, RefutedStructure)


def prepared_test(learner: Learner) -> StructureTest:
    """The test of what was stated for a learner, at its own risk."""
    delta = learner.settings.as_dict().get("delta", RISK)
    return StructureTest(statement(learner.given, learner.pairs, pools_rewards(learner.settings)), delta)


def statement(given: Given, pairs: Pairs, rewards: bool) -> Statement:
    """What is stated, as the test takes it."""
    assert given.classes is not None
    compared = rewards and given.mean_rewards is None
    return Statement(given.classes.label.copy(), given.classes.n_classes, given.profiles, compared, pairs.n_states)


def refuted_table(learner: Learner) -> Table:
    """A row per class refuted and kind of evidence, by all that was seen until now."""
    counts: Any = getattr(learner, "counts", None)
    watched = counts is not None and learner.given.stated and learner.given.classes is not None
    found = prepared_test(learner).refutations(counts.snapshot()) if watched else []
    return evidence_table(found, learner.pairs, learner.reward_map)


def sentence(one: Refutation, pairs: Pairs, reward_map: tuple[float, float]) -> str:
    """The evidence against a class in words."""
    pair, often = f"({pairs.describe(one.pair)})", counted(one.visits, "visit")
    if one.what == OUTSIDE:
        (state,) = state_labels(pairs, [one.other])
        return f"{pair} led to {shown(state)} {counted(int(one.difference), 'time')}, outside the order stated"
    other = "the rest of its class" if one.other == REST else f"({pairs.describe(one.other)}), of the same class"
    if one.what == REWARDS:
        what = f"mean rewards differ by {number(reward_map[0] * one.difference)}"
    else:
        what = f"{'successors' if one.other == REST else 'profiles'} differ by {number(one.difference)} in L1"
    against = f"{pair}, {often}, and {other}, {counted(one.other_visits, 'visit')}"
    odds = f"log likelihood ratio {number(one.evidence)}, bound {number(one.bound)}"
    return f"{against}: their {what} ({odds})"


def evidence_table(found: Sequence[Refutation], pairs: Pairs, reward_map: tuple[float, float]) -> Table:
    """Refutations with names, in the user's units."""
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
