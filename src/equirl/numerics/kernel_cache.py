"""Compiled kernels on disk: never a stale one, never a damaged one, however many processes write at once.

Numba stamps a kernel with its own source file, so an edit of what the kernel calls goes unnoticed; it numbers its
files, so two processes can exchange theirs; and it trusts what it reads. Here a file is named after all that its
machine code depends on: the code of the kernel and of everything it calls, the constants they read, the types of the
arguments and the processor. What is named alike is alike. Code is taken from memory, not from source files, which may
have been edited since they were imported. Each file ends in a hash of what stands before; one that does not fit, or
was left by a full disk or a power cut, counts as absent and is written anew.
"""

from __future__ import annotations

import glob
import hashlib
import logging
import os
import pickle
import sys
import types
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import caching, codegen, compiler, serialize
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import nrt

_numba: Any = caching  # without types
_compiler: Any = compiler
_runtime: Any = nrt.rtsys
_codegen: Any = codegen
llvm = _codegen.ll
_pack: Any = serialize
SEAL = b"equirl"
HASH_SIZE = 16
SHIPPED_VARIABLE = "EQUIRL_KERNELS"  # folders with prepared kernels
INTO_VARIABLE = "EQUIRL_KERNELS_INTO"  # where `equirl prepare --into` has its processes write
PACKAGE_FOLDER = Path(__file__).parents[1] / "kernels"
GENERIC = "generic"
_V2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe"
BASELINES = {  # levels of the x86-64 psABI -> what they need, in LLVM's words
    "x86-64": "",
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl",
}


class KernelCache(_numba.FunctionCache):  # type: ignore[misc]
    """The cache of one kernel. Whatever goes wrong with its files, the kernel is compiled and works."""

    def __init__(self, kernel: Dispatcher, *, linked: bool = True) -> None:
        super().__init__(kernel.py_func)
        self.linked, name = linked, self._impl.filename_base
        if linked:
            self._impl.rebuild = rebuilt
        else:
            name += ".alone"
        self._cache_file = KernelFiles(self._impl.locator.get_cache_path(), name, kernel)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None where it must be compiled."""
        try:
            if not self.linked:
                target_context.refresh()
                return self._load_overload(sig, target_context)
            _runtime.initialize(target_context)  # all that machine code needs; Numba loads what compiling needs as well
            found = None if os.environ.get(INTO_VARIABLE) else self._load_overload(sig, target_context)
            return found or load_shipped(self._cache_file.kernel, sig, target_context)
        except Exception as error:  # what an unreadable pickle or object file raises is open-ended
            _say(f"{self.cache_path}: the compiled {self._py_func.__name__} cannot be used ({error}); compiling it")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that is possible."""
        into = os.environ.get(INTO_VARIABLE)
        try:
            if not into or not self.linked:
                super().save_overload(sig, data)
            elif self._impl.check_cachable(data):
                write_kernel(Path(into, shipped_name(self._cache_file.kernel, sig)), self._impl.reduce(data))
        except Exception as error:
            if self.linked and not isinstance(error, OSError):
                raise
            reason = getattr(error, "strerror", None) or error
            _say(f"{self.cache_path}: the compiled {self._py_func.__name__} cannot be kept ({reason})")

    def holds(self, sig: Any) -> bool:
        """Whether there is a file for a signature."""
        kernel: Any = self._cache_file.kernel
        into = os.environ.get(INTO_VARIABLE)
        if into and self.linked:
            return Path(into, shipped_name(kernel, sig)).exists()
        own = self._cache_file.path(self._index_key(sig, kernel.targetctx.codegen()))
        return own.exists() or (self.linked and shipped_file(kernel, sig) is not None)


