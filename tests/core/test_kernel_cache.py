"""Compiled kernels on disk: a damaged file is compiled again, and says so once."""

import subprocess
import sys

import pytest

TINY = """
from equirl.core.compiling import kernel

@kernel
def twice(x):
    return 2 * x
"""
USE = "import tiny; print(tiny.twice(3), sum(tiny.twice.stats.cache_hits.values()))"


@pytest.fixture
def use(tmp_path, monkeypatch):
    """Runs the kernel in a new process: what it prints, and what is said beside."""
    (tmp_path / "tiny.py").write_text(TINY)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def run(code=USE):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout.strip(), done.stderr.strip()

    return run


def cached(folder, ending):
    return next((folder / "cache").rglob(f"*.{ending}"))


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1 :]


def cut(content):
    return content[:-40]


def test_a_kernel_is_found_in_the_cache(use):
    assert [use(), use()] == [("6 0", ""), ("6 1", "")]


def test_a_damaged_file_is_compiled_again_with_a_line_that_names_it(use, tmp_path):
    use()
    for ending, damage in (("nbi", cut), ("nbc", cut), ("nbc", flip)):
        path = cached(tmp_path, ending)
        path.write_bytes(damage(path.read_bytes()))
        assert use() == ("6 0", f"{path}, of a compiled inner loop, is damaged; compiling it again")
    assert use() == ("6 1", "")


def test_a_file_of_numbas_own_without_a_seal_is_replaced_silently(use, tmp_path):
    use()
    path = cached(tmp_path, "nbi")
    path.write_bytes(path.read_bytes()[:-22])
    assert use() == ("6 0", "")


def test_a_disk_that_is_full_costs_the_cache_alone(use):
    full = "import errno, os; from numba.core.caching import IndexDataCacheFile as Files\n"
    full += "def refuse(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
    full += "Files._save_index = refuse\n"
    printed, said = use(full + USE)
    assert printed == "6 0"
    assert "the compiled twice cannot be kept (No space left on device)" in said


def test_sealed_content_is_read_by_pickle_as_if_there_were_no_seal():
    import pickle

    from equirl.core.kernel_cache import sealed

    assert pickle.loads(sealed(pickle.dumps([1, "two"]))) == [1, "two"]
