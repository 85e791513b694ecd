"""Values to put in place of arguments: numbers at the edges, strange arrays, hostile text, foreign objects."""

from __future__ import annotations

import datetime
import fractions
import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

import equirl as eq
from equirl.model import Pairs

HOSTILE = (
    "[/bold]",
    "\x1b[31m",
    "$\\frac{1}{$",
    "../../x",
    "a\0b",
    "",
    " ",
    "%s{}",
    "日本",
    "\udcff",
    "nan",
    "1e400",
    "x" * 500,
)
WHOLE = (-(2**63), -1, 0, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 10**400, 10**5000)
REAL = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e-300, 1e-17, 0.5, 1 - 1e-16, 1.0, 1.5, 1e16, 1e308, -1e308)
FOREIGN = (
    None,
    True,
    False,
    np.bool_(True),
    np.float32(0.3),
    np.int8(3),
    np.uint64(2**64 - 1),
    np.float64(math.nan),
    1j,
    b"bytes",
    object(),
    type,
    len,
    lambda *_: 0,
    ...,
    NotImplemented,
    Path("x"),
    datetime.date(2020, 1, 1),
    fractions.Fraction(1, 3),
    range(3),
    {1, 2},
    {"a": 1},
    {},
    [],
    (),
    [[]],
    [[1, 2], [3]],
    ["a", 1],
    [None],
    np.array(3),
    np.array([]),
    np.zeros((0, 3)),
    np.zeros((2, 2, 2)),
    np.array([None, 1]),
    np.array(["a", "b"]),
    np.array([1, 2], "datetime64[s]"),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    np.array([2**64 - 1], np.uint64),
    np.array([np.nan, 1.0]),
    np.array([1 + 1j]),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    np.array([True, False]),
    np.zeros(3, np.float16),
    np.full(4, 2**62),
    np.array([2**40, 0]),
    sparse.csr_array(np.eye(3)),
    sparse.eye_array(2),
    eq.make("riverswim", n_states=3),
    Pairs.uniform(3, 2),
    eq.Partition.singletons(3),
    eq.TabularMDP,
    np.random.default_rng(0),
    np.random.SeedSequence(1),
    "riverswim",
    "c-ucrl",
    "auto",
    "log",
    "l1",
    "beta",
)


def one_of_these(values: tuple[Any, ...]) -> st.SearchStrategy:
    """As ``sampled_from``, which shows its values, and so fails where an integer is too long to be shown."""
    return st.integers(0, len(values) - 1).map(lambda k: values[k])


numbers = st.one_of(
    one_of_these(WHOLE), one_of_these(REAL), st.integers(), st.floats(), st.integers(-3, 12), st.floats(0, 1)
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12).map(lambda text: text.lstrip("/")))
arrays = st.one_of(
    npst.arrays(
        st.one_of(npst.integer_dtypes(), npst.floating_dtypes(), npst.boolean_dtypes()),
        npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    ),
    st.lists(numbers, max_size=9),
    st.lists(st.lists(st.floats(0, 1), max_size=3), max_size=4),
)
anything = st.one_of(one_of_these(FOREIGN), numbers, texts, arrays)
