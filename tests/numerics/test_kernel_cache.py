"""Compiled kernels on disk: what they call decides whether they are found; a damaged file is compiled again."""

import errno
import importlib
import os
import subprocess
import sys

import numba
import pytest

from equirl.numerics import kernel_cache
from equirl.numerics.compiling import kernel

CONSTANTS = "SCALE = 2\n"
INNER = """
from equirl.numerics.compiling import kernel
from tiny.constants import SCALE

@kernel
def scaled(x):
    return SCALE * x
"""
OUTER = """
from typing import NamedTuple
from equirl.numerics.compiling import kernel
from tiny import inner

class Point(NamedTuple):
    x: int
    y: int

@kernel
def steps(x):
    return inner.scaled(x)

@kernel
def twice(point: Point, n: int = 1):
    return steps(point.x) * n
"""
USE = "from tiny.outer import Point, twice; print(twice(Point(3, 5)), sum(twice.stats.cache_hits.values()))"


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A small package, and a folder for the cache of its kernels."""
    (tmp_path / "tiny").mkdir()
    for name, text in {"__init__": "", "constants": CONSTANTS, "inner": INNER, "outer": OUTER}.items():
        (tmp_path / "tiny" / f"{name}.py").write_text(text)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # an edit within a second of the other must be seen


@pytest.fixture
def fresh(monkeypatch):
    """Imports the package anew, as a new process would."""

    def load():
        for name in [name for name in sys.modules if name.split(".")[0] == "tiny"]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return importlib.import_module("tiny.outer")

    return load


@pytest.fixture
def use(fresh, caplog):
    """Calls the kernel of the package, imported anew: its answer, whether it was in the cache, and what is said."""

    def run(module=None):
        module = module or fresh()
        caplog.clear()
        kernel_cache._say.cache_clear()
        answer = module.twice(module.Point(3, 5))
        return answer, bool(module.twice.stats.cache_hits), [record.message for record in caplog.records]

    return run


def in_process(folder, code=USE):
    """Runs code in a process of its own; what it prints."""
    command = [sys.executable, "-B", "-c", code]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ)


def printed(process):
    return process.communicate(timeout=600)[0].strip()


@pytest.fixture
def edit(tmp_path):
    """Replaces a piece of a module of the small package."""

    def replace(module, old, new):
        path = tmp_path / "tiny" / f"{module}.py"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return replace


def files_of(folder, kernel):
    return sorted((folder / "cache").rglob(f"*.{kernel}-*"))


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1 :]


def cut(content):
    return content[:-40]


def test_a_kernel_is_found_in_the_cache(use):
    assert [use(), use()] == [(6, False, []), (6, True, [])]


def test_a_kernel_is_found_by_another_process_whatever_its_seed_of_hashes(use, tmp_path, monkeypatch):
    use()
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    assert printed(in_process(tmp_path)) == "6 1"


@pytest.mark.parametrize(
    ("module", "old", "new", "answer"),
    [
        ("inner", "SCALE * x", "SCALE * x + 1", 7),  # what is called by what is called
        ("constants", "SCALE = 2", "SCALE = 4", 12),  # a constant of another file
        ("outer", "x: int\n    y: int", "y: int\n    x: int", 10),  # the fields of an argument, in another order
        ("outer", "n: int = 1", "n: int = 2", 12),  # a default
        ("inner", "import kernel\n", "import lean_kernel as kernel\n", 6),  # how a callee is compiled
    ],
)
def test_a_kernel_is_compiled_again_when_what_it_depends_on_changed(use, edit, module, old, new, answer):
    use()
    edit(module, old, new)
    assert [use(), use()] == [(answer, False, []), (answer, True, [])]


def test_an_edit_of_what_a_kernel_does_not_call_leaves_it_in_the_cache(use, edit):
    use()
    edit("inner", "@kernel", "UNUSED = 1\n\ndef other(x):\n    return x\n\n@kernel")
    assert use() == (6, True, [])


def test_what_was_imported_before_an_edit_does_not_spoil_the_cache(use, fresh, edit):
    old = fresh()
    edit("inner", "SCALE * x", "SCALE * x + 1")
    assert use(old) == (6, False, [])
    assert use() == (7, False, [])


def test_files_of_other_code_are_cleared(use, edit, tmp_path):
    use()
    before = files_of(tmp_path, "twice")
    edit("constants", "SCALE = 2", "SCALE = 4")
    use()
    after = files_of(tmp_path, "twice")
    assert len(before) == len(after) == 1
    assert before != after


def test_kernels_of_two_processors_lie_side_by_side(use, tmp_path, monkeypatch):
    use()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    assert printed(in_process(tmp_path)) == "6 0"
    assert len(files_of(tmp_path, "twice")) == 2
    assert use() == (6, True, [])


def test_processes_that_fill_one_cache_at_once_leave_it_whole(use, tmp_path):
    code = "from tiny.outer import Point, twice; print(twice(Point({0}, 5)), twice(Point({0}.0, 5)))"
    started = [in_process(tmp_path, code.format(i)) for i in range(3)]
    assert [printed(process) for process in started] == ["0 0.0", "2 2.0", "4 4.0"]
    assert len(files_of(tmp_path, "twice")) == 2
    assert use() == (6, True, [])


def test_a_damaged_file_is_compiled_again_with_a_line_that_names_it(use, tmp_path):
    use()
    for damage in (cut, flip, lambda content: b""):
        (path,) = files_of(tmp_path, "twice")
        path.write_bytes(damage(path.read_bytes()))
        assert use() == (6, False, [f"{path}, of a compiled inner loop, is damaged; compiling it again"])
    assert use() == (6, True, [])


def test_a_disk_that_is_full_costs_the_cache_alone(use, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kernel_cache.os, "replace", refuse)
    answer, _, said = use()
    assert answer == 6
    assert any("the compiled twice cannot be kept (No space left on device)" in line for line in said)
    assert not files_of(tmp_path, "twice")


@kernel
def _counted_down(n):
    return 0 if n <= 0 else 1 + _counted_down(n - 1)


@kernel
def _twice(n):
    return _counted_down(n) + _counted_down(n)


def test_a_kernel_that_calls_one_that_calls_itself_has_a_stamp():
    assert kernel_cache.stamp(_twice) != kernel_cache.stamp(_counted_down)