class ShippedCache(_numba.NullCache):  # type: ignore[misc]
    """Where nothing can be written: what came with the installation, and no more."""

    def __init__(self, kernel: Dispatcher) -> None:
        self.kernel = kernel

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None where it must be compiled."""
        _runtime.initialize(target_context)
        return load_shipped(self.kernel, sig, target_context)


def load_shipped(kernel: Any, signature: Any, target_context: Any) -> Any:
    """A kernel that came with the installation; None where there is none."""
    path = None if os.environ.get(INTO_VARIABLE) else shipped_file(kernel, signature)
    data = None if path is None else read_kernel(path)
    return None if data is None else rebuilt(target_context, data)


class KernelFiles:
    """The files of one kernel, one for each signature and processor: ``name.<what it calls>.<for what>.nbc``."""

    def __init__(self, folder: str, name: str, kernel: Dispatcher) -> None:
        self.folder, self.name, self.kernel = Path(folder), name, kernel

    def load(self, key: tuple[Any, ...]) -> Any:
        """What was saved under a key of Numba's; None where there is nothing, or nothing whole."""
        return read_kernel(self.path(key))

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Keep what was compiled, and clear what was compiled from other code."""
        write_kernel(self.path(key), data)
        current = f"{self.name}.{stamp(self.kernel)}."
        for old in self._all():
            if not old.name.startswith(current):
                old.unlink(missing_ok=True)

    def flush(self) -> None:
        for path in self._all():
            path.unlink(missing_ok=True)

    def _all(self) -> list[Path]:
        """Those of any code, and the index and data files of Numba's own cache."""
        return list(self.folder.glob(f"{glob.escape(self.name)}.*nb[ci]"))

    def path(self, key: tuple[Any, ...]) -> Path:
        """The file of a key."""
        signature, *rest = key
        purpose = _digest(repr((numba.__version__, [_type_text(kind) for kind in signature], rest)))
        return self.folder / f"{self.name}.{stamp(self.kernel)}.{purpose}.nbc"


def rebuilt(target_context: Any, payload: tuple[Any, ...]) -> Any:
    """A kernel from what was kept of it; Numba's own way reads all that it was made of, to link it elsewhere."""
    code, function, env, signature, objectmode, lifted, annotation, reload_init, envs = payload
    for reload in reload_init:
        reload()
    from equirl.numerics.linking import KernelLibrary

    library = KernelLibrary.loaded(target_context.codegen(), code)
    entry_point = target_context.get_executable(library, function, env)
    for referenced in envs:
        library.codegen.set_env(referenced.env_name, referenced)
    return _compiler.CompileResult(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=entry_point,
        typing_error=None,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=function,
        library=library,
        call_helper=None,
        environment=env,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=envs,
    )


def read_kernel(path: Path) -> Any:
    """What a file holds of a kernel; None where there is none, or none that is whole."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    data = content[: -len(SEAL) - HASH_SIZE]
    if content != sealed(data):
        _say(f"{path}, of a compiled inner loop, is damaged; compiling it again")
        return None
    return pickle.loads(data)


def write_kernel(path: Path, data: Any) -> None:
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
    try:
        aside.write_bytes(sealed(_pack.dumps(data)))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


# --- kernels that come with an installation: compiled elsewhere, for a processor that this one can stand in for


def shipped_folders() -> list[Path]:
    """Where kernels are that were prepared in advance: named by the user, and in the package."""
    named = filter(None, os.environ.get(SHIPPED_VARIABLE, "").split(os.pathsep))
    return [folder for folder in (*map(Path, named), PACKAGE_FOLDER) if folder.is_dir()]


def shipped_file(kernel: Any, signature: Any) -> Path | None:
    """The file of a kernel among those that came with the installation, for the most capable processor."""
    folders = shipped_folders()
    if not folders:
        return None
    name = shipped_name(kernel, signature)
    paths = [folder / processor / name for folder in folders for processor in runnable_processors()]
    return next((path for path in paths if path.is_file()), None)


def shipped_name(kernel: Any, signature: Any) -> str:
    """A file's name, without the processor and the place of the source."""
    function, (triple, *_) = kernel.py_func, kernel.targetctx.codegen().magic_tuple()
    types_text = [_type_text(kind) for kind in signature]
    purpose = _digest(repr((numba.__version__, sys.implementation.cache_tag, triple, types_text)))
    return f"{function.__module__}.{function.__name__}.{stamp(kernel)}.{purpose}.nbc"


