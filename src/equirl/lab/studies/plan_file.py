"""Which runs a results folder is meant to hold: ``plan.json``, written when a study starts, read by whoever looks on.

It carries a hash of its content, and is taken only where it is what was written, byte by byte. A folder without one is
taken to hold what is there; so is one whose plan cannot be trusted, and then that is said.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from equirl.files.archives import load_npz
from equirl.files.whole_files import DamagedFile, open_file, write_aside
from equirl.lab.studies.expansion import PlannedRun, label_of
from equirl.lab.studies.run_specs import RESULT_VERSION, RunSpec
from equirl.lab.studies.store import KIND, Store, explained, rename_damaged
from equirl.words.formatting import counted
from equirl.words.tables import Table

PLAN = "plan.json"
LONGEST_PLAN = 2**30  # bytes: more than a million runs
_KEYS = {"kind", "result_version", "runs"}
_HASH = "blake2b"
INSTEAD = "the runs that are there are taken instead"


class FoundPlan(NamedTuple):
    runs: list[PlannedRun]
    complaints: list[str]  # files that cannot be trusted, and what was done instead


def write_plan(planned: Sequence[PlannedRun], store: Store) -> Path:
    runs = [{**asdict(run), "spec": asdict(run.spec)} for run in planned]
    content = _content({"kind": "equirl-plan", "result_version": RESULT_VERSION, "runs": runs})
    with explained(store.folder):
        return write_aside(store.folder / PLAN, content)


def _content(held: dict[str, Any]) -> bytes:
    """The bytes of the file: the hash of what it holds, and that."""
    hashed = hashlib.blake2b(json.dumps(held).encode(), digest_size=16).hexdigest()
    return json.dumps({_HASH: hashed, **held}).encode()


def read_plan(folder: Path) -> FoundPlan:
    path, complaints = folder / PLAN, []
    try:
        version, runs = _read(path)
        if runs is not None:
            return FoundPlan(runs, [])
        other = f"is for results of version {version}, and this equirl computes version {RESULT_VERSION}"
        complaints.append(f"{path} {other}; {INSTEAD}")
    except FileNotFoundError:
        pass
    except DamagedFile as error:
        complaints.append(f"{error}; {INSTEAD}")
    there, damaged = _runs_there(folder)
    if damaged:
        complaints.append(f"{counted(len(damaged), 'file')} of runs left out, such as: {damaged[0]}")
    return FoundPlan(there, complaints)


def plan_damage(folder: Path) -> str | None:
    try:
        _read(folder / PLAN)
    except FileNotFoundError:
        return None
    except DamagedFile as error:
        return str(error)
    return None


def rename_damaged_plan(store: Store) -> str | None:
    """Rename a plan that cannot be trusted, so that the next one is not written over it."""
    damage = plan_damage(store.folder)
    if damage is None:
        return None
    with explained(store.folder):
        aside = rename_damaged(store.folder / PLAN)
    return f"not used: {damage}; set aside as {aside.name} and written anew"


def _read(path: Path) -> tuple[int, list[PlannedRun] | None]:
    """The version of the results, and the runs where it is this one's; a DamagedFile if it is not as it was written."""
    try:
        with open_file(path) as file:
            content = file.read(LONGEST_PLAN + 1)
        held = json.loads(content)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFile(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise DamagedFile(f"{path} is damaged: it is no JSON, or not whole") from None
    if not isinstance(held, dict) or not _KEYS <= set(held) <= _KEYS | {_HASH} or not isinstance(held["runs"], list):
        raise DamagedFile(f"{path} is damaged, or no plan of a study")
    if _HASH not in held:
        raise DamagedFile(f"{path} has no checksum, as of an older equirl; equirl study writes it anew")
    if content != _content({key: held[key] for key in held if key != _HASH}):
        raise DamagedFile(f"{path} is damaged: its checksum does not fit")
    version = held["result_version"]
    if version != RESULT_VERSION:
        return version, None
    try:
        return version, [_planned_run(item) for item in held["runs"]]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(f"{path} holds a run that this equirl does not know: {error}") from None


def _planned_run(item: dict[str, Any]) -> PlannedRun:
    given = item["spec"]
    spec = dict(given, measures=tuple(given["measures"]), keep=tuple(given["keep"]))
    return PlannedRun(str(item["part"]), str(item["world"]), str(item["learner"]), RunSpec(**spec))


def _runs_there(folder: Path) -> tuple[list[PlannedRun], list[str]]:
    """The runs whose files are in a folder, and what is wrong with those that cannot be read."""
    found, damaged = [], []
    for path in sorted((folder / "runs").glob("*.npz")):
        try:
            meta = load_npz(path, KIND, RESULT_VERSION)[1]
            spec = {key: value for key, value in meta["spec"].items() if key != "result_version"}
            spec = {**spec, "all_params": meta["everything"], "all_settings": {}, "measures": tuple(spec["measures"])}
            run = RunSpec(**spec)
        except (DamagedFile, OSError) as error:
            damaged.append(str(error))
            continue
        except (LookupError, TypeError, AttributeError):
            damaged.append(f"{path} does not say which run it holds")
            continue
        world, learner = label_of(run.world, run.params), label_of(run.learner, run.settings)
        found.append(PlannedRun(folder.name, world, learner, run))
    return sorted(found, key=lambda run: (run.world, run.learner, run.spec.replicate)), damaged


def kept_agents(folder: Path) -> tuple[Table, list[str]]:
    """The agents that a study has kept in a results folder, with their runs; and what people must know of it."""
    store, found = Store(folder), read_plan(folder)
    runs = [run for run in found.runs if store.agent_path(run.spec).is_file()]
    return Table({
        "part": [run.part for run in runs],
        "world": [run.world for run in runs],
        "learner": [run.learner for run in runs],
        "replicate": [run.spec.replicate for run in runs],
        "seed": [run.spec.seed for run in runs],
        "file": [str(store.agent_path(run.spec)) for run in runs],
    }), found.complaints  # fmt: skip
