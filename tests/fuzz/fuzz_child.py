"""A process that fuzzes one subject: a crash or a hang ends it alone, and the call under way stands in its log.

    python fuzz_child.py SUBJECT SEED EXAMPLES SECONDS CALL_SECONDS LOG [collect]

It ends after so many examples or seconds, whichever comes first, and prints its counts as JSON on the last line. A call
that takes more than CALL_SECONDS of the processor ends it with SIGPROF.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import time

import promise
import public_calls
import subjects
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

MEMORY = 8 * 2**30  # bytes of address space, so that a huge request is an error here and no burden on the machine
WALL_FACTOR = 10  # the clock may run so much longer than the processor, for one call
BATCH = 250  # examples between two looks at the clock


class LoggedLedger(promise.Ledger):
    """Writes every call down before it is made."""

    def __init__(self, path: str, collect: bool, call_seconds: float) -> None:
        super().__init__(collect)
        self.call_seconds = call_seconds
        self.log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def announce(self, call: str) -> None:
        text = call.encode(errors="backslashreplace")[:4000]
        os.pwrite(self.log, text, 0)
        os.ftruncate(self.log, len(text))
        signal.setitimer(signal.ITIMER_PROF, self.call_seconds)  # nobody handles its signal: the process ends with it
        faulthandler.dump_traceback_later(WALL_FACTOR * self.call_seconds, exit=True)


def main(subject: str, first_seed: int, examples: int, seconds: float, ledger: LoggedLedger) -> None:
    public_calls.DEEP.mkdir(parents=True)
    os.chdir(public_calls.DEEP)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    fuzz, end = getattr(subjects, subject), time.monotonic() + seconds
    phases = (Phase.generate,) if ledger.collect else (Phase.generate, Phase.shrink)
    done = 0
    while done < examples and time.monotonic() < end:

        @seed(first_seed + done)
        @settings(
            max_examples=min(BATCH, examples - done), database=None, deadline=None, phases=phases,
            suppress_health_check=list(HealthCheck), print_blob=False,
        )  # fmt: skip
        @given(st.data())
        def batch(data: st.DataObject) -> None:
            fuzz(data, ledger)

        batch()
        done += BATCH
    signal.setitimer(signal.ITIMER_PROF, 0)
    shutil.rmtree(public_calls.FOLDER, ignore_errors=True)
    for report in ledger.broken.values():
        print("-" * 100, report, sep="\n")
    print(json.dumps(ledger.counts))


if __name__ == "__main__":
    subject, first_seed, examples, seconds, call_seconds, log, *collect = sys.argv[1:]
    ledger = LoggedLedger(log, bool(collect), float(call_seconds))
    main(subject, int(first_seed), int(examples), float(seconds), ledger)
