"""Which runs a results folder is meant to hold: ``plan.json``, written when a study starts, read by whoever looks on.

Its first line carries a hash, and it is taken only where it is what was written, byte by byte. What the runs of one
learner in one world share stands in it once. A folder without a plan is taken to hold what is there; so is one
whose plan cannot be trusted, and then that is said.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from equirl.files.whole_files import DamagedFile, open_file, write_aside
from equirl.lab.studies.expansion import PlannedRun, label_of
from equirl.lab.studies.run_files import OLD_SUFFIX, SUFFIX, read_run, unpack_run
from equirl.lab.studies.run_specs import RESULT_VERSION, RunSpec
from equirl.lab.studies.store import Store, explained, rename_damaged
from equirl.words.formatting import counted
from equirl.words.tables import Table

PLAN = "plan.json"
KIND, FORMAT = "equirl-plan", 2
LONGEST_PLAN = 2**30  # bytes: more than a million runs
_OWN = ("replicate", "seed", "world_seed", "renumber_seed")  # of a run, not shared
_HASH = "blake2b"
INSTEAD = "the runs that are there are taken instead"


class FoundPlan(NamedTuple):
    runs: list[PlannedRun]
    complaints: list[str]  # files that cannot be trusted, and what was done instead


def write_plan(planned: Sequence[PlannedRun], store: Store) -> Path:
    shared: dict[str, int] = {}  # what runs share, in JSON, and its place in the list
    rows = []
    for run in planned:
        spec = {field.name: getattr(run.spec, field.name) for field in fields(RunSpec)}
        own = [spec.pop(name) for name in _OWN]
        text = json.dumps({"part": run.part, "world": run.world, "learner": run.learner, "spec": spec})
        rows.append([shared.setdefault(text, len(shared)), *own])
    listed = ",\n".join(shared)
    body = f'"shared": [{listed}],\n"runs": {json.dumps(rows)}}}\n'.encode()
    with explained(store.folder):
        return write_aside(store.folder / PLAN, _first_line(RESULT_VERSION, body) + body)


def _first_line(version: int, body: bytes) -> bytes:
    hashed = hashlib.blake2b(f"{FORMAT} {version}\n".encode() + body, digest_size=16).hexdigest()
    return f'{{"kind": "{KIND}", "format": {FORMAT}, "result_version": {version}, "{_HASH}": "{hashed}",\n'.encode()


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
        _content(folder / PLAN)
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


def _content(path: Path) -> tuple[int, bytes]:
    """The version of the results, and the plan as it was written; anything else is a DamagedFile."""
    try:
        with open_file(path) as file:
            content = file.read(LONGEST_PLAN + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedFile(f"{path} cannot be read: {error.strerror or error}") from None
    line, _, body = content.partition(b"\n")
    found = re.search(rb'"result_version": (\d{1,9}),', line)
    if found and line + b"\n" == _first_line(int(found[1]), body):
        return int(found[1]), content
    raise DamagedFile(f"{path} {_reason(content)}")


def _reason(content: bytes) -> str:
    """Why a file is not a plan as this equirl writes it."""
    try:
        held = json.loads(content)
    except (ValueError, RecursionError):
        return "is damaged: it is no JSON, or not whole"
    if not isinstance(held, dict) or held.get("kind") != KIND or not isinstance(held.get("runs"), list):
        return "is damaged, or no plan of a study"
    if _HASH not in held:
        return "has no checksum, as of an older equirl; equirl study writes it anew"
    if held.get("format") != FORMAT:
        number = held.get("format", 1)
        return f"is a plan of format {number}; this equirl reads format {FORMAT}, and equirl study writes it anew"
    return "is damaged: its checksum does not fit"


def _read(path: Path) -> tuple[int, list[PlannedRun] | None]:
    """The version of the results, and the runs where it is this one's; a DamagedFile if it is not as it was written."""
    version, content = _content(path)
    if version != RESULT_VERSION:
        return version, None
    try:
        held = json.loads(content)
        return version, [_planned_run(held["shared"][place], own) for place, *own in held["runs"]]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(f"{path} holds a run that this equirl does not know: {error}") from None


def _planned_run(shared: dict[str, Any], own: list[Any]) -> PlannedRun:
    given = shared["spec"] | dict(zip(_OWN, own, strict=True))
    spec = dict(given, measures=tuple(given["measures"]), keep=tuple(given["keep"]))
    return PlannedRun(str(shared["part"]), str(shared["world"]), str(shared["learner"]), RunSpec(**spec))


def _runs_there(folder: Path) -> tuple[list[PlannedRun], list[str]]:
    """The runs whose files are in a folder, and what is wrong with those that cannot be read."""
    found, damaged = [], []
    for path in sorted(path for path in (folder / "runs").glob("*") if path.suffix in (SUFFIX, OLD_SUFFIX)):
        try:
            meta = unpack_run(path, read_run(path))[1]
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
