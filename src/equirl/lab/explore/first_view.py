"""What ``equirl explore`` was given (a world, file, folder, study, lesson or link), and what pages may open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

PROBLEMS = (".npz", ".txt")  # endings of saved problems and maps
MOST_FILES = 500


@dataclass(frozen=True)
class FirstView:
    """What pages show first, and which files they may open."""

    fragment: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)


def first_view_of(what: str | None) -> FirstView:
    """What to show of a world, file, folder, study, lesson or link."""
    if what is None:
        return FirstView()
    if what.startswith(("http://", "https://")):
        held = urlsplit(what).fragment
        return FirstView(f"#{held}" if held else "")
    if (lesson := re.fullmatch(r"lesson(?:=([1-5]))?", what)) is not None:
        return FirstView(f"#lesson={lesson[1] or 1}")
    path = Path(what)
    if path.suffix == ".toml":
        return _study(path)
    if path.is_dir():
        return _folder(path)
    if path.suffix in PROBLEMS:
        if not path.is_file():
            raise FileNotFoundError(2, "No such file", what)
        return FirstView(f"#view=world&file={quote(path.name, safe='')}", {path.name: path.resolve()})
    from equirl.worlds import make, parse_world

    name, params = parse_world(what)
    make(name, **params)  # a mistake is said here, not in the browser
    return FirstView(f"#view=world&world={quote(what, safe='')}")


def _folder(path: Path) -> FirstView:
    if (path / "runs").is_dir() or (path / "plan.json").is_file():
        return FirstView("#view=study", {"results": path.resolve()})
    found = {item.name: item.resolve() for item in sorted(path.iterdir()) if item.suffix in PROBLEMS and item.is_file()}
    inside = {name: item for name, item in found.items() if item.is_relative_to(path.resolve())}
    if not inside:
        raise ValueError(f"{path} holds neither results (runs/) nor saved problems (.npz, .txt)")
    first = next(iter(inside))
    return FirstView(f"#view=world&file={quote(first, safe='')}", dict(list(inside.items())[:MOST_FILES]))


def _study(path: Path) -> FirstView:
    from equirl.lab.studies.study_file import load_study

    folder = Path("results") / load_study(path).name
    if not folder.is_dir():
        raise ValueError(f"nothing of {path} is computed yet: there is no {folder}; start it with equirl study {path}")
    return FirstView("#view=study", {"results": folder.resolve()})
