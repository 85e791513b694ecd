"""The package as it loads: names that come when they are first used, and Ctrl-C while the command ``equirl`` starts.

The package imports this file first of all, so it needs no more than what Python itself has loaded by then.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any


def lazily(
    package: str, *exports: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the names that each of its modules gives."""
    homes = {name: module for group in exports for module, names in group.items() for name in names.split()}

    def __getattr__(name: str) -> Any:  # noqa: N807, the name it will have in the package
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: sorted(homes), list(homes)


class InterruptsEndLoading:
    """Inside, Ctrl-C ends this process, if it is the command or one of its workers, at once: one line and code 130."""

    def __enter__(self) -> None:
        self.usual = signal.getsignal(signal.SIGINT)
        self.ours = self.usual is signal.default_int_handler and _is_command()
        if self.ours:
            try:
                signal.signal(signal.SIGINT, _end)
            except ValueError:  # a thread other than the main one
                self.ours = False

    def __exit__(self, *_: object) -> None:
        if self.ours:
            signal.signal(signal.SIGINT, self.usual)


def _is_command() -> bool:
    """Whether the program is the script ``equirl`` or ``python -m equirl``; its workers have its name too."""
    folder, name = os.path.split((getattr(sys, "argv", None) or [""])[0])
    if name == "-m":  # as long as Python looks for the module
        return any(a.startswith("-") and a.endswith("m") and b == "equirl" for a, b in pairwise(sys.orig_argv))
    if name == "__main__.py":
        return os.path.basename(folder) == "equirl"
    return name.removesuffix(".exe").removesuffix("-script.py") == "equirl"


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: there is nothing to tidy up yet. A worker leaves the line to its parent."""
    if "--multiprocessing-fork" not in sys.orig_argv:
        os.write(2, b"equirl: interrupted\n")
    os._exit(130)
