"""Where Numba's insides are not as they were, kernels are compiled its own way, with the same results."""

import os
import subprocess
import sys
import types

import numba
import numpy as np
import pytest

from equirl.numerics import compiling
from equirl.numerics.compiling import has_cache, inlined, kernel, lean_kernel
from equirl.numerics.linking import KernelLibrary

MISSING = """
import logging
from numba.core import codegen
del codegen.JITCodeLibrary
logging.basicConfig(format="%(message)s")
import equirl as eq
from equirl.simulation.rollout import walk
from equirl.solving.chains import _closed_components
mdp = eq.make("riverswim", n_states=3)
trace = eq.simulate(mdp, "ucrl2-l", horizon=100, seed=3)
print(eq.solve(mdp).gain.hex(), trace.reward[-1].hex(), [len(f.overloads) for f in (walk, _closed_components)])
print(sum(map(bool, (walk.stats.cache_hits, _closed_components.stats.cache_hits))))
"""
USUAL = MISSING.replace("del codegen.JITCodeLibrary", "")


@kernel
def _add(values, out):
    for i in range(len(values)):
        out[0] += values[i]


@lean_kernel
def _sum_twice(values, out):
    _add(values, out)
    _add(values, out)


@inlined
def _both(values, out):
    _sum_twice(values, out)


@kernel
def _calls_all(values):
    out = np.zeros(1)
    _both(values, out)
    return out[0]


@kernel
def _mistaken(values):
    return values.nothing_of_the_kind


@pytest.fixture
def otherwise(monkeypatch):
    """A Numba whose code cannot be linked as it was."""

    def finalize(self):
        raise AttributeError("no attribute '_finalize_final_module'")

    monkeypatch.setattr(compiling._Linking, "works", True)
    monkeypatch.setattr(KernelLibrary, "finalize", finalize)


def processed(code, cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.long
def test_a_name_that_is_missing_costs_time_alone(tmp_path):
    usual = processed(USUAL, os.environ.get("NUMBA_CACHE_DIR", tmp_path / "usual"))
    first, second = (processed(MISSING, tmp_path) for _ in range(2))
    assert "inner loops are compiled one by one" not in usual.stderr
    for done in (first, second):
        assert done.stderr.count(f"inside Numba {numba.__version__} something is not as it was") == 1
        assert "JITCodeLibrary" in done.stderr
    assert first.stdout.splitlines()[0] == second.stdout.splitlines()[0] == usual.stdout.splitlines()[0]
    assert [first.stdout.splitlines()[1], second.stdout.splitlines()[1]] == ["0", "2"]


def test_what_cannot_be_linked_is_compiled_one_by_one_and_said_once(otherwise, caplog):
    values = np.array([1.0, 2.0])
    for function in (_calls_all, _add, _sum_twice):
        function._cache.flush()
    assert _calls_all(values) == 6.0
    assert len(_calls_all.overloads) == 1
    out = np.zeros(1)
    _sum_twice(values, out)
    assert out[0] == 6.0
    assert [record.message.partition(" (")[0] for record in caplog.records if "inside Numba" in record.message] == [
        f"inside Numba {numba.__version__} something is not as it was"
    ]
    assert not compiling._Linking.works


def test_kernels_made_after_that_are_numba_s_own(monkeypatch):
    monkeypatch.setattr(compiling._Linking, "works", False)

    @inlined
    def halved(x):
        return x / 2

    @kernel
    def both(x):
        return _add_one(x) + halved(x)

    assert both(4.0) == 7.0
    assert has_cache(both)
    assert len(_add_one.overloads) == 0  # called through a program of its own, not as Python calls it


@kernel
def _add_one(x):
    return x + 1


def test_what_cannot_be_kept_is_compiled_in_each_process(monkeypatch, caplog):
    def reduce(self, data):
        raise AttributeError("no attribute '_reduce'")

    monkeypatch.setattr(compiling._Linking, "works", False)

    @kernel
    def cubed(x):
        return x**3

    monkeypatch.setattr(type(cubed._cache._impl), "reduce", reduce)
    cubed._cache.flush()
    assert cubed(2) == 8
    assert any("cubed cannot be kept (no attribute '_reduce')" in record.message for record in caplog.records)


def test_a_mistake_in_a_kernel_stays_one(caplog):
    with pytest.raises(numba.TypingError, match="nothing_of_the_kind"):
        _mistaken(np.zeros(1))
    assert compiling._Linking.works
    assert not [record for record in caplog.records if "inside Numba" in record.message]


def test_a_function_without_a_module_can_be_a_kernel():
    def plain(x):
        return x + 1

    lost = types.FunctionType(plain.__code__, {})
    assert lost.__module__ is None
    assert [decorated(lost)(3) for decorated in (kernel, lean_kernel, numba.njit)] == [4, 4, 4]
