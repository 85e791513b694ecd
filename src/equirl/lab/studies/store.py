"""Where results live: one file per run, named by the run's key, whole or absent.

    FOLDER/runs/KEY.run      a finished run: its spec, seeds, versions and curves (``run_files``)
    FOLDER/runs.index        a copy of them all, to look through many at once (``run_index``)
    FOLDER/agents/KEY.npz    the agent as the run left it, where the study keeps it
    FOLDER/plan.json         the runs of the study last started there (``plan_file``)
    FOLDER/failed/KEY.json   a run that raised: its spec and traceback; removed when the run succeeds

Files are written aside and renamed, and two processes that finish the same run write the same numbers, so any number
of processes may share a folder. A file that cannot be trusted is renamed ``*.damaged`` and its run computed again.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from equirl.files.whole_files import DamagedFile, clear_parts, open_file, write_aside
from equirl.keeping.saving import load_agent
from equirl.lab.studies.run_files import SUFFIX, check_run, pack_run, read_run, unpack_run
from equirl.lab.studies.run_index import RunIndex
from equirl.lab.studies.run_specs import RunSpec, digest
from equirl.lab.studies.runs import RunFailure, RunResult
from equirl.lab.studies.saved_agents import check_agent
from equirl.learners import Learner
from equirl.simulation import Curves

LONGEST_RECORD = 2**24  # bytes of the record of a failure


class StoreError(Exception):
    """Results cannot be kept: the disk is full, or the folder cannot be written."""


@dataclass(frozen=True)
class Status:
    done: list[RunSpec]
    missing: list[RunSpec]
    failed: list[RunSpec]
    damaged: list[tuple[RunSpec, str]]
    versions: dict[str, int]

    @property
    def to_compute(self) -> list[RunSpec]:
        return self.missing + self.failed + [spec for spec, _ in self.damaged]


class Store:
    """The results in one folder, which is made when the first study is computed there."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, spec: RunSpec) -> Path:
        """Where the result of a run is, or will be."""
        return self.folder / "runs" / f"{spec.key}{SUFFIX}"

    def failure_path(self, spec: RunSpec) -> Path:
        """Where the traceback of a run is, if it failed."""
        return self.folder / "failed" / f"{spec.key}.json"

    def agent_path(self, spec: RunSpec) -> Path:
        """Where the agent of a run is, if it is kept."""
        return self.folder / "agents" / f"{spec.key}.npz"

    def has(self, spec: RunSpec) -> bool:
        """Whether a run is there, with its agent where it keeps one; not whether the files can be trusted."""
        return self.path(spec).is_file() and (not spec.keeps_agent or self.agent_path(spec).is_file())

    def agent(self, spec: RunSpec) -> Learner:
        """The agent as a run left it, where the study kept it; a file that cannot be trusted is a DamagedFile."""
        path = self.agent_path(spec)
        try:
            check_agent(path, spec.key)
        except FileNotFoundError:
            raise FileNotFoundError(
                f'no learner was kept at {path}: write keep = ["agent"] in the study, or give --keep-agents'
            ) from None
        return load_agent(path)

    def prepare(self) -> None:
        """Make the folders, try to write in them, and clear what killed processes left half-written."""
        clear_parts(self.folder / "agents")
        for name in ("runs", "failed"):
            with explained(self.folder):
                probe = write_aside(self.folder / name / f".probe-{os.getpid()}", b"")
                probe.unlink(missing_ok=True)
            clear_parts(self.folder / name)

    def write(self, result: RunResult) -> Path:
        """Keep a finished run."""
        with explained(self.folder):
            if result.agent is not None:  # first: a run that is there has its agent
                write_aside(_make_way(self.agent_path(result.spec)), result.agent)
            meta = {"spec": result.spec.identity(), "everything": result.spec.everything()}
            meta |= {"facts": result.facts, "provenance": result.provenance}
            arrays = {"t": result.curves.t} | {name: result.curves[name][0] for name in result.curves}
            path = write_aside(self.path(result.spec), pack_run(arrays, meta))
            _make_way(self.failure_path(result.spec)).unlink(missing_ok=True)
        return path

    def write_failure(self, failure: RunFailure) -> Path:
        """Record a run that raised."""
        record = {"spec": failure.spec.identity(), "error": failure.error, "traceback": failure.traceback}
        with explained(self.folder):
            place = _make_way(self.failure_path(failure.spec))
            return write_aside(place, json.dumps(record, indent=1).encode())

    def index(self, *, anew: bool = False) -> RunIndex:
        """The runs that are there now, to look through many; with ``anew``, every file is read."""
        return RunIndex(self.folder, anew=anew)

    def read(self, spec: RunSpec, index: RunIndex | None = None) -> RunResult:
        """The result of a run, from its file or an index; a file that cannot be trusted is a DamagedFile."""
        path, noted = self.path(spec), index.noted(spec.key) if index else None
        content = read_run(path) if index is None or noted is None else index.content(noted)
        arrays, meta = unpack_run(path, content)
        if noted is None or noted.defaults != spec.defaults:
            if digest(meta["spec"])[:32] != spec.key:
                raise DamagedFile(f"{path} holds another run than its name says")
            _check_defaults(path, meta.get("everything", {}), json.loads(json.dumps(spec.everything())))
            check_run(path, arrays, meta)
        return RunResult(spec, Curves.of_run(arrays.pop("t"), arrays), meta["facts"], meta["provenance"])

    def failure(self, spec: RunSpec) -> dict[str, Any] | None:
        """The record of a failed run: its ``spec``, ``error`` and ``traceback``."""
        try:
            with open_file(self.failure_path(spec)) as file:
                record = json.loads(file.read(LONGEST_RECORD))
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(record, dict) and all(isinstance(record.get(key), str) for key in ("error", "traceback"))
        return record if whole else None

    def rename_damaged(self, spec: RunSpec) -> Path:
        """Rename the file of a run, or of its agent, that cannot be trusted: it is neither used nor lost."""
        with explained(self.folder):
            try:
                self.read(spec)
            except (DamagedFile, FileNotFoundError):
                return rename_damaged(self.path(spec))
            return rename_damaged(self.agent_path(spec))

    def status(self, specs: Iterable[RunSpec], *, anew: bool = False) -> Status:
        """Say which runs are done, missing, failed or damaged; with ``anew``, by reading every file."""
        status, index = Status([], [], [], [], {}), self.index(anew=anew)
        for spec in specs:
            noted = index.noted(spec.key)
            try:
                if noted is not None and noted.defaults == spec.defaults:
                    version = noted.equirl
                else:
                    version = str(self.read(spec, index).provenance.get("versions", {}).get("equirl", ""))
                if spec.keeps_agent:
                    check_agent(self.agent_path(spec), spec.key)
            except FileNotFoundError:
                (status.failed if os.path.lexists(self.failure_path(spec)) else status.missing).append(spec)
            except DamagedFile as error:
                status.damaged.append((spec, str(error)))
            else:
                status.done.append(spec)
                status.versions[version or "unknown"] = status.versions.get(version or "unknown", 0) + 1
        return status


