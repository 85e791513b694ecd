"""What a command loads, and what it compiles, counted in processes of its own."""

import json
import subprocess
import sys

import pytest

from counted_kit import COUNTED

RUN = ("run", "riverswim:n_states=3", "c-psrl", "--runs", "1", "--horizon", "200")
LOG = "state,action,reward,next_state\n" + "low,wait,0,low\nlow,fill,-1,high\nhigh,sell,3,low\n" * 20
UNUSED = {"matplotlib", "pandas", "polars", "pyarrow", "IPython", "sklearn", "quantecon", "dask", "scipy.stats",
          "scipy.optimize", "numba.cuda"}  # fmt: skip
PLAIN = """
import numpy as np
from equirl.lab.studies.rehearsals import learn, play
from equirl.learners import AGENTS, make_agent
from equirl.numerics.compiling import has_cache, hooked

found, inside = set(), []

def noted(kernel, signature):
    if not inside and not has_cache(kernel):
        found.add(kernel.__name__)

    def plain(*args):
        inside.append(kernel)
        try:
            return kernel.py_func(*args)
        finally:
            inside.pop()

    return plain

with hooked(noted=noted), np.errstate(all="ignore"):
    learn()
    play(*AGENTS)
    for name in ("random", "c-psrl"):
        make_agent(name, n_states=3, n_actions=2, seed=0).act(0)
print(*found)
"""


def compiled_and_loaded(*words):
    """What a command compiles when it is run for the second time, the modules it loads, objects between collections."""
    for _ in range(2):
        command = [sys.executable, "-c", COUNTED, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("command", ["run", "learn"])
def test_nothing_is_compiled_twice_and_nothing_loaded_that_is_not_used(command, tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    words = RUN if command == "run" else ("learn", tmp_path / "log.csv")
    compiled, modules, objects = compiled_and_loaded(*words)
    assert compiled == []
    assert UNUSED.isdisjoint(modules)
    assert objects >= 10_000  # Python's 700 cost a tenth of a command


def test_python_calls_no_kernel_that_cannot_be_kept():
    """Steps of kernels have no file of their own: called by Python they would be compiled in each process."""
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
