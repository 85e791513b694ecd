"""Runs and logs in miniature, and what is said while what they call is compiled."""

import subprocess
import sys

import pytest

from equirl.lab.studies import rehearsals
from equirl.lab.studies.rehearsals import LEARNING, playing, prepared, said_while_preparing
from equirl.numerics.compiling import kernel

NOTED = """
from equirl.lab.studies.rehearsals import LEARNING, playing
from equirl.numerics.preparing import calls_of
for task in (playing(["c-psrl"]), LEARNING):
    print(*(call.kernel.__name__ for call in calls_of(task.rehearse)))
"""
PLANNED = """
import numpy as np
from equirl.model.rows import Rows
from equirl.numerics.preparing import calls_of
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Stop
from equirl.posterior.drawn_plan import plan_from

rows = Rows(np.array([0, 1, 2]), np.zeros(2, np.int64), np.ones(2))  # both states lead to the first
model = ExactModel(rows, np.zeros(2), np.array([0.0, 1.0]), np.arange(2), 0.5)
for state in (1, 0):
    plan = lambda: plan_from(state, np.arange(3), model, np.zeros(2), Stop(1.0, 0.1, 9, 2), np.array([7], np.uint64))
    print(*(call.kernel.__name__ for call in calls_of(plan)))
"""


@kernel
def _halved(x):
    return x / 2


def test_only_learners_that_have_a_name_are_rehearsed_each_once():
    assert playing(["c-psrl", "kept/agent.npz", "psrl", "c-psrl"]).words == ("c-psrl", "psrl")
    assert LEARNING.words == ()


def test_miniatures_in_plain_python_call_what_runs_and_logs_call():
    """In a process of its own, since kernels that are loaded already are played as they are."""
    run = subprocess.run([sys.executable, "-c", NOTED], capture_output=True, text=True, check=True)
    played, learned = (set(line.split()) for line in run.stdout.splitlines())
    assert {"walk", "record_path", "draw_class_rows", "iterate_exact", "improve"} <= played
    assert "draw_class_rows" in learned
    assert "pick" not in played | learned  # a step of others


def test_a_plan_with_states_out_of_reach_calls_what_one_of_all_states_calls():
    run = subprocess.run([sys.executable, "-c", PLANNED], capture_output=True, text=True, check=True)
    of_all, of_some = (set(line.split()) for line in run.stdout.splitlines())
    assert "iterate_exact" in of_all
    assert of_some <= of_all


@pytest.mark.parametrize(("shown", "said"), [(True, "\rpreparing, 1 of 2\rpreparing, 2 of 2\r\033[K"), (False, "")])
def test_a_terminal_shows_how_many_are_ready(monkeypatch, capsys, shown, said):
    def two(task, report):
        report(1, 2)
        report(2, 2)
        return 2

    monkeypatch.setattr(rehearsals, "prepare", two)
    monkeypatch.setattr(rehearsals.sys.stderr, "isatty", lambda: shown)
    assert said_while_preparing(LEARNING) == 2
    assert capsys.readouterr().err == said


def test_nothing_is_rehearsed_until_a_kernel_is_missing(monkeypatch):
    asked = []
    monkeypatch.setattr(rehearsals, "prepare", lambda task, report: asked.append(task) or 0)
    _halved._cache.flush()
    with prepared(LEARNING):
        assert asked == []
        assert _halved(3.0) == 1.5
    assert asked == [LEARNING]
