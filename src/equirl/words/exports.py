"""Names that a folder exports and loads when they are first used, so that importing it is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, exports: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the names that each of its modules gives."""
    homes = {name: module for module, names in exports.items() for name in names.split()}

    def __getattr__(name: str) -> Any:  # noqa: N807, the name it will have in the package
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: sorted(homes), list(homes)
