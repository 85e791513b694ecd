"""What may be given in advance: classes, profiles, mean rewards; as users state it, and checked once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from equirl.estimation.pooling import tie_groups
from equirl.model.pairs import Pairs, action_labels, state_labels
from equirl.model.rows import check_entries
from equirl.numerics.arrays import owners, places_in_rows, starts
from equirl.structure.partition import Partition
from equirl.structure.similarity import TOLERANCE, Profiles, profile_l1
from equirl.words.checking import plain_array, real_array, several, whole_array
from equirl.words.formatting import shown

KINDS = ("classes", "reward_classes", "profiles", "mean_rewards")  # of what may be given
REMEDIES = {
    "profiles": "profiles=... or order=...",
    "reward_classes": "classes that are stated are of one kind; choose rewards='per_class' or 'per_pair'",
}
ALIKE = 1e-6  # L1 distance up to which profiles of one class may differ in any case

Classes = Partition | Sequence[int] | np.ndarray | Callable[[Any, Any], Any] | None
Order = Sequence[Sequence[Any]] | Callable[[Any, Any], Iterable[Any]] | None


class Given(NamedTuple):
    """What a learner knows before it starts."""

    classes: Partition | None = None  # of transition probabilities and rewards, or as ``in_force`` says
    profiles: Profiles | None = None
    mean_rewards: np.ndarray | None = None  # (M,) in [0, 1]
    tolerance: float = TOLERANCE  # what was taken as equal when the classes were made
    tie: np.ndarray | None = None  # groups of equal positions in the profiles; follows from classes and profiles
    refutable: bool = False  # whether a user gives classes or profiles, so that data may refute them
    transition_classes: Partition | None = None  # coarser: of transition probabilities alone, where both are there
    transition_tolerance: float = TOLERANCE
    reward_classes: Partition | None = None  # finer than ``classes``, where means are pooled over classes of their own

    @property
    def names(self) -> set[str]:
        """Which of them are there."""
        return {name for name in KINDS if getattr(self, name) is not None}

    def in_force(self, pool_rewards: bool, nested: bool = False) -> Given:
        """With the classes that are pooled: those of transition probabilities alone where rewards are not, or apart.

        Splitting them by reward would then only scatter the samples. ``nested``: the finer ones are for the rewards.
        """
        decided = self._replace(transition_classes=None)
        if self.transition_classes is None or pool_rewards:
            return decided
        finer = self.classes if nested else None
        return decided._replace(
            classes=self.transition_classes, reward_classes=finer, tolerance=self.transition_tolerance
        )


NOTHING = Given()


def checked(name: str, needs: Iterable[str], given: Given, pairs: Pairs) -> Given:
    """What was given, with what follows from it; an error where it is too little, too much, or of another problem."""
    needs = set(needs)
    for what in KINDS:
        if what in needs and what not in given.names:
            raise ValueError(f"{name!r} with these settings must be given {what}: {REMEDIES.get(what, f'{what}=...')}")
        if what in given.names and what not in needs:
            said = "order" if what == "profiles" and is_order(given.profiles) else what
            raise ValueError(f"{name!r} with these settings makes no use of {said}; leave it out")
    classes, profiles = given.classes, given.profiles
    for part in (classes, given.reward_classes):
        if part is not None and len(part.label) != pairs.n_pairs:
            raise ValueError(f"the classes label {len(part.label)} pairs, the problem has {pairs.n_pairs}")
    if profiles is not None:
        profiles = _checked_profiles(profiles, pairs)
        given = given._replace(profiles=profiles)
    if profiles is not None and classes is not None:
        if is_order(profiles):
            _check_lengths(profiles, classes, pairs)
            tie = places_in_rows(profiles.ptr)
        else:
            _check_alike(profiles, classes, pairs, max(ALIKE, 10 * given.tolerance))
            tie = tie_groups(profiles, classes.label, given.tolerance)
        given = given._replace(tie=tie)
    if given.mean_rewards is not None:
        _check_means(given.mean_rewards, pairs)
    return given


def is_order(profiles: Profiles | None) -> bool:
    """Whether these are a given order, whose probabilities are not known."""
    prob = getattr(profiles, "prob", None)
    return isinstance(prob, np.ndarray) and prob.dtype.kind == "f" and prob.size > 0 and bool(np.isnan(prob).all())


def check_in_profile(given: Given, pairs: Pairs, pair: int, successor: int) -> None:
    """An error where the profiles given say that ``pair`` cannot lead to ``successor``."""
    profiles = given.profiles
    if profiles is not None and successor not in profiles.succ[profiles.row(pair)]:
        (state,) = state_labels(pairs, [successor])
        said = "the order given leaves it out" if is_order(profiles) else "the profiles given leave it out"
        raise ValueError(f"({pairs.describe(pair)}) cannot lead to state {shown(state)}: {said}")


def check_path(given: Given, pairs: Pairs, path: np.ndarray, final: int) -> None:
    """:func:`check_in_profile` for every step of a path, where a user gave profiles."""
    profiles = given.profiles
    if profiles is None or not given.refutable:
        return
    from equirl.estimation.refutation import first_outside

    i = first_outside(path, final, np.array(pairs.state), profiles.ptr, profiles.succ)
    if i >= 0:
        after = int(pairs.state[path[i + 1]]) if i + 1 < len(path) else final
        check_in_profile(given, pairs, int(path[i]), after)


def _check_means(means: np.ndarray, pairs: Pairs) -> None:
    if means.shape != (pairs.n_pairs,):
        raise ValueError(f"mean_rewards has shape {means.shape}, not ({pairs.n_pairs},)")
    bad = np.flatnonzero(~((means >= 0) & (means <= 1)))
    if len(bad):
        raise ValueError(f"the mean reward of ({pairs.describe(int(bad[0]))}) is NaN or outside reward_range")


def _checked_profiles(profiles: Profiles, pairs: Pairs) -> Profiles:
    """Profiles of these pairs, whose arrays are of the types that kernels read and shared with nobody."""
    if not isinstance(profiles, Profiles):
        raise TypeError(f"profiles must be what equirl.profiles(mdp) returns, not {shown(profiles)}")
    ptr, succ = whole_array("profiles.ptr", profiles.ptr), whole_array("profiles.succ", profiles.succ)
    prob = np.array(real_array("profiles.prob", profiles.prob))
    if prob.ndim != 1:
        raise ValueError(f"profiles.prob has shape {prob.shape}; it has one dimension, as profiles.succ")
    if len(ptr) != pairs.n_pairs + 1:
        raise ValueError(f"the profiles describe {len(ptr) - 1} pairs, the problem has {pairs.n_pairs}")
    if ptr[0] != 0 or not ptr[-1] == len(succ) == len(prob) or (np.diff(ptr) < 1).any():
        raise ValueError("the profiles are not whole: ptr must rise from 0 to the number of states they list")
    row = owners(ptr)
    if is_order(profiles):
        check_entries(pairs, row, succ, np.ones(len(succ)))
    else:
        check_entries(pairs, row, succ, prob)
        total = np.bincount(row, weights=prob)
        bad = np.flatnonzero(np.abs(total - 1) > 1e-8)
        if len(bad):
            raise ValueError(f"the profile of ({pairs.describe(int(bad[0]))}) sums to {total[bad[0]]:.10g}, not 1")
        bad = np.flatnonzero((np.diff(row) == 0) & (np.diff(prob) > 1e-9))
        if len(bad):
            raise ValueError(f"the profile of ({pairs.describe(int(row[bad[0]]))}) is not in decreasing order")
    place = np.sort(row * pairs.n_states + succ)
    bad = np.flatnonzero(place[1:] == place[:-1])
    if len(bad):
        raise ValueError(f"the profile of ({pairs.describe(int(place[bad[0]] // pairs.n_states))}) names a state twice")
    return Profiles(ptr, succ.astype(np.int32), prob)


def _check_lengths(profiles: Profiles, classes: Partition, pairs: Pairs) -> None:
    """An error where two pairs of one class list different numbers of successors."""
    size, first = np.diff(profiles.ptr), np.zeros(classes.n_classes, np.int64)
    first[classes.label[::-1]] = np.arange(classes.n_pairs)[::-1]
    bad = np.flatnonzero(size != size[first[classes.label]])
    if len(bad):
        k, j = int(first[classes.label[bad[0]]]), int(bad[0])
        raise ValueError(
            f"({pairs.describe(k)}) and ({pairs.describe(j)}) are in one class, but the order lists {size[k]} "
            f"successors of the one and {size[j]} of the other"
        )


def _check_alike(profiles: Profiles, classes: Partition, pairs: Pairs, width: float) -> None:
    """An error where two pairs of one class have different profiles: pooled, they would be neither's."""
    first = np.full(classes.n_classes, -1)
    for k, c in enumerate(classes.label.tolist()):
        if first[c] < 0:
            first[c] = k
        elif profile_l1(profiles, int(first[c]), k) > width:
            one, two = pairs.describe(int(first[c])), pairs.describe(k)
            raise ValueError(f"({one}) and ({two}) are in one class, but their profiles differ")


