"""A class in a few words: how many pairs, what they share, and where they differ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.reward_laws import original_rewards
from equirl.structure.partition import Partition
from equirl.words.formatting import counted, number

DECIMALS = 8  # profiles and means that agree to so many are shown as one


class ClassSummary(NamedTuple):
    """What the pairs of a class have in common. What they do not share is counted, never shown as theirs."""

    label: int
    size: int
    first: int  # the pair with the smallest number
    profile: np.ndarray  # of the first pair
    n_profiles: int  # different ones among its pairs
    least_mean: float  # in the user's units
    largest_mean: float

    def profile_text(self, most: int = 6) -> str:
        """The profile that all pairs share, or how many different ones there are."""
        if self.n_profiles > 1:
            return f"{self.n_profiles} different"
        return " ".join(f"{p:.4g}" for p in self.profile[:most]) + (" ..." if len(self.profile) > most else "")

    def reward_text(self) -> str:
        """The mean reward that all pairs share, or the least and the largest; in the user's units."""
        low, high = number(self.least_mean, 4), number(self.largest_mean, 4)
        return low if low == high else f"{low} to {high}"

    def __str__(self) -> str:
        law = f"{self.n_profiles} different profiles" if self.n_profiles > 1 else f"profile {self.profile_text(4)}"
        paid = f", reward {self.reward_text()}" if self.largest_mean or self.least_mean else ""
        return f"{self.label}: {counted(self.size, 'pair')}, {law}{paid}"


def summarise_class(mdp: TabularMDP, partition: Partition, label: int) -> ClassSummary:
    """What the pairs of a class truly share: of classes that were learned perhaps not much.

    Examples
    --------
    >>> mdp = TabularMDP.from_arrays([[[0.2, 0.8]], [[0.8, 0.2]]], [[0.0], [1.0]])
    >>> str(summarise_class(mdp, Partition.from_labels("aa"), 0))
    '0: 2 pairs, profile 0.8 0.2, reward 0 to 1'
    """
    members = np.flatnonzero(partition.label == label)
    means = original_rewards(np.round(mdp.r_mean[members], DECIMALS), mdp.reward_map)
    different = {np.round(_profile(mdp, k), DECIMALS).tobytes() for k in members.tolist()}
    first = int(members[0])
    return ClassSummary(
        label, len(members), first, _profile(mdp, first), len(different), float(means.min()), float(means.max())
    )


def _profile(mdp: TabularMDP, pair: int) -> np.ndarray:
    return np.sort(mdp.rows.prob[mdp.rows.ptr[pair] : mdp.rows.ptr[pair + 1]])[::-1]
