import os
import random
import signal
import subprocess
import sys

from hypothesis import settings

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
    """Tests in the random order of a seed, the same in every worker, however they were collected."""
    return random.Random(seed).sample(sorted(items, key=lambda item: item.nodeid), len(items))
