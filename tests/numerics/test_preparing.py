"""Kernels found by playing in plain Python, compiled in advance, and kernels that come with an installation."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from equirl.numerics import kernel_cache, preparing
from equirl.numerics.compiling import has_cache, hooked, inlined, is_kept, kernel
from equirl.numerics.preparing import Task, calls_of, prepare, shipped_to

TINY = """
import numpy as np
from equirl.numerics.compiling import kernel

@kernel
def leaf(x):
    return x + 1

@kernel
def a(x):
    return leaf(x) + 1

@kernel
def b(x):
    return leaf(x) + 2

@kernel
def c(x):
    return leaf(x) + 3

@kernel
def d(x):
    return leaf(x) + 4

def play(*words):
    return [f(np.float64(len(words))) for f in (a, b, c, d)]
"""
TASK = Task("tiny_tasks", "play", ("one", "two"))
USE = """
import tiny_tasks
print(tiny_tasks.play("one", "two"), sum(bool(f.stats.cache_hits) for f in (tiny_tasks.a, tiny_tasks.b)))
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A module with four kernels, and an empty cache; processes started by the test find both."""
    (tmp_path / "tiny_tasks.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, "tiny_tasks", raising=False)
    return tmp_path


def names(calls):
    return [call.kernel.__name__ for call in calls]


def kept(folder):
    return sorted(path.name.partition("-")[0].split(".")[-1] for path in (folder / "cache").rglob("*.nbc"))


def test_kernels_called_by_python_are_noted_in_order_and_played_plainly():
    @inlined
    def pasted(x):
        return x - 1

    @kernel
    def inner(x):
        return x * x

    @kernel
    def outer(x):
        return inner(x) + pasted(x)

    found = []

    def rehearse():
        found.append(outer(3))
        found.append(inner(np.float32(2)))
        found.append(outer(4) + pasted(2))

    calls = calls_of(rehearse)
    assert found == [11, 4, 20]
    assert names(calls) == ["outer", "inner"]
    assert [call.signature for call in calls] == [(numba.int64,), (numba.float32,)]
    assert [len(f.overloads) for f in (outer, inner, pasted)] == [0, 0, 0]
    assert not has_cache(pasted)


def test_a_rehearsal_that_fails_leaves_kernels_as_they_were():
    @kernel
    def plus_one(x):
        return x + 1

    with pytest.raises(ZeroDivisionError):
        calls_of(lambda: plus_one(1 / 0))
    assert plus_one(3) == 4
    assert len(plus_one.overloads) == 1


def test_what_a_task_calls_is_compiled_once_and_counted(tiny, monkeypatch):
    monkeypatch.setattr(preparing.os, "cpu_count", lambda: 1)
    seen = []
    assert prepare(TASK, lambda ready, total: seen.append((ready, total))) == 4
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert kept(tiny) == ["a", "b", "c", "d"]
    assert prepare(TASK, lambda ready, total: seen.append((ready, total))) == 0
    assert len(seen) == 4


def test_two_processes_fill_one_cache(tiny, monkeypatch):
    monkeypatch.setattr(preparing.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(preparing, "_claimed", lambda claims, name: ".d." in name)  # the rest is left to the other
    seen = []
    assert prepare(TASK, lambda ready, total: seen.append((ready, total))) == 4
    assert kept(tiny) == ["a", "b", "c", "d"]
    assert seen[-1] == (4, 4)
    import tiny_tasks

    assert [len(f.overloads) for f in (tiny_tasks.a, tiny_tasks.d)] == [0, 1]


def test_a_task_that_cannot_be_rehearsed_is_left_to_itself(tiny):
    assert prepare(Task("tiny_tasks", "nothing", ())) == 0


def test_few_kernels_are_not_worth_another_process(monkeypatch, tiny):
    monkeypatch.setattr(preparing, "FEWEST_FOR_TWO", 5)
    monkeypatch.setattr(preparing.subprocess, "Popen", None)
    assert prepare(TASK) == 4


def test_a_file_is_claimed_once(tmp_path):
    assert preparing._claimed(None, "x")
    assert [preparing._claimed(tmp_path, "x") for _ in range(2)] == [True, False]
    assert not preparing._claimed(tmp_path / "gone", "x")


def test_the_first_kernel_missing_has_all_prepared(tiny):
    import tiny_tasks

    said = []
    with hooked(missing=lambda: said.append("missing")):
        assert tiny_tasks.a(1) == 3
        assert tiny_tasks.b(1) == 4
    assert said == ["missing"]
    with hooked(missing=lambda: said.append("again")):
        assert tiny_tasks.a(1) == 3
    assert said == ["missing"]
    assert is_kept(tiny_tasks.a, (numba.int64,))
    assert not is_kept(tiny_tasks.c, (numba.int64,))


@pytest.fixture
def shipped(tiny):
    return shipped_to(tiny / "shipped", None, [TASK])


def used_with(folder, **environment):
    """What the kernels answer in another process whose own cache is empty, and how many were found."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "other"), **environment}
    run = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_kernels_in_a_folder_are_found_whatever_the_processor_is_called(tiny, shipped):
    assert shipped.name == kernel_cache.runnable_processors()[0]
    assert len(list(shipped.iterdir())) == 4
    assert kept(tiny) == []
    found = used_with(tiny, EQUIRL_KERNELS=str(tiny / "shipped"), NUMBA_CPU_NAME="generic")
    assert found == ["[4.0,", "5.0,", "6.0,", "7.0]", "2"]
    assert used_with(tiny, NUMBA_CPU_NAME="generic")[-1] == "0"


def test_where_nothing_can_be_written_the_folder_is_found_too(tiny, shipped, monkeypatch):
    import tiny_tasks

    monkeypatch.setenv(kernel_cache.SHIPPED_VARIABLE, str(tiny / "shipped"))
    monkeypatch.setattr(tiny_tasks.a, "_cache", kernel_cache.ShippedCache(tiny_tasks.a))
    assert tiny_tasks.a(1.0) == 3.0
    assert sum(tiny_tasks.a.stats.cache_hits.values()) == 1
    assert tiny_tasks.a(1) == 3  # of other types: compiled
    assert not has_cache(tiny_tasks.a)


def test_only_processors_that_this_one_stands_in_for(tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "runnable_processors", lambda: ("x86-64", "generic"))
    with pytest.raises(ValueError, match=r"cannot stand in for x86-64-v4: it lacks some of .*avx512f"):
        shipped_to(tmp_path, "x86-64-v4", [])
    with pytest.raises(ValueError, match="x86-64-v3"):
        shipped_to(tmp_path, "x86-64-v33", [])
    assert shipped_to(tmp_path, None, []) == tmp_path / "x86-64"
    assert shipped_to(tmp_path, "generic", []) == tmp_path / "generic"


@pytest.mark.parametrize(
    ("features", "triple", "runnable"),
    [
        (kernel_cache.BASELINES["x86-64-v3"], "x86_64-linux", ("x86-64-v3", "x86-64-v2", "x86-64", "generic")),
        ("sse3", "x86_64-linux", ("x86-64", "generic")),
        (kernel_cache.BASELINES["x86-64-v3"], "aarch64-linux", ("generic",)),
    ],
)
def test_the_most_capable_baseline_is_first(monkeypatch, features, triple, runnable):
    has = dict.fromkeys(features.split(), True) | {"avx512f": False}
    monkeypatch.setattr(kernel_cache.llvm, "get_host_cpu_features", lambda: has)
    monkeypatch.setattr(kernel_cache.llvm, "get_process_triple", lambda: triple)
    assert kernel_cache.runnable_processors.__wrapped__() == runnable
