"""Where results live: one file per run, named by the run's key, whole or absent.

    FOLDER/runs/KEY.npz      a finished run: its spec, seeds, versions and curves
    FOLDER/agents/KEY.npz    the learner as the run left it, where the study keeps it (``kept_agents``)
    FOLDER/plan.json         the runs of the study last started there (``plan_file``)
    FOLDER/failed/KEY.json   a run that raised: its spec and traceback; removed when the run succeeds

Files are written aside and renamed, and two processes that finish the same run write the same numbers, so any number
of processes may share a folder. A file that cannot be trusted is renamed ``*.damaged`` and its run computed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equirl.files.whole_files import DamagedFile, clear_parts, open_file, write_aside
from equirl.lab.studies.kept_agents import agent_path, check_agent, load_kept
from equirl.lab.studies.run_files import read_run, write_run
from equirl.lab.studies.run_specs import RunSpec
from equirl.lab.studies.runs import RunFailure, RunResult
from equirl.lab.studies.set_asides import make_way, renamed
from equirl.lab.studies.store_errors import explained
from equirl.learners import Learner

LONGEST_RECORD = 2**24  # bytes of the record of a failure


@dataclass(frozen=True)
class Status:
    """The runs of a study by what is known about them."""

    done: list[RunSpec]
    missing: list[RunSpec]
    failed: list[RunSpec]
    damaged: list[tuple[RunSpec, str]]
    versions: dict[str, int]

    @property
    def to_compute(self) -> list[RunSpec]:
        """Everything that is not done."""
        return self.missing + self.failed + [spec for spec, _ in self.damaged]


class Store:
    """The results in one folder.

    Parameters
    ----------
    folder : str or path
        It is made when the first study is computed there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, spec: RunSpec) -> Path:
        """Where the result of a run is, or will be.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        Path
        """
        return self.folder / "runs" / f"{spec.key}.npz"

    def failure_path(self, spec: RunSpec) -> Path:
        """Where the traceback of a run is, if it failed.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        Path
        """
        return self.folder / "failed" / f"{spec.key}.json"

    def agent_path(self, spec: RunSpec) -> Path:
        """Where the learner of a run is, if it is kept.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        Path
        """
        return agent_path(self.folder, spec)

    def has(self, spec: RunSpec) -> bool:
        """Whether a run is there, with its learner where it keeps one; not whether the files can be trusted.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        bool
        """
        return self.path(spec).is_file() and (not spec.keeps_agent or self.agent_path(spec).is_file())

    def agent(self, spec: RunSpec) -> Learner:
        """The learner as a run left it, where the study kept it.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        Learner

        Raises
        ------
        FileNotFoundError
            If none was kept.
        DamagedFile
            If it cannot be trusted.
        """
        return load_kept(self.folder, spec)

    def prepare(self) -> None:
        """Make the folders, try to write in them, and clear what killed processes left half-written.

        Raises
        ------
        StoreError
            Where results cannot be kept.
        """
        clear_parts(self.folder / "agents")
        for name in ("runs", "failed"):
            with explained(self.folder):
                probe = write_aside(self.folder / name / f".probe-{os.getpid()}", b"")
                probe.unlink(missing_ok=True)
            clear_parts(self.folder / name)

    def write(self, result: RunResult) -> Path:
        """Keep a finished run.

        Parameters
        ----------
        result : RunResult
            The run.

        Returns
        -------
        Path
            Its file.

        Raises
        ------
        StoreError
            Where it cannot be written.
        """
        with explained(self.folder):
            if result.agent is not None:  # first: a run that is there has its learner
                write_aside(make_way(self.agent_path(result.spec)), result.agent)
            path = write_run(self.path(result.spec), result)
            make_way(self.failure_path(result.spec)).unlink(missing_ok=True)
        return path

    def write_beside(self, name: str, content: bytes) -> Path:
        """Keep something about the study as a whole.

        Parameters
        ----------
        name : str
            The name of the file in the folder.
        content : bytes
            All of it.

        Returns
        -------
        Path
            Its file.
        """
        with explained(self.folder):
            return write_aside(self.folder / name, content)

    def write_failure(self, failure: RunFailure) -> Path:
        """Record a run that raised.

        Parameters
        ----------
        failure : RunFailure
            The run and its traceback.

        Returns
        -------
        Path
            Its file.
        """
        record = {"spec": failure.spec.identity(), "error": failure.error, "traceback": failure.traceback}
        with explained(self.folder):
            place = make_way(self.failure_path(failure.spec))
            return write_aside(place, json.dumps(record, indent=1).encode())

    def read(self, spec: RunSpec) -> RunResult:
        """The result of a run.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        RunResult

        Raises
        ------
        FileNotFoundError
            If there is none.
        DamagedFile
            If it cannot be trusted.
        """
        return read_run(self.path(spec), spec)

    def failure(self, spec: RunSpec) -> dict[str, Any] | None:
        """The record of a failed run.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        dict or None
            ``spec``, ``error`` and ``traceback``, if there is a record.
        """
        try:
            with open_file(self.failure_path(spec)) as file:
                record = json.loads(file.read(LONGEST_RECORD))
        except (OSError, ValueError, RecursionError):
            return None
        told = isinstance(record, dict) and all(isinstance(record.get(key), str) for key in ("error", "traceback"))
        return record if told else None

    def set_aside(self, spec: RunSpec) -> Path:
        """Rename the file of a run, or of its learner, that cannot be trusted: it is neither used nor lost.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        Path
            The new name.
        """
        with explained(self.folder):
            try:
                self.read(spec)
            except (DamagedFile, FileNotFoundError):
                return renamed(self.path(spec))
            return renamed(self.agent_path(spec))

    def status(self, specs: Iterable[RunSpec]) -> Status:
        """Read every result and say which runs are done, missing, failed or damaged.

        Parameters
        ----------
        specs : iterable of RunSpec
            The runs of a study.

        Returns
        -------
        Status
        """
        status = Status([], [], [], [], {})
        for spec in specs:
            try:
                result = self.read(spec)
                if spec.keeps_agent:
                    check_agent(self.folder, spec)
            except FileNotFoundError:
                (status.failed if os.path.lexists(self.failure_path(spec)) else status.missing).append(spec)
            except DamagedFile as error:
                status.damaged.append((spec, str(error)))
            else:
                status.done.append(spec)
                version = str(result.provenance.get("versions", {}).get("equirl", "unknown"))
                status.versions[version] = status.versions.get(version, 0) + 1
        return status
