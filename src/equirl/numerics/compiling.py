"""The decorators under which inner loops are compiled: ``kernel``, ``lean_kernel``, and ``inlined`` for their steps.

A *kernel* is a small function over arrays and numbers. Numba compiles it on its first call and keeps the machine
code beside the source, or in the user's cache folder; where neither can be written (a read-only install and home)
the kernel still works and is compiled once per process. The plain Python body stays available as ``.py_func``; with
``NUMBA_DISABLE_JIT=1`` it is all there is.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import numba
from numba.core import event

from equirl.numerics.kernel_cache import KernelCache, ShippedCache

F = TypeVar("F", bound=Callable[..., Any])
COMPILING = "compiling inner loops; done once where a cache can be written"
COMPILING_AT_EVERY_START = (
    "compiling inner loops, at every start: there is no folder to keep them in that can be written. To wait only once, "
    "set the environment variable NUMBA_CACHE_DIR to one that can"
)
UNLINKED = (
    "inside Numba {version} something is not as it was ({error}): inner loops are compiled one by one, with the same "
    "results; it takes longer. A newer equirl may know this Numba"
)


class _Linking:
    """Whether kernels and what they call become one program (``linking``), which rests on Numba's insides."""

    works = True

    @classmethod
    def fails(cls, error: BaseException) -> None:
        """From now on each is a program of its own, as Numba has it."""
        cls.works = False
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        logging.getLogger("equirl").warning(UNLINKED.format(version=numba.__version__, error=said))


try:
    from equirl.numerics.linking import KernelCompiler, StepCompiler
except (ImportError, AttributeError, TypeError) as error:
    _Linking.fails(error)


def kernel(function: F) -> F:
    """Compile ``function`` with Numba: no Python objects, no global lock, cached on disk where that is possible."""
    return _compiled(function)


def lean_kernel(function: F) -> F:
    """Compile a function with Numba, without reference counts: for inner loops that allocate nothing.

    Fields of a named tuple then cost nothing inside a loop; with reference counts each use of one is an atomic
    operation, several times the work of a sweep. Where a folder can be written, it is compiled once.

    Parameters
    ----------
    function : function
        Of arrays and numbers; the plain one stays available as ``py_func``.
    """
    return _compiled(function, _nrt=False)


def inlined(function: F) -> F:
    """Compile a function inside the kernels that call it, not on its own: for steps of kernels, to compile fast.

    Parameters
    ----------
    function : function
        Of arrays and numbers, to be called by kernels.
    """
    options: dict[str, Any] = {"pipeline_class": KernelCompiler} if _Linking.works else {}
    pasted: Any = _with_body(numba.njit(inline="always", nogil=True, **options)(function), function)
    if pasted is not function:
        pasted.compile = _looked_for(pasted, pasted.compile)
    return pasted


def _compiled(function: F, **options: Any) -> F:
    options |= {"nogil": True, "no_cfunc_wrapper": True}

    @cache
    def unlinked() -> Any:
        plain: Any = _with_body(numba.njit(**options)(function), function)
        if plain is not function:
            plain.compile = _looked_for(plain, plain.compile)
            _keep(plain, linked=False)
        return plain

    if not _Linking.works:
        return unlinked()
    compiled: Any = _with_body(numba.njit(pipeline_class=KernelCompiler, **options)(function), function)
    if compiled is not function:

        @cache
        def step() -> Any:
            of_steps = options | {"no_cpython_wrapper": True}
            return numba.njit(pipeline_class=StepCompiler, **of_steps)(function)

        def called() -> Any:
            return step() if _Linking.works else unlinked()

        compiled.compile = _looked_for(compiled, _linked_or_not(compiled, unlinked))
        compiled.get_call_template = lambda args, kws: called().get_call_template(args, kws)
        compiled.get_overload = lambda signature: called().get_overload(signature)
        _keep(compiled)
    return compiled