@cache
def runnable_processors() -> tuple[str, ...]:
    """The baselines whose code this processor runs, the most capable first."""
    features = {name for name, has in llvm.get_host_cpu_features().items() if has}
    x86 = llvm.get_process_triple().startswith("x86_64")
    found = [name for name, needed in BASELINES.items() if x86 and features.issuperset(needed.split())]
    return (*found[::-1], GENERIC)


def sealed(content: bytes) -> bytes:
    return content + SEAL + hashlib.blake2b(content, digest_size=HASH_SIZE).digest()


def stamp(kernel: Dispatcher) -> str:
    """A hash of all that a kernel is compiled from: its code, that of the kernels it calls, the constants they read."""
    texts, waiting, seen = [], [kernel], {kernel}
    while waiting:
        text, callees = _own_part(waiting.pop())
        texts.append(text)
        new = [callee for callee in callees if callee not in seen]
        seen.update(new)
        waiting += new
    return _digest("\n".join(sorted(texts)))


@cache
def _own_part(kernel: Dispatcher) -> tuple[str, tuple[Dispatcher, ...]]:
    """A hash of one kernel's code, options and constants, and the kernels it calls."""
    function = kernel.py_func
    parts = [function.__qualname__, _code_text(function.__code__), repr(sorted(kernel.targetoptions.items()))]
    parts += [_value_text(value) for value in (function.__defaults__, function.__kwdefaults__)]
    read = dict(_read_values(function))
    callees = tuple(value for value in read.values() if isinstance(value, Dispatcher))
    for name, value in read.items():
        parts.append(f"{name} {value.py_func.__qualname__ if isinstance(value, Dispatcher) else _value_text(value)}")
    return _digest("\n".join(parts)), callees


def _read_values(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The globals and outer variables that a function reads, by name; of a module, what it reads there."""
    names = sorted(set(_names(function.__code__)))
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    found += [(name, cell.cell_contents) for name, cell in cells]
    modules = set()
    while found:
        name, value = found.pop()
        if not isinstance(value, types.ModuleType):
            yield name, value
        elif value.__name__ not in modules:
            modules.add(value.__name__)
            found += [(f"{name}.{part}", getattr(value, part)) for part in names if hasattr(value, part)]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _code_text(code: types.CodeType) -> str:
    """All of a code object that matters, without its place in a file."""
    consts = [
        _code_text(value) if isinstance(value, types.CodeType) else _value_text(value) for value in code.co_consts
    ]
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return repr((shape, names, consts, code.co_code.hex(), code.co_exceptiontable.hex()))


def _value_text(value: Any) -> str:
    """A constant, spelled out; of what kernels cannot take for a constant, its type alone."""
    if isinstance(value, types.CodeType):
        return _code_text(value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {_digest(value.tobytes().hex())}"
    if isinstance(value, tuple):
        return f"{type(value).__qualname__} {[_value_text(item) for item in value]}"
    if isinstance(value, frozenset):
        return repr(sorted(map(_value_text, value)))
    if isinstance(value, type):
        return f"{value.__module__} {value.__qualname__} {getattr(value, '_fields', ())}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return f"{type(value).__name__} {value!r}"
    return type(value).__qualname__


def _type_text(kind: Any) -> str:
    """A type of Numba's, spelled out; its own name leaves out the fields of named tuples."""
    fields, parts = getattr(kind, "fields", ()), getattr(kind, "types", ())
    inner = [_type_text(part) for part in parts]
    return f"{kind} {fields} {inner}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=HASH_SIZE).hexdigest()


@cache
def _say(text: str) -> None:
    """Once for each file."""
    logging.getLogger("equirl").warning(text)
