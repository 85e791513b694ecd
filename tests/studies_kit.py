"""A small study for the tests of studies, and runs that misbehave on purpose."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from equirl.lab.studies.expansion import PlannedRun, expand
from equirl.lab.studies.run_specs import RunSpec
from equirl.lab.studies.runs import RunResult, execute
from equirl.lab.studies.study_file import parse_study
from equirl.simulation.curves import Curves

SMALL = """
name = "small"
seed = 3
runs = 2
horizon = 300
checkpoints = 4
worlds = ["riverswim:n_states=5"]
learners = ["ucrl2-l", "random"]
"""


def planned(text: str = SMALL) -> list[PlannedRun]:
    return expand(parse_study(text))


def specs(text: str = SMALL) -> list[RunSpec]:
    return [run.spec for run in planned(text)]


def with_lines(**changes: str) -> str:
    """SMALL with some keys given other values (as TOML), or new ones."""
    lines = [line for line in SMALL.strip().splitlines() if line.split(" ")[0] not in changes]
    return "\n".join([*lines, *(f"{key} = {value}" for key, value in changes.items())])


def raising(spec: RunSpec) -> RunResult:
    """The learner named random always fails."""
    if spec.learner == "random":
        raise RuntimeError("no luck today")
    return execute(spec)


def dying(spec: RunSpec) -> RunResult:
    """Every worker that gets replicate 1 of ucrl2-l is killed."""
    if spec.learner == "ucrl2-l" and spec.replicate == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(spec)


def measuring(spec: RunSpec) -> RunResult:
    """The learner ucrl2-l tells two measures of its own."""
    result = execute(spec)
    if spec.learner == "random":
        return result
    t = result.curves.t
    own = {"span": 0.5 * t[None], "accuracy": 1.0 / t[None]}
    return replace(result, curves=Curves(t, {**result.curves.values, **own}))


def interrupted(spec: RunSpec) -> RunResult:
    """Ctrl-C arrives at replicate 1."""
    if spec.replicate == 1:
        raise KeyboardInterrupt
    return execute(spec)
