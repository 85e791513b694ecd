"""Beta quantiles and all that they are made of are what they were, bit by bit nearly (``same_quantiles.json``).

``python tests/numerics/test_same_quantiles.py`` stores them anew.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.numerics.beta_quantile import (
    beta_quantile,
    beta_quantiles,
    beta_reward,
    fraction,
    log1p_rest,
    log_density_rest,
    log_power,
    log_scale,
    lower_quantile,
    mills_ratio,
    stirling_rest,
    upper_deviation,
)
from stored_kit import check, store

SIZES = (1e-3, 0.3, 1.0, 4.0, 9.99, 10.0, 10.01, 60.0, 2999.0, 4e4, 1e7)
CHANCES = (0.0, 1e-200, 1e-9, 0.2, 0.5, 0.77, 1 - 1e-9)


def parts():
    """Small parts times large factors, so that each of their terms is seen."""
    near = (-0.9, -0.5, -0.1001, -0.1, -0.0999, -1e-7, 0.0, 1e-9, 0.03, 0.1, 0.1001, 2.0)
    return {
        "stirling": [stirling_rest(a) for a in SIZES],
        "log": [log1p_rest(w) for w in near],
        "terms of log": [log1p_rest(w) / w**2 for w in near if w],
        "scale": [log_scale(a, b) for a in SIZES for b in SIZES],
        "power": [
            log_power(a, b, x) for a in (0.3, 4.0, 3e3) for b in (0.5, 60.0) for x in (1e-9, 0.2, 0.5, 0.9, 1 - 1e-9)
        ],
        "fraction": [
            fraction(a, b, x * (a + 1) / (a + b + 2))
            for a in (0.3, 1.0, 40.0)
            for b in (0.5, 1.0, 90.0)
            for x in (0.0, 0.4, 1.0)
        ],
        "density": [
            log_density_rest(a, b, z) for a in (4e3, 1e6) for b in (5e3, 2e4) for z in (-2.0, 0.0, 1.5, 1e3, 1e9)
        ],
        "mills": [mills_ratio(a, b, z) for a in (4e3, 1e6) for b in (5e3, 2e4) for z in (-2.0, -0.1, 0.0, 1.5, 6.0)],
        "deviation": [
            upper_deviation(a, b, math.log(u)) for a in (4e3, 1e6) for b in (5e3, 2e4) for u in (0.5, 0.1, 1e-12)
        ],
        "lower": [lower_quantile(2.5, 4.0, math.log(u), 0.6, math.log(0.9)) for u in (1e-30, 1e-4, 0.5, 0.85)],
    }


def quantiles():
    found = [beta_quantile(a, b, u) for a in SIZES for b in SIZES for u in CHANCES]
    rewards = [
        beta_reward(m, k, u)
        for m in (0.0, 1e-301, 1e-5, 0.3, 1.0)
        for k in (1e-320, 1e-3, 2.0, 1e9)
        for u in (0.0, 0.4, 0.69, 0.71)
    ]
    mean = np.linspace(0, 1, 8)
    beta_quantiles(mean, 3.0, np.linspace(0.05, 0.95, 8))
    return {"quantiles": found, "logarithms": np.log(np.maximum(found, 1e-300)), "rewards": rewards, "in place": mean}


CASES = {"parts": parts, "quantiles": quantiles}


@pytest.mark.parametrize("case", CASES)
def test_quantiles_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
