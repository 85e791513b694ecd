"""What commands are about to do, in miniature: played in plain Python to find the kernels that they call."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from equirl.learners import AGENTS
from equirl.numerics.compiling import hooked
from equirl.numerics.preparing import Task, prepare

STEPS = 40
HEADER = "state,action,reward,next_state\n"
LOG = HEADER + 5 * "low,wait,0,low\nlow,fill,0.5,high\nhigh,wait,0,low\nlow,fill,0.5,high\nhigh,wait,0,low\n"
POOR = {"low": "wait", "high": "wait"}  # so that there is something left to learn


def play(*learners: str) -> None:
    """Runs of learners in a world of two states, whose optimum is found."""
    from equirl.simulation import simulate
    from equirl.worlds import make

    for name in learners:
        simulate(make("riverswim", n_states=2), name, STEPS, 0)


def learn() -> None:
    """What ``equirl learn`` does with a log."""
    from equirl.logs.log import from_log

    with tempfile.TemporaryDirectory(prefix="equirl-") as folder:
        (path := Path(folder, "log.csv")).write_text(LOG)
        counts = from_log(path)
    counts.learn(draws=1, seed=0)
    counts.limitations()
    counts.next_steps(STEPS, policy=POOR, draws=1, seed=0)


LEARNING = Task(__name__, "learn", ())


def playing(learners: Iterable[str]) -> Task:
    """Of the learners that have these names; others are left to themselves."""
    return Task(__name__, "play", tuple(name for name in dict.fromkeys(learners) if name in AGENTS))


@contextmanager
def prepared(task: Task) -> Iterator[None]:
    """Inside, the first kernel that is missing has all of the task's compiled, with a line that says how far it is."""
    with hooked(missing=lambda: said_while_preparing(task)):
        yield


def said_while_preparing(task: Task) -> int:
    """Compile what a task calls, so many kernels; on a terminal a line says how much is done."""
    shown = sys.stderr.isatty()

    def report(ready: int, total: int) -> None:
        if shown:
            print(f"\rpreparing, {ready} of {total}", end="", file=sys.stderr, flush=True)

    n_compiled = prepare(task, report)
    if shown and n_compiled:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return n_compiled
