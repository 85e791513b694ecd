"""The lowest versions that pyproject.toml declares, one ``name==version`` a line, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<version>[\w.]+)")
OWN_EXTRAS = re.compile(r"equirl\[[\w,-]+\]")


def declared(text: str) -> list[str]:
    """All that building, the package and its extras require, extras of its own left out."""
    content = tomllib.loads(text)
    project = content["project"]
    groups = [content["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    return [requirement for group in groups for requirement in group if not OWN_EXTRAS.fullmatch(requirement)]


def constraints(requirements: Iterable[str]) -> list[str]:
    """``name==lowest`` for each of them, once."""
    lowest: dict[str, str] = {}
    for requirement in requirements:
        bound = BOUND.fullmatch(requirement)
        if bound is None:
            raise ValueError(f"{requirement!r} declares no lowest version: write name>=version, without an upper bound")
        name, version = bound["name"], bound["version"]
        if lowest.setdefault(name, version) != version:
            raise ValueError(f"{name} is declared with two lowest versions, {lowest[name]} and {version}: choose one")
    return [f"{name}=={version}" for name, version in sorted(lowest.items())]


if __name__ == "__main__":
    print("\n".join(constraints(declared(PYPROJECT.read_text()))))
