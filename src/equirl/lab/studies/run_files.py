"""A run as bytes: a line that names the format, a seal over everything else, and its header and curves, compressed.

Curves are whole numbers or floats of 64 bits. Kept are the differences of neighbouring bit patterns, byte by byte of
equal weight: most are then 0. Floats that have few values, such as those drawn from a grid, are kept as these values
and a byte for each checkpoint. A regret that is t g - reward to the last bit, as it usually is, takes no room, and
neither does a pseudo-regret that equals it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from equirl.files.whole_files import DamagedFile, open_file
from equirl.lab.studies.run_specs import RESULT_VERSION
from equirl.lab.studies.runs import FACTS
from equirl.solving import AVERAGE_REWARD

SUFFIX, OLD_SUFFIX = ".run", ".npz"
LONGEST_HEADER = 2**20  # bytes
ALWAYS_ALLOWED, MOST_EXPANSION = 2**26, 100  # bytes that any file may unpack to, and for each byte of the file
_MARK = b"equirl-run "
_SEAL_SIZE = 16  # bytes
_SIZES = struct.Struct("<LLL")  # of the header in bytes, of curves, of checkpoints
FEW, PER_VALUE = 256, 8  # values of a curve that a byte can number, and checkpoints for each from which on it pays
_KINDS = {"i": np.dtype("<i8"), "f": np.dtype("<f8")}
# What headers usually hold: compression starts from it, so it is part of the format.
_USUAL = (
    b'"discount":0.95,"explore":0.05,"steps":"rescaled","rate":0.7},"sample_complexity":"f","value_regret":"f"'
    b'"balance":4.0,"merge_rule":"balanced","priority":"random","radius":"pooled","ties":"support","rewards":"per_pair",'
    b'"delta":0.05,"reward_bound":"laplace","action_ties":"random","warm_start":false,"max_sweeps":100000,"threads":1,'
    b'"discount":1.0,"stopping":"either","effort":100000.0},"facts":{"effort":Infinity},"facts":{'
    b'"prior":1.0,"rewards":"per_class","alpha":"drawn","gamma":"drawn","scan":1000,"hope":1.0,"reward_noise":"drawn",'
    b'"rewards":"shared","accuracy":0.1,"discount":1.0,"episodes":"steady","effort":Infinity,"budget":Infinity},"facts":{'
    b'"n_states":25,"forward":0.4,"back":0.05,"first_forward":0.4,"last_back":0.05,"left":1.0,"small_reward":0.005,'
    b'"large_reward":1.0,"reward_law":"deterministic","concentration":4.0,"shuffle":null,"alpha":"f","gamma":"f"},"few":{'
    b'{"spec":{"world":"riverswim","params":{},"learner":"c-ucrl-c-sigma","settings":{},"horizon":1000000,"checkpoints":200'
    b',"replicate":0,"seed":,"world_seed":null,"measures":[],"result_version":,"renumber_seed":},"everything":{'
    b'"height":7,"width":7,"kernel":"main","walls_are_states":false,"goal_reward":1.0,"reward_law":"deterministic",'
    b'"concentration":4.0,"shuffle":null,"facts":{"gain":0.875,"n_episodes":,"n_unconverged":0},"provenance":{"seconds":0.,'
    b'"versions":{"equirl":"0.1.0","numpy":"2.4.6","numba":"0.68.1"}},'
    b'"curves":{"t":"i","regret":"f","pseudo_regret":"f","reward":"f","n_classes":"i"},"few":{}}'
)


def pack_run(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> bytes:
    """The content of a file: curves of equal length, ``t`` among them, and what JSON can hold."""
    kinds = {name: "f" if array.dtype.kind == "f" else "i" for name, array in arrays.items()}
    bits = np.array([np.asarray(array, _KINDS[kinds[name]]).view("<i8") for name, array in arrays.items()])
    _exchange(dict(zip(kinds, bits, strict=True)), meta, -1)
    few = {name: values for name, row in zip(kinds, bits, strict=True) if len(values := _few(kinds[name], row))}
    sizes = {name: len(values) for name, values in few.items()}
    header = json.dumps({**meta, "curves": kinds, "few": sizes}, separators=(",", ":")).encode()
    parts = [_SIZES.pack(len(header), *bits.shape), header, _by_weight(bits[[name not in few for name in kinds]])]
    for name, values in few.items():
        numbers = np.searchsorted(values, bits[list(kinds).index(name)])
        parts += [_by_weight(values[None, :]), numbers.astype(np.uint8).tobytes()]
    content = b"".join(parts)
    packer = zlib.compressobj(9 if len(content) <= ALWAYS_ALLOWED else 0, zdict=_USUAL)
    packed = packer.compress(content) + packer.flush()
    line = _MARK + f"{RESULT_VERSION}\n".encode()
    return line + _seal(line, packed) + packed


def unpack_run(path: str | os.PathLike[str], content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What :func:`pack_run` packed; anything else is a :class:`DamagedFile` that names the file."""
    path = os.fspath(path)
    line = content[: content.find(b"\n", 0, 64) + 1]
    if not line.startswith(_MARK) or not line[len(_MARK) : -1].isdigit():
        older = content.startswith(b"PK")
        what = "is of an older equirl, which kept runs as .npz files" if older else "is not the file of a run"
        raise DamagedFile(f"{path} {what}; equirl study computes the run again")
    if (version := int(line[len(_MARK) :])) != RESULT_VERSION:
        other = f"has format version {version}; this equirl reads version {RESULT_VERSION}"
        raise DamagedFile(f"{path} {other}. Load it with the equirl that wrote it")
    packed = content[len(line) + _SEAL_SIZE :]
    if content[len(line) : len(line) + _SEAL_SIZE] != _seal(line, packed):
        raise DamagedFile(f"{path} is damaged: its seal does not fit, so it is not whole or not as it was written")
    try:
        return _unpacked(packed)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, zlib.error, struct.error) as error:
        raise DamagedFile(f"{path} cannot be read as the file of a run: {error}") from error


