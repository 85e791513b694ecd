"""What ``equirl bench`` measures, and its findings as JSON and as a Markdown table put in its place in a page."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from equirl.files.whole_files import write_aside
from equirl.lab.benchmarks import journal_speed, learning_speed
from equirl.lab.benchmarks.clustering_speed import measure_clustering
from equirl.lab.benchmarks.journal_speed import measure_journal
from equirl.lab.benchmarks.learning_speed import measure_learning
from equirl.lab.benchmarks.log_speed import measure_logs
from equirl.lab.benchmarks.measurement import Finding, Measure, Sizes, Skipped
from equirl.lab.benchmarks.planning_speed import measure_acceleration, measure_planning
from equirl.lab.benchmarks.process_costs import measure_memory, measure_scale, measure_startup
from equirl.lab.benchmarks.solving_speed import measure_solving
from equirl.lab.studies.engines import available_cores
from equirl.lab.studies.run_specs import read_settings, settings_of
from equirl.words.checking import unknown_name
from equirl.words.formatting import counted, number

SUBJECTS: dict[str, Callable[[Sizes], Iterator[Finding]]] = {
    "planning": measure_planning,
    "acceleration": measure_acceleration,
    "solving": measure_solving,
    "learning": measure_learning,
    "journal": measure_journal,
    "clustering": measure_clustering,
    "logs": measure_logs,
    "start": measure_startup,
    "memory": measure_memory,
    "scale": measure_scale,
}


def with_settings(sizes: Sizes, texts: Sequence[str]) -> Sizes:
    """Sizes with other settings of the learners that are measured."""
    measured = [*learning_speed.MEASURED, *journal_speed.MEASURED, *(learner for _, learner, _ in sizes.large)]
    chosen = {name: own for name, own in read_settings(texts, measured).items() if own}
    for name, own in chosen.items():
        try:
            settings_of(name, own)
        except (TypeError, ValueError) as error:
            raise ValueError(f"--set: for {name!r}: {error}") from None
    return replace(sizes, settings=chosen)


def run_benchmarks(sizes: Sizes, subjects: Sequence[str] = tuple(SUBJECTS)) -> Iterator[Finding]:
    for name in subjects:
        if name not in SUBJECTS:
            raise ValueError(unknown_name("subject", name, SUBJECTS))
    for name in subjects:
        for found in SUBJECTS[name](sizes):
            yield found._replace(subject=name)


# --- what was found, written down

BEGIN, END = "<!-- equirl bench: begin -->", "<!-- equirl bench: end -->"


def machine() -> dict[str, Any]:
    """The machine in general terms, and the versions that matter."""
    try:
        memory = math.ceil(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        memory = None
    versions = {name: version(name) for name in ("equirl", "numpy", "scipy", "numba")}
    return {"cores": available_cores(), "memory_gib": memory, "python": platform.python_version(), **versions}


def report_of(findings: Sequence[Finding], sizes: Sizes) -> dict[str, Any]:
    measures = [found._asdict() for found in findings if isinstance(found, Measure)]
    skipped = [found._asdict() for found in findings if isinstance(found, Skipped)]
    return {"machine": machine(), "sizes": asdict(sizes), "measures": measures, "skipped": skipped}


def show(value: float, unit: str) -> str:
    """A figure for people, to three digits.

    >>> show(0.01234, "s"), show(12345.6, "times"), show(1.5, "power")
    ('0.0123 s', '12,300 times', '1.5')
    """
    return number(value) if unit == "power" else f"{number(value)} {unit}"


def as_markdown(findings: Iterable[Finding]) -> str:
    """A table by subject, and what was left out."""
    host = machine()
    about = ", ".join(f"{name} {host[name]}" for name in ("equirl", "python", "numpy", "scipy", "numba"))
    lines = [f"Measured on {counted(host['cores'], 'core')}, {host['memory_gib']} GiB; {about}.", ""]
    lines += ["| subject | what | figure | at |", "|---|---|---|---|"]
    skipped = []
    for found in findings:
        if isinstance(found, Skipped):
            skipped.append(f"- {found.name}: {found.reason}")
        else:
            lines.append(f"| {found.subject} | {found.name} | {show(found.value, found.unit)} | {found.note} |")
    if skipped:
        lines += ["", "Not measured:", "", *skipped]
    return "\n".join(lines) + "\n"


def put_markdown(path: Path, table: str) -> None:
    """Write the table to a file; in one that has a marked place for it, replace what is there and keep the rest."""
    marked = f"{BEGIN}\n{table}{END}"
    old = path.read_text() if path.exists() else f"{BEGIN}{END}\n"
    if BEGIN not in old or END not in old:
        raise ValueError(f"{path} has no place for the table: put {BEGIN} and {END} where it belongs")
    before, rest = old.split(BEGIN, 1)
    write_aside(path, (before + marked + rest.split(END, 1)[1]).encode())
