"""Small files of every kind, and what became of them after damage."""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import equirl as eq
from equirl.files.archives import load_npz
from equirl.files.whole_files import DamagedFile
from equirl.keeping.saving import KIND as AGENT_KIND, VERSION as AGENT_VERSION
from equirl.lab.studies.run_files import unpack_run
from equirl.lab.studies.runs import execute
from equirl.lab.studies.store import Store
from equirl.model.mdp import FORMAT as MDP_FORMAT
from studies_kit import specs

RIVER, SPEC = eq.make("riverswim", n_states=4), specs()[0]


@dataclass(frozen=True)
class Subject:
    """A kind of file: how one is made in a folder, and how it is read."""

    format: tuple[str, int] | None  # of an archive
    make: Callable[[Path], Path]
    load: Callable[[Path], object]

    def content(self, path: Path) -> tuple[dict, dict]:
        return unpack_run(path, path.read_bytes()) if self.format is None else load_npz(path, *self.format)

    def outcome(self, path: Path, whole: tuple[dict, dict]) -> str:
        """``refused``, ``same``, or in what it differs from ``whole`` without a word."""
        try:
            self.load(path)
            arrays, meta = self.content(path)
        except DamagedFile as error:
            return "refused" if path.name in str(error) else "refused without its name"
        if meta != whole[1] or list(arrays) != list(whole[0]):
            return "other settings or arrays"
        for name, array in arrays.items():
            if array.dtype != whole[0][name].dtype or array.tobytes() != whole[0][name].tobytes():
                return f"another {name}"
        return "same"


def _make_mdp(folder: Path) -> Path:
    RIVER.save(folder / "mdp.npz")
    return folder / "mdp.npz"


def _make_learner(folder: Path) -> Path:
    eq.simulate(RIVER, "optimal", 30).agent.save(folder / "learner.npz")
    return folder / "learner.npz"


def _make_run(folder: Path) -> Path:
    return Store(folder).write(execute(SPEC))


SUBJECTS = {
    "mdp": Subject(MDP_FORMAT, _make_mdp, eq.TabularMDP.load),
    "learner": Subject((AGENT_KIND, AGENT_VERSION), _make_learner, eq.load_agent),
    "run": Subject(None, _make_run, lambda path: Store(path.parents[1]).read(SPEC)),
}


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def zeroed(content: bytes, start: int, n: int = 16) -> bytes:
    return content[:start] + bytes(len(content[start : start + n])) + content[start + n :]


def sealed(path):
    """The zip file with the seal that equirl would give it: anyone can make one."""
    content = path.read_bytes()[:-2] + struct.pack("<H", 40)
    path.write_bytes(content + b"blake2b:" + hashlib.blake2b(content, digest_size=16).hexdigest().encode())
    return path


def tally(subject: Subject, path: Path, damages: list[bytes]) -> dict[str, int]:
    """How many of the damaged versions of a file came to which end; the file is whole again afterwards."""
    content, whole = path.read_bytes(), subject.content(path)
    ends: dict[str, int] = {}
    for k, damaged in enumerate(damages):
        path.unlink()  # a new file is not forced to the disk, as one written over may be
        path.write_bytes(damaged)
        end = subject.outcome(path, whole)
        ends[end] = ends.get(end, 0) + 1
        if end not in ("refused", "same"):
            print(f"damage {k}: {end}", file=sys.stderr)
    path.write_bytes(content)
    return ends
