"""Which true class a found class stands for, so that both can be shown in one colour."""

from __future__ import annotations

import numpy as np

from equirl.structure.partition import Partition, check_same_pairs


def match_classes(found: Partition, truth: Partition) -> np.ndarray:
    """The true class that each found class stands for: largest overlaps first, each true class at most once.

    Examples
    --------
    >>> match_classes(Partition.from_labels("aaabbc"), Partition.from_labels("xxyyyy"))
    array([ 0,  1, -1])
    """
    check_same_pairs(found, truth)
    overlap, size = np.unique(found.label * max(1, truth.n_classes) + truth.label, return_counts=True)
    match = np.full(found.n_classes, -1)
    taken = np.zeros(truth.n_classes, bool)
    for k in np.argsort(-size, kind="stable").tolist():
        mine, its = divmod(int(overlap[k]), truth.n_classes)
        if match[mine] < 0 and not taken[its]:
            match[mine], taken[its] = its, True
    return match
