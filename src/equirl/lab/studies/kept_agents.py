"""Learners that a study keeps: ``agents/KEY.npz`` beside the run of that key, as :func:`equirl.load_agent` reads it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from equirl.files.archives import load_npz
from equirl.files.whole_files import DamagedFile
from equirl.keeping.saving import KIND, VERSION, load_agent
from equirl.lab.studies.run_specs import RunSpec
from equirl.learners import Learner
from equirl.words.tables import Table

if TYPE_CHECKING:
    from equirl.lab.studies.expansion import PlannedRun


def agent_path(folder: Path, spec: RunSpec) -> Path:
    """Where the learner of a run is, if it is kept."""
    return folder / "agents" / f"{spec.key}.npz"


def check_agent(folder: Path, spec: RunSpec) -> None:
    """An error where the learner of a run is not there, or its file cannot be trusted."""
    path = agent_path(folder, spec)
    try:
        _, meta = load_npz(path, KIND, VERSION)
    except IsADirectoryError:
        raise DamagedFile(f"{path} is a folder, not the file of a learner") from None
    about = meta.get("about")
    if not isinstance(about, dict) or about.get("run") != spec.key:
        raise DamagedFile(f"{path} holds the learner of another run than its name says")


def load_kept(folder: Path, spec: RunSpec) -> Learner:
    """The learner as a run left it."""
    try:
        check_agent(folder, spec)
    except FileNotFoundError:
        path = agent_path(folder, spec)
        raise FileNotFoundError(
            f'no learner was kept at {path}: write keep = ["agent"] in the study, or give --keep-agents'
        ) from None
    return load_agent(agent_path(folder, spec))


def kept_table(planned: Iterable[PlannedRun], folder: Path) -> Table:
    """The learners that are there, with their runs."""
    runs = [run for run in planned if agent_path(folder, run.spec).is_file()]
    return Table({
        "part": [run.part for run in runs],
        "world": [run.world for run in runs],
        "learner": [run.learner for run in runs],
        "replicate": [run.spec.replicate for run in runs],
        "seed": [run.spec.seed for run in runs],
        "file": [str(agent_path(folder, run.spec)) for run in runs],
    })  # fmt: skip