def read_run(path: str | os.PathLike[str]) -> bytes:
    """The content of the file of a run; a folder or something else in its place is a :class:`DamagedFile`."""
    try:
        with open_file(path) as file:
            return file.read()
    except (FileNotFoundError, PermissionError):
        raise
    except IsADirectoryError:
        raise DamagedFile(f"{os.fspath(path)} is a folder, not the file of a run") from None
    except OSError as error:
        raise DamagedFile(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from None


def check_run(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """An error where a file lacks what tables need: facts of the run as a whole, and curves up to its end."""
    facts, provenance = meta.get("facts"), meta.get("provenance")
    numbers = [facts.get(name) for name in FACTS] if isinstance(facts, dict) else [None]
    if not all(isinstance(number, int | float) for number in numbers) or not isinstance(provenance, dict):
        raise DamagedFile(f"{path} says nothing of the run as a whole")
    seconds, versions = provenance.get("seconds", math.nan), provenance.get("versions", {})
    if not isinstance(seconds, int | float) or not isinstance(versions, dict):
        raise DamagedFile(f"{path} does not say how its run was computed")
    t, horizon = arrays.get("t", np.zeros(0)), meta["spec"]["horizon"]
    if len(t) == 0 or t.dtype.kind != "i" or t[-1] != horizon or "regret" not in arrays:
        raise DamagedFile(f"{path} does not hold whole curves up to the horizon {horizon}")


def _seal(line: bytes, packed: bytes) -> bytes:
    return hashlib.blake2b(line + packed, digest_size=_SEAL_SIZE).digest()


def _unpacked(packed: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    unpacker = zlib.decompressobj(zdict=_USUAL)
    content = unpacker.decompress(packed, max(ALWAYS_ALLOWED, MOST_EXPANSION * len(packed)))
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it does not end where it should")
    header_size, n_curves, n_times = _SIZES.unpack_from(content)
    if header_size > LONGEST_HEADER:
        raise ValueError(f"its header has {header_size:,} bytes; at most {LONGEST_HEADER:,} are expected")
    begin = _SIZES.size + header_size
    meta = json.loads(content[_SIZES.size : begin])
    kinds, few = dict(meta.pop("curves")), dict(meta.pop("few"))
    if not isinstance(meta.get("spec"), dict) or "horizon" not in meta["spec"]:
        raise ValueError("it does not say which run it holds")
    if len(kinds) != n_curves:
        raise ValueError(f"it names {len(kinds)} curves and has {n_curves}")
    if not few.keys() <= kinds.keys() or not all(size in range(1, FEW + 1) for size in few.values()):
        raise ValueError("it does not say which curves have few values")
    rest = [name for name in kinds if name not in few]
    if len(content) != begin + 8 * len(rest) * n_times + sum(8 * size + n_times for size in few.values()):
        raise ValueError("its curves are not as long as it says")
    row = dict(zip(rest, _bits(content, begin, len(rest), n_times), strict=True))
    begin += 8 * len(rest) * n_times
    for name, size in few.items():
        values, begin = _bits(content, begin, 1, size)[0], begin + 8 * size
        row[name] = values[np.frombuffer(content, np.uint8, n_times, begin)]
        begin += n_times
    _exchange(row, meta, 1)
    return {name: row[name].view(_KINDS[kind]) for name, kind in kinds.items()}, meta


def _few(kind: str, bits: np.ndarray) -> np.ndarray:
    """The values of a curve, sorted as bits, where they are several, yet few; else none."""
    values = np.unique(bits) if kind == "f" else bits[:0]
    return values if 1 < len(values) <= min(FEW, len(bits) // PER_VALUE) else bits[:0]


def _by_weight(bits: np.ndarray) -> bytes:
    """Differences of neighbours in rows of 64-bit numbers: of each row the lowest bytes, then the next ones."""
    steps = np.diff(bits, axis=1, prepend=np.int64(0))
    return steps.view(np.uint8).reshape(*bits.shape, 8).transpose(0, 2, 1).tobytes()


def _bits(content: bytes, begin: int, n_rows: int, n: int) -> np.ndarray:
    """What :func:`_by_weight` wrote."""
    by_weight = np.frombuffer(content, np.uint8, 8 * n_rows * n, begin).reshape(n_rows, 8, n)
    return np.cumsum(np.ascontiguousarray(by_weight.transpose(0, 2, 1)).view("<i8")[:, :, 0], axis=1)


def _exchange(row: Mapping[str, np.ndarray], meta: Mapping[str, Any], sign: int) -> None:
    """Bits of the two regrets for their difference from what is expected of them, or (``sign`` 1) back, in place."""
    facts = meta.get("facts")
    gain = facts.get("gain") if isinstance(facts, dict) else None
    if not {"t", "reward", "regret"} <= row.keys() or not isinstance(gain, float) or not math.isfinite(gain):
        return
    expected = AVERAGE_REWARD.regret(row["t"], gain, row["reward"].view("<f8")).view("<i8")
    if sign > 0:
        row["regret"] += expected
    if "pseudo_regret" in row:
        row["pseudo_regret"] += sign * row["regret"]
    if sign < 0:
        row["regret"] -= expected