def partition_of(classes: Classes, pairs: Pairs) -> Partition | None:
    """Classes as a Partition: from any labels, or from a function of state and action that gives a label."""
    if classes is None or isinstance(classes, Partition):
        return classes
    if callable(classes):
        known: dict[Any, int] = {}
        labels = []
        for state, action in _named(pairs):
            label = _asked("classes", classes, state, action)
            try:
                labels.append(known.setdefault(label, len(known)))
            except TypeError as error:
                raise TypeError(f"classes({shown(state)}, {shown(action)}) gives no label: {error}") from error
        return Partition.from_labels(labels)
    return Partition.from_labels(plain_array("classes", classes))


def profiles_of(profiles: Profiles | None, order: Order, pairs: Pairs) -> Profiles | None:
    """The profiles given, or those of a given order: its probabilities are not known, and are NaN.

    ``order`` is a function of state and action, or a list with an entry per pair; either way a pair's successors, by
    number or name, such that the i-th of one pair corresponds to the i-th of every pair of its class.
    """
    if order is None:
        return profiles
    if profiles is not None:
        raise ValueError("profiles and order both say which successors correspond; give one of them")
    if callable(order):
        asked = [(f"order({shown(s)}, {shown(a)})", _asked("order", order, s, a)) for s, a in _named(pairs)]
    else:
        lists = several("order", order)
        if len(lists) != pairs.n_pairs:
            raise ValueError(f"order has {len(lists)} lists of successors, the problem has {pairs.n_pairs} pairs")
        asked = [(f"order of ({pairs.describe(k)})", states) for k, states in enumerate(lists)]
    numbers = [_successors(who, states, pairs) for who, states in asked]
    succ = np.array([x for row in numbers for x in row], np.int32)
    return Profiles(starts([len(row) for row in numbers]), succ, np.full(len(succ), np.nan))


