"""Rows drawn where classes and profiles are known: the masses of a class, read back through the known order."""

from __future__ import annotations

import math

import numpy as np

from equirl.estimation.class_counts import ClassCounts, Grouping, count_by_known_position
from equirl.estimation.counts import Snapshot
from equirl.numerics.compiling import lean_kernel
from equirl.numerics.random_draws import log_gamma_draw
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles


def draw_profile_rows(
    rng: np.ndarray, seen: Snapshot, classes: Partition, profiles: Profiles, tie: np.ndarray, prior: float
) -> np.ndarray:
    """Probabilities in the order of ``profiles``: per class Dirichlet(prior / J + pooled counts), ties sharing."""
    pooled = count_by_known_position(seen, Grouping(classes.label.copy(), classes.n_classes), profiles)
    w, prob = np.empty(len(pooled.count)), np.empty(len(profiles.prob))
    _draw_masses(rng, pooled, prior, w)
    _share(profiles.ptr.copy(), tie, pooled, w, prob)
    return prob


@lean_kernel
def _draw_masses(rng: np.ndarray, pooled: ClassCounts, prior: float, w: np.ndarray) -> None:
    for c in range(len(pooled.visits)):
        first, last = pooled.ptr[c], pooled.ptr[c + 1]
        top, total = -math.inf, 0.0
        for j in range(first, last):
            w[j] = log_gamma_draw(rng, prior / (last - first) + pooled.count[j])
            top = max(top, w[j])
        for j in range(first, last):
            w[j] = math.exp(w[j] - top)
            total += w[j]
        for j in range(first, last):
            w[j] /= total


@lean_kernel
def _share(ptr: np.ndarray, tie: np.ndarray, pooled: ClassCounts, w: np.ndarray, prob: np.ndarray) -> None:
    """The mass of each entry; entries of one tie group share theirs."""
    for k in range(len(pooled.label)):
        base, j = pooled.ptr[pooled.label[k]], ptr[k]
        while j < ptr[k + 1]:
            end, total = j, 0.0
            while end < ptr[k + 1] and tie[end] == tie[j]:
                total += w[base + end - ptr[k]]
                end += 1
            for i in range(j, end):
                prob[i] = total / (end - j)
            j = end
