"""Agents as runs leave them: in the units of the problem, each file with the run it comes from.

A study keeps them by the keys of its runs (``store``). A quick comparison leaves what people look at beside each:

    FOLDER/LEARNER/seed-0/agent.npz     the agent, for equirl.load_agent
                          policy.csv    what it would play, state by state, where it has a policy
                          classes.csv   the pairs with their classes, where it forms classes
                          trace.csv     the curves at the checkpoints
                          run.json      what was run, and how it ended; written last

A folder may hold runs of several calls. A run is replaced by the same run alone; another one in its place is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.archives import described, load_npz
from equirl.files.whole_files import DamagedFile, check_place, open_file, write_aside, write_csv
from equirl.keeping.saving import KIND as AGENT_KIND, VERSION, agent_bytes, fingerprint
from equirl.learners import Learner
from equirl.model import TabularMDP
from equirl.simulation import Trace, in_usual_order
from equirl.words.checking import checked_path
from equirl.words.tables import Table

KIND = "equirl-saved-run"
LONGEST_RECORD = 2**24  # bytes of run.json
FILES = ("agent.npz", "policy.csv", "classes.csv", "trace.csv", "run.json")
LONGEST_NAME = 60  # characters of a label that its folder takes over
_PLAIN = re.compile(r"\w[\w.= +-]*(?<![. ])")  # labels that are good names of folders, but for their spaces


def check_agent(path: Path, run: Any) -> None:
    """An error where the agent of a run is not there, or its file cannot be trusted."""
    try:
        _, meta = load_npz(path, AGENT_KIND, VERSION)
    except IsADirectoryError:
        raise DamagedFile(f"{path} is a folder, not the file of a learner") from None
    about = meta.get("about")
    if not isinstance(about, dict) or about.get("run") != run:
        raise DamagedFile(f"{path} holds the learner of another run than its name says")


@dataclass(frozen=True)
class SavedRun:
    """What a saved run is: the same one has the same numbers."""

    world: str
    problem: str
    label: str
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    horizon: int = 0
    world_seed: int | None = None
    until: str | None = None

    def folder_in(self, folder: Path) -> Path:
        return folder / _folder_name(self.label) / f"seed-{self.seed}"

    def plain(self) -> dict[str, Any]:
        """All of it as JSON gives it back."""
        return dict(json.loads(json.dumps(asdict(self), default=str)))


def problem_hash(mdp: TabularMDP) -> str:
    """A hash of a problem: the same problem has the same one on every machine."""
    arrays = [mdp.pairs.ptr, mdp.pairs.action, *mdp.rows, mdp.r_mean, mdp.initial, np.array(mdp.reward_map)]
    return hashlib.sha256(json.dumps([described(array) for array in arrays]).encode()).hexdigest()[:16]


def name_of(choice: str | Learner) -> str:
    return choice if isinstance(choice, str) else choice.name


def plan_saved(
    mdp: TabularMDP,
    named: Mapping[str, tuple[str | Learner, Mapping[str, Any]]],
    seeds: Iterable[int],
    horizon: int,
    shared: bool = False,
    until: str | None = None,
) -> dict[tuple[str, int], SavedRun]:
    problem, seeds = problem_hash(mdp), list(seeds)
    learners = {
        label: name_of(choice) + ("" if isinstance(choice, str) else f" from step {choice.t}, {fingerprint(choice)}")
        for label, (choice, _) in named.items()
    }
    return {
        (label, seed): SavedRun(
            mdp.name or "", problem, label, learners[label], dict(settings), seed, horizon, seed if shared else None,
            until,
        )
        for label, (_, settings) in named.items()
        for seed in seeds
    }  # fmt: skip


def check_folder(folder: str | os.PathLike[str], runs: Iterable[SavedRun]) -> Path:
    """An error where runs surely cannot be saved in a folder; ask before they are computed."""
    folder = checked_path("save", folder)
    check_place(folder / "run.json")
    for run in runs:
        place = run.folder_in(folder)
        held = _read(place)
        if held is not None and held["run"] != run.plain():
            other = ", ".join(key for key, value in run.plain().items() if held["run"].get(key) != value)
            raise ValueError(f"{place} holds another run (by its {other}); choose another folder, or remove it")
        if held is None and any((place / name).exists() for name in FILES[:-1]):
            raise ValueError(f"{place} holds files of an unknown run; choose another folder, or remove it")
    return folder


def save_run(folder: Path, run: SavedRun, trace: Trace) -> Path:
    """Save what a run leaves behind, each file whole or absent."""
    place, agent, curves = run.folder_in(folder), trace.agent, trace.curves
    write_aside(place / "agent.npz", agent_bytes(agent, {"run": run.plain()}))
    if agent.beliefs.has_policy:
        agent.beliefs.policy_table().to_csv(place / "policy.csv")
    if agent.beliefs.forms_classes:
        agent.beliefs.partition.table(agent).to_csv(place / "classes.csv")
    names = in_usual_order(curves)
    columns = [curves.t, *(curves[name][0] for name in names)]
    write_csv(place / "trace.csv", ["t", *names], zip(*columns, strict=True))
    ended = {"steps": int(trace.t[-1]), "stopped": trace.stopped, "n_episodes": trace.n_episodes}
    ended |= {name: float(curves[name][0, -1]) for name in ("regret", "reward") if name in curves}
    about = {"kind": KIND, "run": run.plain(), "ended": ended, "equirl": version("equirl")}
    write_aside(place / "run.json", json.dumps(about, indent=1).encode())
    return place


def saved_runs(folder: Path) -> Table:
    found = [(path.parent, _read(path.parent)) for path in _records(folder)]
    runs = sorted(
        ((place, held) for place, held in found if held is not None),
        key=lambda item: (str(item[1]["run"].get("label")), int(item[1]["run"].get("seed", 0))),
    )
    records = [(held["run"], held["ended"]) for _, held in runs]
    return Table({
        "learner": [run.get("label") for run, _ in records],
        "seed": [run.get("seed") for run, _ in records],
        "world": [run.get("world") for run, _ in records],
        "steps": [ended.get("steps") for _, ended in records],
        "regret": [ended.get("regret") for _, ended in records],
        "file": [str(place / "agent.npz") for place, _ in runs],
    })  # fmt: skip


def unreadable_runs(folder: Path) -> list[Path]:
    """The records of runs in a folder that say nothing that can be understood: :func:`saved_runs` leaves them out."""
    return [path for path in _records(folder) if _read(path.parent) is None]


def _records(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/seed-*/run.json"))


def _read(place: Path) -> dict[str, Any] | None:
    """What a folder says of its run; None where it says nothing that can be understood."""
    try:
        with open_file(place / "run.json") as file:
            held = json.loads(file.read(LONGEST_RECORD))
        whole = held["kind"] == KIND and isinstance(held["run"], dict) and isinstance(held["ended"], dict)
        int(held["run"]["seed"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return held if whole else None


def _folder_name(label: str) -> str:
    if len(label) <= LONGEST_NAME and _PLAIN.fullmatch(label):
        return label.replace(" ", "_")
    stem = re.sub(r"[^\w.=+-]+", "-", label)[:LONGEST_NAME].strip("-. ")
    return f"{stem}-{hashlib.sha256(label.encode()).hexdigest()[:6]}".lstrip("-")
