"""The file of a finished run: its spec, seeds, versions and curves, all of it checked when it is read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.lab.studies.run_specs import RESULT_VERSION, RunSpec, canonical
from equirl.lab.studies.runs import FACTS, RunResult
from equirl.simulation import Curves

KIND = "equirl-run"
LONGEST_HEADER = 2**22  # bytes of the header: a million characters


def write_run(path: Path, result: RunResult) -> Path:
    """Write a finished run."""
    meta = {"spec": result.spec.identity(), "everything": result.spec.everything()}
    meta |= {"facts": result.facts, "provenance": result.provenance}
    return save_npz(path, KIND, RESULT_VERSION, _arrays(result.curves), meta)


def read_run(path: Path, spec: RunSpec) -> RunResult:
    """Read a finished run."""
    try:
        arrays, meta = load_npz(path, KIND, RESULT_VERSION, longest_header=LONGEST_HEADER)
    except IsADirectoryError:
        raise DamagedFile(f"{path} is a folder, not the file of a run") from None
    if canonical(meta.get("spec")) != canonical(spec.identity()):
        raise DamagedFile(f"{path} holds another run than its name says")
    _check_defaults(path, meta.get("everything", {}), json.loads(json.dumps(spec.everything())))
    _check_whole(path, meta)
    t = arrays.pop("t", np.zeros(0))
    whole = t.ndim == 1 and len(t) > 0 and t.dtype.kind in "iu" and t[-1] == spec.horizon
    same = all(curve.shape == t.shape and curve.dtype.kind in "biuf" for curve in arrays.values())
    if not whole or not same or "regret" not in arrays:
        raise DamagedFile(f"{path} does not hold whole curves up to the horizon {spec.horizon}")
    return RunResult(spec, Curves.of_run(t, arrays), meta["facts"], meta["provenance"])


def _arrays(curves: Curves) -> dict[str, np.ndarray]:
    """The checkpoints and curves of one run, as its file holds them: (K,) each."""
    return {"t": curves.t} | {name: curves[name][0] for name in curves}


def _check_defaults(path: Path, then: Any, now: dict[str, Any]) -> None:
    """An error where a default has changed since the run was computed, so that it is another run now."""
    then = then if isinstance(then, dict) else {}
    for name in sorted(now.keys() - then.keys()):
        raise DamagedFile(f"{path} does not say with which {name} it was computed")
    for name in sorted(then.keys() & now.keys()):
        if then[name] != now[name]:
            raise DamagedFile(f"{path} was computed when {name} was {then[name]!r} by default, not {now[name]!r}")


def _check_whole(path: Path, meta: dict[str, Any]) -> None:
    """An error where a file does not tell of the run as a whole what tables and summaries ask."""
    facts, provenance = meta.get("facts"), meta.get("provenance")
    numbers = [facts.get(name) for name in FACTS] if isinstance(facts, dict) else [None]
    if not all(isinstance(number, int | float) for number in numbers) or not isinstance(provenance, dict):
        raise DamagedFile(f"{path} says nothing of the run as a whole")
    seconds, versions = provenance.get("seconds", math.nan), provenance.get("versions", {})
    if not isinstance(seconds, int | float) or not isinstance(versions, dict):
        raise DamagedFile(f"{path} does not say how its run was computed")
