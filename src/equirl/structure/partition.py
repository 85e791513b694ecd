"""Partitions of the pairs into classes: one label per pair, numbered in order of first appearance.

Canonical labels make two partitions equal as objects exactly when they are equal up to relabelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equirl.model.pairs import action_labels, state_labels
from equirl.numerics.arrays import Frozen, frozen, number_by_appearance, sealed
from equirl.words.checking import LARGEST, plain_array, several, whole_number
from equirl.words.formatting import shown
from equirl.words.tables import Table, card


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Frozen):
    """A partition of M pairs into classes. Make one from any labels with :meth:`from_labels`.

    Parameters
    ----------
    label : array_like of int, shape (M,)
        The class of each pair: 0 first, each new class the next number.

    Examples
    --------
    >>> part = Partition.from_labels(["wall", "floor", "wall", "door"])
    >>> part
    Partition(M=4, C=3, sizes 2 1 1)
    >>> part.label
    array([0, 1, 0, 2])
    >>> part == Partition.from_labels([7, 3, 7, 0])
    True
    """

    label: np.ndarray  # (M,) int64

    def __post_init__(self) -> None:
        given = plain_array("label", self.label)
        if given.ndim != 1:
            raise ValueError(f"labels have shape {given.shape}; one label per pair, (M,), is needed")
        if len(given) and not np.issubdtype(given.dtype, np.integer):
            raise TypeError(f"labels must be integers, not {given.dtype}; Partition.from_labels takes any labels")
        label = frozen("label", given, np.int64)
        highest = np.maximum.accumulate(np.concatenate([[-1], label]))
        bad = np.flatnonzero((label < 0) | (label > highest[:-1] + 1))
        if len(bad):
            k = int(bad[0])
            raise ValueError(
                f"label {label[k]} of pair {k} is not canonical: classes are numbered 0, 1, ... as they first appear; "
                "Partition.from_labels renumbers any labels"
            )
        object.__setattr__(self, "label", label)

    @classmethod
    def from_labels(cls, labels: Any) -> Partition:
        """The partition in which pairs with equal labels, numbers or strings, share a class.

        >>> Partition.from_labels("abca").label
        array([0, 1, 2, 0])
        """
        labels = plain_array("labels", labels if isinstance(labels, np.ndarray) else several("labels", labels))
        if labels.ndim != 1:
            raise ValueError(f"labels have shape {labels.shape}; one label per pair, (M,), is needed")
        if np.issubdtype(labels.dtype, np.floating) and np.isnan(labels).any():
            raise ValueError(f"the label of pair {int(np.isnan(labels).argmax())} is NaN")
        if labels.dtype.hasobject:
            raise TypeError("labels must be numbers or strings, all of one kind")
        return cls(number_by_appearance(labels))

    @classmethod
    def singletons(cls, n_pairs: int) -> Partition:
        """Every pair in a class of its own."""
        return cls(np.arange(whole_number("n_pairs", n_pairs, least=0)))

    @property
    def n_pairs(self) -> int:
        """M, the number of pairs."""
        return len(self.label)

    @cached_property
    def n_classes(self) -> int:
        """C, the number of classes."""
        return int(self.label.max()) + 1 if len(self.label) else 0

    @cached_property
    def sizes(self) -> np.ndarray:
        """(C,) the number of pairs in each class."""
        return sealed(np.bincount(self.label, minlength=self.n_classes))

    def members(self, label: int) -> np.ndarray:
        """The pairs of one class, in increasing order."""
        c = whole_number("label", label, least=-LARGEST)
        if not 0 <= c < self.n_classes:
            raise ValueError(f"there is no class {c}: classes are 0 to {self.n_classes - 1}")
        return np.flatnonzero(self.label == c)

    def __iter__(self) -> Iterator[np.ndarray]:
        """The classes, each as the array of its pairs. O(M log M) in all."""
        order = np.argsort(self.label, kind="stable")
        yield from np.split(order, np.cumsum(self.sizes)[:-1]) if self.n_pairs else ()

    def __len__(self) -> int:
        return self.n_classes

    def restrict(self, pairs: Any) -> Partition:
        """The partition of a subset of the pairs.

        Parameters
        ----------
        pairs : array_like of int, or of bool, shape (M,)
            The numbers of the pairs, or a mask.

        Examples
        --------
        >>> Partition.from_labels("aabbc").restrict([4, 0, 1]).label
        array([0, 1, 1])
        """
        pairs = plain_array("pairs", pairs)
        if pairs.ndim != 1:
            raise ValueError(f"pairs has shape {pairs.shape}; numbers of pairs, or a mask, have one dimension")
        if pairs.dtype == bool:
            if pairs.shape != self.label.shape:
                raise ValueError(f"pairs is a mask of shape {pairs.shape}, the partition has shape {self.label.shape}")
        else:
            pairs = frozen("pairs", pairs, np.int64)
            bad = np.flatnonzero((pairs < 0) | (pairs >= self.n_pairs))
            if len(bad):
                raise ValueError(f"there is no pair {pairs[bad[0]]}: pairs are 0 to {self.n_pairs - 1}")
        return Partition.from_labels(self.label[pairs])

    def refines(self, other: Partition) -> bool:
        """Whether every class of this partition lies inside one class of another.

        >>> Partition.singletons(3).refines(Partition.from_labels("aab"))
        True
        """
        if not isinstance(other, Partition):
            raise TypeError(f"other must be a Partition, not {shown(other)}")
        return (self & other).n_classes == self.n_classes

    def __and__(self, other: Partition) -> Partition:
        """The common refinement: pairs share a class when they do in both.

        >>> (Partition.from_labels("aabb") & Partition.from_labels("abbb")).label
        array([0, 1, 2, 2])
        """
        if not isinstance(other, Partition):
            return NotImplemented
        check_same_pairs(self, other)
        return Partition.from_labels(self.label * max(1, other.n_classes) + other.label)

    def table(self, problem: Any = None) -> Table:
        """The pairs with their classes; a row per pair.

        Parameters
        ----------
        problem : TabularMDP, Pairs, Learner or Log, optional
            Whose pairs these are; gives them states and actions, by name where they have names.

        Returns
        -------
        Table
            Columns ``pair``, ``class``, ``size`` (of the class) and, with a problem, ``state`` and ``action``.

        Examples
        --------
        >>> Partition.from_labels("aba").table()["size"]
        [2, 1, 2]
        """
        columns: dict[str, Any] = {"pair": np.arange(self.n_pairs)}
        if problem is not None:
            pairs = getattr(problem, "pairs", problem)
            if getattr(pairs, "n_pairs", None) != self.n_pairs:
                raise ValueError(f"the partition is of {self.n_pairs} pairs; {shown(problem)} has others")
            columns["state"] = state_labels(pairs, pairs.state.tolist())
            columns["action"] = action_labels(pairs, pairs.action.tolist())
        return Table({**columns, "class": self.label, "size": self.sizes[self.label]})

    def to_json(self) -> str:
        """The labels as JSON, for :meth:`from_json`."""
        return json.dumps({"kind": "partition", "label": self.label.tolist()})

    @classmethod
    def from_json(cls, text: str) -> Partition:
        """The partition that :meth:`to_json` wrote."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, not {shown(text)}")
        try:
            held = json.loads(text)
        except RecursionError:
            raise ValueError("not a partition: the text is nested too deeply") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"not a partition: {error}") from None
        if not isinstance(held, dict) or held.get("kind") != "partition" or not isinstance(held.get("label"), list):
            raise ValueError('not a partition: {"kind": "partition", "label": [...]} is needed')
        return cls(np.array(held["label"]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        return np.array_equal(self.label, other.label)

    def __hash__(self) -> int:
        return hash(self.label.tobytes())

    def _repr_html_(self) -> str:
        order = np.argsort(-self.sizes, kind="stable")
        shown = Table({"class": order, "pairs": self.sizes[order]})
        return card(
            "Partition", {"pairs": self.n_pairs, "classes": self.n_classes}, {"Classes, the largest first": shown}
        )

    def __repr__(self) -> str:
        largest = np.sort(self.sizes)[::-1]
        shown = " ".join(map(str, largest[:8])) + (" ..." if len(largest) > 8 else "")
        return f"Partition(M={self.n_pairs}, C={self.n_classes}, sizes {shown})"


def check_same_pairs(one: Partition, other: Partition) -> None:
    if one.n_pairs != other.n_pairs:
        raise ValueError(f"the partitions do not match: one of {one.n_pairs} pairs, one of {other.n_pairs}")