def _check_defaults(path: Path, then: Any, now: dict[str, Any]) -> None:
    """An error where a default has changed since the run was computed, so that it is another run now."""
    then = then if isinstance(then, dict) else {}
    for name in sorted(now.keys() - then.keys()):
        raise DamagedFile(f"{path} does not say with which {name} it was computed")
    for name in sorted(then.keys() & now.keys()):
        if then[name] != now[name]:
            raise DamagedFile(f"{path} was computed when {name} was {then[name]!r} by default, not {now[name]!r}")


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn the system's errors of writing into one that says what happened, that nothing is lost, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "the disk is full. Finished runs are safe; free some space and give the same command again"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            remedy = "it is not writable. Choose another folder with --out, or change its permissions"
        elif error.errno == errno.ENOENT:
            remedy = "it was removed while the study ran. Give the same command again to compute what is gone"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST):
            remedy = "a file stands where a folder should be. Choose another folder with --out"
        else:
            remedy = f"{error}. Finished runs are safe; give the same command again when this is solved"
        raise StoreError(f"cannot keep results in {folder}: {remedy}") from error


def _make_way(path: Path) -> Path:
    """The path, at which now stands a file or nothing: anything else, such as a folder, is renamed."""
    if path.exists() and not path.is_file():
        rename_damaged(path)
    return path


def rename_damaged(path: Path) -> Path:
    """Give a file that cannot be trusted a name at which nothing stands yet."""
    suffixes = chain([""], (f"-{k}" for k in count(2)))
    names = (path.with_name(f"{path.name}.damaged{suffix}") for suffix in suffixes)
    aside = next(name for name in names if not os.path.lexists(name))
    with suppress(FileNotFoundError):  # another process may be faster
        os.rename(path, aside)
    return aside
