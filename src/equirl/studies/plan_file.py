"""Which runs a results folder is meant to hold: ``plan.json``, written when a study starts, read by whoever looks on.

A folder without one, as those of other versions are, is taken to hold what is there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equirl.core.files import DamagedFile, load_npz
from equirl.studies.expansion import PlannedRun, label_of
from equirl.studies.run_files import KIND
from equirl.studies.run_specs import RESULT_VERSION, RunSpec
from equirl.studies.store import Store

PLAN = "plan.json"


def write_plan(planned: Sequence[PlannedRun], store: Store) -> Path:
    """Write down the runs of a study beside their results.

    Parameters
    ----------
    planned : sequence of PlannedRun
        The runs of the study.
    store : Store
        Where its results go.

    Returns
    -------
    Path
        The file.
    """
    runs = [{**asdict(run), "spec": asdict(run.spec)} for run in planned]
    text = json.dumps({"kind": "equirl-plan", "result_version": RESULT_VERSION, "runs": runs})
    return store.write_beside(PLAN, text.encode())


def read_plan(folder: Path) -> list[PlannedRun]:
    """The runs that a results folder is meant to hold.

    Parameters
    ----------
    folder : Path
        A results folder.

    Returns
    -------
    list of PlannedRun
        Those of the study last started there; where nothing says which, those that are there.
    """
    try:
        held = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        if held["result_version"] == RESULT_VERSION:
            return [_planned(item) for item in held["runs"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return _runs_there(folder)


def _planned(item: dict[str, Any]) -> PlannedRun:
    given = item["spec"]
    spec = dict(given, measures=tuple(given["measures"]), keep=tuple(given.get("keep", ())))
    return PlannedRun(str(item["part"]), str(item["world"]), str(item["learner"]), RunSpec(**spec))


def _runs_there(folder: Path) -> list[PlannedRun]:
    found = []
    for path in sorted((folder / "runs").glob("*.npz")):
        try:
            meta = load_npz(path, KIND, RESULT_VERSION)[1]
            spec = {key: value for key, value in meta["spec"].items() if key != "result_version"}
            spec = {**spec, "all_params": meta["everything"], "all_settings": {}, "measures": tuple(spec["measures"])}
            run = RunSpec(**spec)
        except (DamagedFile, OSError, KeyError, TypeError):
            continue
        world, learner = label_of(run.world, run.params), label_of(run.learner, run.settings)
        found.append(PlannedRun(folder.name, world, learner, run))
    return sorted(found, key=lambda run: (run.world, run.learner, run.spec.replicate))
