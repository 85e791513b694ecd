"""Kernels compiled before they are needed, by two processes at once.

Which kernels a task calls, and for arguments of which types, is found by *rehearsing* it: a small case is played in
plain Python, and each kernel that it calls is noted where Numba would compile it. Then one process compiles from the
front of the list, another from its end, into one cache, until they meet. What a rehearsal does not reach is compiled
when it is called, as ever.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.numerics.compiling import has_cache, hooked, is_kept
from equirl.numerics.kernel_cache import BASELINES, GENERIC, INTO_VARIABLE, runnable_processors, shipped_name
from equirl.words.checking import unknown_name

FEWEST_FOR_TWO = 4  # fewer are compiled before another process has started
Report = Callable[[int, int], None]  # how many are ready, of how many


class Task(NamedTuple):
    """Something to rehearse: a function of a module, given some words. Another process must find it too."""

    module: str
    function: str
    words: tuple[str, ...]

    def rehearse(self) -> None:
        getattr(import_module(self.module), self.function)(*self.words)


class Call(NamedTuple):
    """A kernel, and the types that it is called with."""

    kernel: Any
    signature: Any

    def compile(self) -> None:
        self.kernel.compile(self.signature)

    @property
    def is_kept(self) -> bool:
        return is_kept(*self)


def calls_of(rehearse: Callable[[], None]) -> list[Call]:
    """The kernels that Python calls while a small case is played in plain Python, each once, in order."""
    found: dict[Call, None] = {}
    depth = 0

    def noted(kernel: Any, signature: Any) -> Callable[..., Any]:
        if depth == 0 and has_cache(kernel):
            found[Call(kernel, tuple(signature))] = None

        def plain(*args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                return kernel.py_func(*args, **kwargs)
            finally:
                depth -= 1

        return plain

    with hooked(noted=noted), np.errstate(all="ignore"):
        rehearse()
    return list(found)


def prepare(task: Task, report: Report = lambda ready, total: None) -> int:
    """Compile what a task calls and the cache does not hold; returns how many kernels that were."""
    try:
        missing = [call for call in calls_of(task.rehearse) if not call.is_kept]
    except Exception:  # a learner's own code, say, that is not made for so small a world: the task itself will tell
        return 0
    if len(missing) < FEWEST_FOR_TWO or (os.cpu_count() or 1) < 2:
        _compile(missing, None, report)
        return len(missing)
    with tempfile.TemporaryDirectory(prefix="equirl-") as claims:
        other = subprocess.Popen(
            [sys.executable, "-m", "equirl.numerics.preparing", claims, *task[:2], *task.words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _compile(missing, Path(claims), report)
            while other.poll() is None and not all(call.is_kept for call in missing):
                report(sum(call.is_kept for call in missing), len(missing))
                time.sleep(0.05)
        finally:
            other.kill()
            other.wait()
    report(len(missing), len(missing))
    return len(missing)


def shipped_to(folder: Path, processor: str | None, tasks: Sequence[Task]) -> Path:
    """Compile all that tasks call into a folder of its own for a processor, in a process that takes it for its own."""
    known = runnable_processors()
    processor = known[0] if processor is None else processor
    if processor not in known:
        if processor in BASELINES:
            raise ValueError(f"this processor cannot stand in for {processor}: it lacks some of {BASELINES[processor]}")
        raise ValueError(unknown_name("processor", processor, [GENERIC, *BASELINES]))
    into = (folder / processor).resolve()
    into.mkdir(parents=True, exist_ok=True)
    environment = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", INTO_VARIABLE: str(into)}
    for task in tasks:
        command = [sys.executable, "-m", "equirl.numerics.preparing", "", *task[:2], *task.words]
        subprocess.run(command, env=os.environ | environment, check=True)
    return into


def _compile(calls: Sequence[Call], claims: Path | None, report: Report) -> None:
    """Compile in order what no other process has claimed."""
    for call in calls:
        if not call.is_kept and _claimed(claims, shipped_name(*call)):
            call.compile()
        report(sum(other.is_kept for other in calls), len(calls))


def _claimed(claims: Path | None, name: str) -> bool:
    """Whether this process is the first to want a file of that name."""
    if claims is None:
        return True
    try:
        (claims / name).touch(exist_ok=False)
    except OSError:  # another has it; or all is done, and the folder gone
        return False
    return True


def _help(claims: str, module: str, function: str, *words: str) -> None:
    """What another process does: the same list, from its end; where nobody else is at work, all of it."""
    task = Task(module, function, words)
    if not claims:
        prepare(task)
        return
    calls = calls_of(task.rehearse)
    _compile(calls[::-1], Path(claims), lambda ready, total: None)


if __name__ == "__main__":
    _help(*sys.argv[1:])
