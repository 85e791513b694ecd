"""Kills and interrupts at random moments. A program: everything is imported once, and each victim is a fork of it.

python fault_runs.py kills FOLDER N JOBS        studies killed N times; prints what became of them, as JSON
python fault_runs.py interrupts FOLDER N SEED   N commands interrupted; prints how they ended, as JSON
python fault_runs.py starts FOLDER N SEED       the same, each command a process of its own
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from equirl.lab.cli import app
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.expansion import expand, unique_specs
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import parse_study
from equirl.lab.studies.summary import export
from equirl.learners.catalogue import ROWS

TINY = """
name = "tiny"
runs = 12
horizon = 60
checkpoints = 5
keep = ["agent"]
worlds = ["riverswim:n_states=4"]
learners = ["ucrl2-l", "c-ucrl", "random"]
"""
LONGEST_WAIT = {1: 0.15, 2: 5.0}  # seconds until a study with so many processes is killed, at most
LONG = """
name = "long"
runs = 50
horizon = 3_000_000
worlds = ["riverswim:n_states=6"]
learners = ["ucrl2-l", "c-psrl"]
"""


def forked(work, output: Path) -> int:
    """The process id of a child that does the work and ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child is ready for it
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return pid
    with open(output, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        code = 99
        try:
            work()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        os._exit(code)


def code_of(status: int) -> int:
    return os.waitstatus_to_exitcode(status)


def kills(folder: Path, n: int, jobs: int) -> dict:
    """Kill studies until n kills are done, each resumed until it is whole, and compare its table with the true one."""
    dice, planned = random.Random(jobs), expand(parse_study(TINY))
    specs = unique_specs(planned)
    whole = Store(folder / "whole")
    run_study(planned, whole, LocalEngine(1), quiet=True)
    table = export(planned, whole, folder / "whole.csv")[0].read_bytes()
    found: Counter[str] = Counter()
    while found["kills"] < n:
        store, before = Store(folder / f"killed-{found['studies']}"), 0
        while True:
            pid = forked(lambda store=store: run_study(planned, store, LocalEngine(jobs), quiet=True), folder / "said")
            time.sleep(dice.uniform(0, LONGEST_WAIT[jobs]))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            code = code_of(os.waitpid(pid, 0)[1])
            status = store.status(specs)
            found["kills"] += code == -signal.SIGKILL
            found["other ends"] += code not in (0, -signal.SIGKILL)
            found["damaged"] += len(status.damaged)
            found["lost"] += len(status.done) < before
            before = len(status.done)
            if code != -signal.SIGKILL or found["kills"] >= n:
                break
        found["half-written files"] += len(list(store.folder.glob("*/.*.part")))
        run_study(planned, store, LocalEngine(1), quiet=True)
        found["studies"] += 1
        found["tables that differ"] += export(planned, store, folder / "killed.csv")[0].read_bytes() != table
    return dict(found)


def commands(folder: Path) -> list[list[str]]:
    """Commands that last long enough to be interrupted: every learner, and every command that computes."""
    runs = [["run", "riverswim:n_states=8", name, "--horizon", "1000000000"] for name in ROWS]
    study, out = str(folder / "long.toml"), str(folder / "long")
    others = [
        ["run", "riverswim:n_states=8", "c-ucrl,psrl", "--horizon", "100000000", "--jobs", "2"],
        ["study", study, "--out", out, "--jobs", "1"],
        ["study", study, "--out", out, "--jobs", "2"],
        ["status", "leaderboard", "--out", out],
        ["export", "leaderboard", "--out", out, "--table", str(folder / "table.csv")],
        ["paper", "--runs", "1", "--out", str(folder / "paper"), "--jobs", "1"],
        ["leaderboard", "--runs", "1", "--out", str(folder / "leaderboard"), "--jobs", "1"],
        ["solve", "riverswim:n_states=200000"],
        ["classes", "four-room:height=99,width=99"],
        ["bench"],
    ]
    return runs + others


def command(words: list[str]) -> None:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    except KeyboardInterrupt:  # it came before the command began
        raise SystemExit(0) from None
    app(words)


def interrupts(folder: Path, n: int, seed: int) -> dict:
    """Interrupt commands at random moments until n were: how they ended, by exit code, and what is odd."""
    return attack(folder, n, seed, lambda words: forked(lambda: command(words), folder / "said"), 2.0)


def starts(folder: Path, n: int, seed: int) -> dict:
    """The same with processes of their own, interrupted from the moment at which Python itself is ready."""

    script = folder / "equirl"
    script.write_text("print('ready', flush=True)\nfrom equirl.__main__ import main\nmain()\n")

    def start(words: list[str]) -> int:
        with open(folder / "said", "wb") as said:
            process = subprocess.Popen([sys.executable, script, *words], stdout=said, stderr=said)
        while not (folder / "said").stat().st_size:
            time.sleep(0.01)
        return process.pid

    return attack(folder, n, seed, start, 6.0)


def attack(folder: Path, n: int, seed: int, start: Callable[[list[str]], int], longest: float) -> dict:
    (folder / "long.toml").write_text(LONG)
    dice, chosen, found = random.Random(seed), commands(folder), Counter[str]()
    dice.shuffle(chosen)
    odd: list[list[str]] = []
    for k, words in enumerate(cycle(chosen)):
        if found["interrupted"] >= n:
            break
        pid = start(words)
        time.sleep(dice.uniform(0, longest) if k % 2 else dice.uniform(0, 0.1 * longest))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
        code = code_of(ended(pid))
        said = (folder / "said").read_text(errors="replace")
        found["interrupted" if code != 0 else "ended before"] += 1
        if code != 0:
            found[f"code {code}"] += 1
            found["tracebacks"] += "Traceback" in said
            if code != 130 or "Traceback" in said:
                odd.append([*words, f"code {code}", said[-2000:]])
    return {"ends": dict(found), "odd": odd}


def ended(pid: int, seconds: float = 300.0) -> int:
    """The status of a child, which is killed if it does not end."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started this with interrupts ignored
    kind, where, number, last = sys.argv[1:]
    Path(where).mkdir(parents=True, exist_ok=True)
    faults = {"kills": kills, "interrupts": interrupts, "starts": starts}
    print(json.dumps(faults[kind](Path(where), int(number), int(last))))
