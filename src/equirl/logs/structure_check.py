"""Given structure against what is there: a log, which may refute it, or a known problem, which settles it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.estimation.given_knowledge import Classes, Order, checked
from equirl.estimation.refutation import OUTSIDE, REWARDS, SUCCESSORS, GivenStructure, Refutation, StructureTest
from equirl.learners.learner_registry import given_by_user
from equirl.learners.refuted_structure import evidence_table, given_structure
from equirl.logs.log import Log, from_log
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.numerics.arrays import owners
from equirl.structure.similarity import TOLERANCE, Profiles, l1_distance, profiles as true_profiles
from equirl.words.answer_units import ByName, InUnits, UnitReward
from equirl.words.checking import between, flag, inside
from equirl.words.formatting import counted
from equirl.words.tables import Table, card


@dataclass(frozen=True, eq=False, repr=False)
class StructureCheck:
    """What speaks against given classes and corresponding successors. Make one with :func:`check_structure`.

    Attributes
    ----------
    pairs : Pairs
        States and actions, with their names.
    reward_map : tuple of float
        (scale, shift) of the rewards.
    found : tuple of Refutation
        The strongest evidence per class and kind; rewards in [0, 1].
    n_classes : int
        Classes given.
    risk : float
        The probability that true structure is refuted; 0 for a known problem.
    """

    pairs: Pairs
    reward_map: tuple[float, float]
    found: UnitReward[tuple[Refutation, ...]]
    n_classes: int
    risk: float

    @property
    def holds(self) -> bool:
        """Whether nothing is refuted. Of a log: not yet; few visits refute little."""
        return not self.found

    def table(self) -> InUnits[ByName[Table]]:
        """As ``agent.beliefs.refuted()``; of a known problem ``difference`` is exact, ``bound`` the tolerance."""
        return evidence_table(self.found, self.pairs, self.reward_map)

    def _repr_html_(self) -> str:
        return card(repr(self), {}, {"Evidence against it": self.table()})

    def __repr__(self) -> str:
        n = len({one.label for one in self.found})
        what = f"{n} of {counted(self.n_classes, 'class', 'classes')} refuted" if n else "nothing refuted"
        return f"StructureCheck({what}, risk {self.risk:g})"


def check_structure(
    problem: Any,
    classes: Classes,
    *,
    profiles: Profiles | None = None,
    order: Order = None,
    rewards: bool = True,
    delta: float = 0.05,
    tolerance: float = TOLERANCE,
) -> StructureCheck:
    """Whether a log, or a known problem, refutes given classes and corresponding successors; before anything learns.

    Parameters
    ----------
    problem : TabularMDP, Log, or what :func:`equirl.from_log` takes
        What the structure is of.
    classes : Partition, labels or function
        One label per pair, or ``classes(state, action)``; by name where there are names.
    profiles, order : optional
        Which successors correspond, as :func:`equirl.make_agent` takes it. Without, pairs of a class are taken to have
        equal profiles, each in an order of its own.
    rewards : bool, default True
        Whether the pairs of a class are taken to have one mean reward too.
    delta : float
        Of a log: the risk of refuting true structure.
    tolerance : float
        Of a known problem: differences up to this are none.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = [(k % 2, "go", 0.0, int(rng.random() < (0.2, 0.6)[k % 2])) for k in range(400)]
    >>> check_structure(rows, classes=lambda state, action: action)
    StructureCheck(1 of 1 class refuted, risk 0.05)
    >>> check_structure(rows, classes=lambda state, action: state).holds
    True
    """
    rewards, delta = flag("rewards", rewards), inside("delta", delta)
    tolerance = between("tolerance", tolerance, most=2)
    known = isinstance(problem, TabularMDP)
    about: Any = problem if known or isinstance(problem, Log) else from_log(problem)
    from_user = given_by_user(classes, profiles, order, about.pairs)
    if from_user.classes is None:
        raise ValueError("classes are needed: labels by pair, or a function of state and action")
    from_user = checked("check_structure", from_user.names, from_user, about.pairs)
    given = given_structure(from_user, about.pairs, rewards)
    found = _in_truth(about, given, tolerance) if known else StructureTest(given, delta).refutations(about.seen)
    risk = 0.0 if known else delta
    return StructureCheck(about.pairs, about.reward_map, tuple(found), given.n_classes, risk)


def _in_truth(mdp: TabularMDP, given: GivenStructure, tolerance: float) -> list[Refutation]:
    """Where the pairs of a class differ in truth: each is compared with the first of its class."""
    true, outside = _true_rows(mdp, given)
    first = np.zeros(given.n_classes, np.int64)
    first[given.label[::-1]] = np.arange(len(given.label))[::-1]
    worst: dict[tuple[int, str], Refutation] = {}
    for k, c in enumerate(given.label.tolist()):
        j = int(first[c])
        (a, b), (m, n) = true.ptr[[k, j]], np.diff(true.ptr)[[k, j]]
        apart = {SUCCESSORS: float(l1_distance(true.prob, a, m, true.prob, b, n))}
        if given.rewards:
            apart[REWARDS] = abs(float(mdp.r_mean[k] - mdp.r_mean[j]))
        for what, difference in apart.items():
            before = worst.get((c, what))
            if difference > (tolerance if before is None else before.difference):
                worst[c, what] = Refutation(c, what, k, j, 0, 0, difference, math.inf, tolerance)
    return sorted([*outside, *worst.values()], key=lambda one: one.label)


def _true_rows(mdp: TabularMDP, given: GivenStructure) -> tuple[Profiles, list[Refutation]]:
    """Transition probabilities by given position, or sorted; and what leads outside the order."""
    if given.profiles is None:
        return true_profiles(mdp), []
    order, rows, prob = given.profiles, mdp.rows, np.zeros(len(given.profiles.succ))
    place = dict(zip(zip(owners(order.ptr).tolist(), order.succ.tolist(), strict=True), range(len(prob)), strict=True))
    outside: dict[int, Refutation] = {}
    for k, x, p in zip(owners(rows.ptr).tolist(), rows.succ.tolist(), rows.prob.tolist(), strict=True):
        if (i := place.get((k, x))) is not None:
            prob[i] = p
        elif p > 0:
            c = int(given.label[k])
            outside.setdefault(c, Refutation(c, OUTSIDE, k, x, 0, 0, p, math.inf, 0.0))
    return Profiles(order.ptr, order.succ, prob), list(outside.values())
