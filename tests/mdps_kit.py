"""Two small MDPs for the tests: one from arrays, one whose states differ in their actions."""

import numpy as np

from equirl.model.mdp import TabularMDP

P = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]])
R = np.array([[0.0, 0.5], [1.0, 0.25]])
UNEVEN = [(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 0.5, 1: 0.5}, 1.0), (1, 7, {2: 1.0}, 0.2), (2, 3, {0: 1.0}, 0.0)]


def small(**extras):
    return TabularMDP.from_arrays(P, R, **extras)


def uneven(**extras):
    return TabularMDP.from_pairs(UNEVEN, 3, **extras)
