"""The example service, killed at random, goes on as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "killed_service.py"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(*options):
    return subprocess.run([sys.executable, str(EXAMPLE), *options], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("kills", "learner"),
    [
        ("10", "c-psrl"),
        *(pytest.param("300", name, marks=pytest.mark.fuzz) for name in ("c-psrl", "ucrl2-l", "q-learning")),
    ],
)
def test_killed_at_random_nothing_is_lost_or_doubled(kills, learner):
    done = killed("--kills", kills, "--learner", learner)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kills} kills" in done.stdout
    assert "0 lost, 0 doubled" in done.stdout
