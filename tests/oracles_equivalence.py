"""Slow, obvious answers about equivalence: all pairs compared, every sum written out."""

import numpy as np


def dense_profiles(mdp):
    """(M, S) every law sorted in decreasing order, zeros included."""
    rows = np.zeros((mdp.n_pairs, mdp.n_states))
    for k in range(mdp.n_pairs):
        law = mdp.rows.prob[mdp.rows.ptr[k] : mdp.rows.ptr[k + 1]]
        rows[k, : len(law)] = sorted(law, reverse=True)
    return rows


def l1(p, q):
    """sum_j |p_j - q_j|, added in order."""
    return sum((abs(a - b) for a, b in zip(p.tolist(), q.tolist(), strict=True)), 0.0)


def all_distances(mdp):
    """(M, M) L1 distances between profiles."""
    rows = dense_profiles(mdp)
    return np.array([[l1(p, q) for q in rows] for p in rows])


def all_pairs_labels(mdp, rewards, tolerance):
    """Labels of the connected components of "within tolerance", every pair compared with every other."""
    near = all_distances(mdp) <= tolerance
    if rewards:
        near &= np.abs(mdp.r_mean[:, None] - mdp.r_mean[None, :]) <= tolerance
    label = np.arange(mdp.n_pairs)
    while True:
        lowest = np.array([label[near[k]].min() for k in range(mdp.n_pairs)])
        if np.array_equal(lowest, label):
            return label
        label = lowest


def parts_of(cluster, truth):
    """The parts of a cluster under the true labels."""
    return [[k for k in cluster if truth[k] == t] for t in sorted({truth[k] for k in cluster})]


def largest_part(cluster, truth, visits, priority):
    """l(c): the largest part; among equals more visits, then the smallest priority of a member."""
    return min(
        parts_of(cluster, truth),
        key=lambda part: (-len(part), -sum(visits[k] for k in part), min(priority[k] for k in part)),
    )


def clusters_of(label):
    return [[k for k in range(len(label)) if label[k] == c] for c in sorted(set(label))]


def ratio(label, truth, visits, priority):
    """(1/M) sum_c |c minus l(c)|."""
    wrong = [len(c) - len(largest_part(c, truth, visits, priority)) for c in clusters_of(label)]
    return sum(wrong) / len(label)


def pooled(pairs, counts, width):
    """The pooled profile of some pairs, from their sorted counts; None without samples."""
    total = np.zeros(width)
    for k in pairs:
        total[: len(counts[k])] += counts[k]
    return total / total.sum() if total.sum() else None


def bias(label, truth, visits, counts, priority):
    """sum over mis-clustered pairs of the L1 distance between pooled profiles with and without the pair."""
    width = max(len(row) for row in counts) + 1
    total = 0.0
    for cluster in clusters_of(label):
        largest = largest_part(cluster, truth, visits, priority)
        for e in set(cluster) - set(largest):
            with_it = pooled(cluster, counts, width)
            without = pooled([k for k in cluster if k != e], counts, width)
            if with_it is not None and without is not None:
                total += np.abs(with_it - without).sum()
    return total