def _asked(name: str, function: Callable[[Any, Any], Any], state: Any, action: Any) -> Any:
    """What the user's function of state and action says."""
    try:
        return function(state, action)
    except TypeError as error:
        raise TypeError(f"{name}({shown(state)}, {shown(action)}) failed: {error}; it is a function of both") from error


def _successors(who: str, states: Any, pairs: Pairs) -> list[int]:
    """The numbers of the states that a pair's order lists."""
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise TypeError(f"{who} must be a list of states, not {shown(states)}")
    listed = list(states)
    if not listed:
        raise ValueError(f"{who} lists no state; every pair leads somewhere")
    numbers = []
    for state in listed:
        try:
            numbers.append(pairs.state_number(state))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{who} lists {shown(state)}: {error}") from None
    if len(set(numbers)) < len(numbers):
        twice = next(state for state, x in zip(listed, numbers, strict=True) if numbers.count(x) > 1)
        raise ValueError(f"{who} lists {shown(twice)} twice")
    return numbers


def _named(pairs: Pairs) -> Iterable[tuple[Any, Any]]:
    """(state, action) of every pair, by name where there are names."""
    states, actions = state_labels(pairs, pairs.state.tolist()), action_labels(pairs, pairs.action.tolist())
    return zip(states, actions, strict=True)
