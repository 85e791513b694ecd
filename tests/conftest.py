import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
PRODUCTS = ("__pycache__", "build", "dist", "site", "htmlcov")  # of tools, as hidden files are
BEFORE, GAINED = pytest.StashKey(), pytest.StashKey()

settings.register_profile("equirl", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("equirl")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_setupnodes():
    """Import QuantEcon once before workers do: two that compile it at the same time break its cache for good."""
    subprocess.run([sys.executable, "-c", "import quantecon"], check=False, capture_output=True)


def pytest_collection_modifyitems(config, items):
    """Leave out what takes as long as it is given, unless its mark is asked for; shuffle where a seed is given."""
    if "fuzz" not in config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("fuzz")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    if seed := os.environ.get("EQUIRL_TEST_ORDER"):
        items[:] = shuffled(items, seed)


def shuffled(items, seed):
    """Tests in the random order of a seed, the same in every worker: files, and the tests of each."""
    chance, files = random.Random(seed), {}
    for item in sorted(items, key=lambda item: item.nodeid):
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    chosen = chance.sample(list(files.values()), len(files))
    return [item for tests in chosen for item in chance.sample(tests, len(tests))]


# Tests write into temporary folders alone: a file that the tree has gained makes the whole run fail.


def files_of_tree():
    found, folders = set(), [ROOT]
    while folders:
        for path in folders.pop().iterdir():
            if path.name.startswith(".") or path.name in PRODUCTS or path.suffix == ".egg-info":
                continue
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            else:
                found.add(path.relative_to(ROOT).as_posix())
    return found


def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):  # of xdist: the process that started it looks
        session.config.stash[BEFORE] = files_of_tree()


def pytest_sessionfinish(session):
    if BEFORE in session.config.stash:
        gained = session.config.stash[GAINED] = sorted(files_of_tree() - session.config.stash[BEFORE])
        if gained and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for name in config.stash.get(GAINED, ()):
        terminalreporter.write_line(f"written into the tree during the tests: {name}; use tmp_path", red=True)