def _keep(compiled: Any, *, linked: bool = True) -> None:
    """Have a kernel kept on disk, if that is possible."""
    try:
        compiled._cache = KernelCache(compiled, linked=linked)
    except RuntimeError:  # no writable place for the cache
        _Notice.uncached |= _is_ours(compiled.py_func)
        compiled._cache = ShippedCache(compiled)


def _linked_or_not(compiled: Any, unlinked: Callable[[], Any]) -> Callable[..., Any]:
    """Compile with all that is called; where only Numba's own way succeeds, that way from now on."""
    link = compiled.compile

    def compile_for(signature: Any) -> Any:
        failed = None
        if _Linking.works:
            try:
                return link(signature)
            except Exception as error:
                failed, _Linking.works = error, False
        plain = unlinked()
        try:
            entry = plain.compile(signature)
        except Exception:
            if failed is None:
                raise
            _Linking.works = True  # the kernel's own fault
            raise failed from None
        if failed is not None:
            _Linking.fails(failed)
        compiled.add_overload(plain.overloads[tuple(signature)])  # found at once from the second call on
        return entry

    return compile_for


class _Hooks(NamedTuple):
    """What happens where Python calls a kernel for the first time with arguments of some types."""

    noted: Callable[[Any, Any], Any] | None = None  # the kernel, their types -> a function to call in its place
    missing: Callable[[], None] | None = None  # before the first kernel that the cache does not hold is compiled


class _At:
    hooks = _Hooks()


@contextmanager
def hooked(**hooks: Any) -> Iterator[None]:
    """Inside, other hooks than before."""
    before, _At.hooks = _At.hooks, _Hooks(**hooks)
    try:
        yield
    finally:
        _At.hooks = before


def _looked_for(kernel: Any, compile_for: Callable[..., Any]) -> Callable[..., Any]:
    """Load or compile, to the end: LLVM calls back into Python, where an interrupt would be lost, and the code."""

    def compile_whole(signature: Any) -> Any:
        noted, missing = _At.hooks
        if noted is not None:
            return noted(kernel, signature)
        if missing is not None and has_cache(kernel) and not is_kept(kernel, signature):
            with hooked():
                missing()
            _At.hooks = _Hooks()
        with interrupts_deferred():
            return compile_for(signature)

    return compile_whole


def is_kept(kernel: Any, signature: Any) -> bool:
    """Whether a kernel is compiled for arguments of these types, here or in the cache."""
    return tuple(signature) in kernel.overloads or kernel._cache.holds(tuple(signature))


def has_cache(kernel: Any) -> bool:
    return isinstance(kernel._cache, KernelCache)


class _Later:
    """A handler that keeps the interrupt for later."""

    def __init__(self) -> None:
        self.came: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = number, frame


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Inside, Ctrl-C waits until the end. Threads other than the main one never see it and change nothing."""
    usual = signal.getsignal(signal.SIGINT)
    alone = threading.current_thread() is threading.main_thread()
    if not alone or not callable(usual) or isinstance(usual, _Later):
        yield
        return
    later = _Later()
    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if later.came is not None:
            usual(*later.came)


def _with_body(compiled: Any, function: F) -> F:
    if compiled is function:  # NUMBA_DISABLE_JIT, with which coverage sees the kernels
        compiled.py_func = function  # type: ignore[attr-defined]
    return compiled


def _is_ours(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").startswith("equirl.")  # it may be None


class _Notice(event.Listener):  # type: ignore[misc]
    """Says once per process that kernels are being compiled, so that nobody wonders about the first seconds."""

    said = False
    uncached = False  # whether some kernel cannot be kept on disk

    def on_start(self, event: Any) -> None:
        if not self.said and _is_ours(event.data["dispatcher"].py_func):
            self.said = True
            logging.getLogger("equirl").warning(COMPILING_AT_EVERY_START if self.uncached else COMPILING)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
