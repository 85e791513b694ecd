"""The standing attack: nonsense at everything public, in processes of their own, seeded; with the mark "fuzz" for long.

``make fuzz MINUTES=60`` goes on with new seeds. A failure shows the call; a crash or a hang shows the last one made.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from promise import Ledger, is_meant, keep_promise, names_culprit
from subjects import CALLS

import equirl as eq
from equirl.model import Pairs

HERE = Path(__file__).parent
EXAMPLES = {  # of each subject, in make test-long; in make test the first third of them
    "public_call": 1500, "learner_settings": 200, "learner_history": 100, "study_text": 400, "command": 150,
    "foreign_file": 300,
}  # fmt: skip
CALL_SECONDS, COLD_CALL_SECONDS = 30, 150  # of the processor for one call; where kernels may have yet to be compiled
MINUTES = float(os.environ.get("EQUIRL_FUZZ_MINUTES", "10"))  # of the long version, all subjects together
UNFUZZED = {"AGENTS", "Log", "Rows", "Trace", "WORLDS", "__version__"}  # results and registries, no calls of a user's
PIECES = {  # of which a learner of one's own is made: called by its code; settings of parts are fuzzed by learner
    "CountingLearner", "ExactModel", "Learner", "State", "Stretch", "extended_value_iteration", "is_over",
    "pair_limits",
}  # fmt: skip


def fuzz(subject: str, log: Path, examples: int, seconds: float = 1e9, seed: int = 0) -> dict[str, int]:
    """The counts of a child that fuzzed a subject; a failure with its last call where it did not end well."""
    limit = CALL_SECONDS if seconds < 1e9 else COLD_CALL_SECONDS
    numbers = map(str, (seed, examples, seconds, limit))
    words = [sys.executable, str(HERE / "fuzz_child.py"), subject, *numbers, str(log)]
    child = subprocess.run(words, capture_output=True, text=True, check=False, errors="replace")
    if child.returncode:
        ended = signal.Signals(-child.returncode).name if child.returncode < 0 else f"code {child.returncode}"
        last = log.read_text(errors="replace") if log.exists() else "none"
        pytest.fail(f"{subject} (seed {seed}) ended with {ended}; its last call:\n{last}\n{child.stderr[-8000:]}")
    return json.loads(child.stdout.splitlines()[-1])


@pytest.mark.parametrize("share", [1 / 3, pytest.param(1, marks=pytest.mark.long)], ids=["third", "all"])
@pytest.mark.parametrize("subject", EXAMPLES)
def test_nonsense_is_answered_or_refused_by_name(subject, share, tmp_path):
    counts = fuzz(subject, tmp_path / "log", round(share * EXAMPLES[subject]))
    assert counts["refused"] > 0
    assert counts["answered"] > 0


@pytest.mark.fuzz
@pytest.mark.parametrize("subject", EXAMPLES)
def test_nonsense_for_long(subject, tmp_path):
    seed = time.time_ns() % 10**9
    counts = fuzz(subject, tmp_path / "log", 10**9, 60 * MINUTES / len(EXAMPLES), seed)
    print(f"{subject}, seed {seed}: {counts}")


@pytest.mark.parametrize(("subject", "how"), [("crash", "SIGSEGV"), ("hang", "SIGPROF"), ("defect", "code 1")])
def test_a_crash_a_hang_and_a_defect_are_found_and_told(subject, how, tmp_path):
    with pytest.raises(pytest.fail.Exception, match=rf"(?s){how}; its last call:\n{subject} on purpose\("):
        fuzz(subject, tmp_path / "log", 1)


def test_every_public_function_is_fuzzed():
    fuzzed = {getattr(call.function, "__name__", "") for call in CALLS.values()} | {
        name.partition(".")[0] for name in CALLS
    }
    assert set(eq.__all__) - UNFUZZED - PIECES <= fuzzed


def test_an_error_of_numpy_is_not_meant_and_one_of_ours_is():
    def caught(call):
        try:
            call()
        except Exception as error:
            return error

    assert not is_meant(caught(lambda: np.zeros(3)[np.zeros(3)]))
    assert is_meant(caught(lambda: Pairs.uniform(-1, 2)))
    assert is_meant(caught(lambda: Path("no such file").read_text()))
    assert names_culprit(caught(lambda: Pairs.uniform(-1, 2)), {"n_states": -1}, ())
    assert not names_culprit(ValueError("something is wrong"), {"n_states": 17}, ())


def test_a_ledger_collects_where_asked_to():
    ledger = Ledger(collect=True)
    keep_promise(ledger, "numpy", lambda a: np.zeros(3)[a], {"a": "x"})
    assert (ledger.counts["broken"], len(ledger.broken)) == (1, 1)
