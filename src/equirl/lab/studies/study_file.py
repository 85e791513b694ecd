"""Studies: which learners play in which worlds, for how long and how often, written as a TOML file.

    name = "rivers"
    seed = 1
    runs = 20
    horizon = 100_000
    worlds = ["riverswim:n_states=10", { world = "four-room", params = { height = 9 }, label = "rooms" }]
    learners = ["ucrl2-l", { learner = "c-ucrl", settings = { ties = "optimistic" }, label = "C-UCRL, optimistic" }]

Every world meets every learner ``runs`` times. A study may have several ``[[parts]]``; each gives a ``name`` and
whatever differs from the top of the file. ``expansion.expand`` lists the runs of a study.

A mistake is explained: where it stands, which key, what is wrong with it, what the key means.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from equirl.words.checking import LARGEST, checked_path, unknown_name
from equirl.words.formatting import printable, shown

LONGEST_NAME = 200  # bytes; file systems take 255
MOST_RUNS = 10**6  # of one learner in one world
_LIMITS = {
    "greater_than_equal": ("ge", "at least"), "greater_than": ("gt", "more than"), "less_than_equal": ("le", "at most"),
}  # fmt: skip


class StudyError(ValueError):
    """A study that cannot be run as written; the message names the key, its place and its meaning."""


def _spelled_out(key: str) -> Callable[[Any], Any]:
    return lambda entry: {key: entry} if isinstance(entry, str) else entry


def _folder_name(name: str) -> str:
    """A study's name, which becomes a folder of its results: nothing that leads elsewhere or cannot be one."""
    if name in (".", "..") or {"/", "\\"} & set(name) or printable(name) != name or not name.strip():
        raise ValueError("a plain name, without slashes and control characters: results go to a folder of that name")
    if len(name.encode()) > LONGEST_NAME:
        raise ValueError(f"a name of at most {LONGEST_NAME} bytes: results go to a folder of that name")
    return name


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)  # TOML has types: true is no number


class WorldEntry(_Model):
    """A world of a study: from the registry, or from a saved file."""

    world: str | None = Field(None, description='a registered world, such as "riverswim" or "four-room:height=9"')
    file: str | None = Field(None, description="a saved world (.npz), its path relative to the study")
    params: dict[str, Any] = Field({}, description="parameters of the world")
    label: str | None = Field(None, description="the name of the world in tables and figures")


class LearnerEntry(_Model):
    """A learner of a study with its settings."""

    learner: str = Field(description='a registered learner, such as "c-ucrl"')
    settings: dict[str, Any] = Field({}, description="settings of the learner")
    label: str | None = Field(None, description="the name of the learner in tables and figures")


Worlds = list[Annotated[WorldEntry, BeforeValidator(_spelled_out("world"))]]
Learners = list[Annotated[LearnerEntry, BeforeValidator(_spelled_out("learner"))]]
FolderName = Annotated[str, AfterValidator(_folder_name)]
Checkpoints = Annotated[int, Field(ge=1)] | Literal["log"] | list[Annotated[int, Field(ge=1)]]


class _Block(_Model):
    worlds: Worlds | None = Field(None, min_length=1, description="the worlds, as names or tables")
    learners: Learners | None = Field(None, min_length=1, description="the learners, as names or tables")
    horizon: int | None = Field(None, ge=1, le=LARGEST, description="the number of steps of each run")
    runs: int | None = Field(
        None, ge=1, le=MOST_RUNS, description="the number of independent runs of each learner in each world"
    )
    seeds: list[Annotated[int, Field(ge=0)]] | None = Field(
        None, min_length=1, description="the seeds of the runs themselves, as simulate takes them, in place of runs"
    )
    checkpoints: Checkpoints | None = Field(
        None, description='where curves are recorded: a number of equal steps, "log", or increasing times up to horizon'
    )
    measures: list[Literal["clustering"]] | None = Field(
        None, description='what else is recorded: "clustering" for the mis-clustering ratio and bias'
    )
    keep: list[Literal["agent"]] | None = Field(
        None, description='what else is kept of each run: "agent" for the learner as the run left it'
    )
    common_random_numbers: bool | None = Field(
        None, description="whether learners meet the same randomness of the world in the same replicate"
    )
    renumber: bool | None = Field(
        None, description="whether each replicate plays the world with states and actions renumbered at random"
    )


class StudyPart(_Block):
    """A part of a study: its name and whatever differs from the top of the file."""

    name: str = Field(min_length=1, description="the name of the part")
    group: str | None = Field(None, min_length=1, description="parts of one group have a mean of their own on a page")


class StudyFile(_Block):
    """A validated study. Make one with :func:`load_study` or :func:`parse_study`."""

    name: FolderName = Field("study", description="the name of the study, and of its results' folder")
    description: str = Field("", description="a sentence about the study")
    seed: int = Field(0, ge=0, description="the seed from which all seeds are derived")
    parts: list[StudyPart] = Field([], description="parts of the study, each with a name and what differs from the top")
    _written: tuple[str, str] = PrivateAttr(("", ""))  # how messages call its file, and the text

    def place_of(self, name: str, part: str) -> str:
        """Where a world or learner of a part is written, for messages: the file and, where it is found, the line."""
        place, text = self._written
        k = next((k for k, own in enumerate(self.parts) if own.name == part), None)
        quoted = rf"""["']{re.escape(name)}["']"""
        line = _line_of(quoted, text, k) or _line_of(quoted, text, None)
        return f"{place}, line {line}" if line else place

    def keeping_agents(self) -> StudyFile:
        """This study, with the learner of every run kept."""
        parts = [part.model_copy(update={"keep": None}) for part in self.parts]
        return self.model_copy(update={"keep": ["agent"], "parts": parts})


def load_study(path: str | os.PathLike[str]) -> StudyFile:
    """Read and validate a study file. Of a mistake the StudyError names the key, its line and its meaning.

    Parameters
    ----------
    path : str or path
        The file; its stem is the name of a study that has none.
    """
    path = checked_path("the study's path", path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot read the study {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path} is not a text file") from None
    study = parse_study(text, str(path))
    if "name" in study.model_fields_set:
        return study
    try:
        return study.model_copy(update={"name": _folder_name(path.stem)})
    except ValueError as error:
        raise StudyError(
            f"{path}: the file's own name is no name for a study; give one: name = ... ({error})"
        ) from None


def parse_study(text: str, place: str = "study") -> StudyFile:
    """Validate the text of a study."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise StudyError(f"{place} is nested too deeply for a study") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise StudyError(f"{place} is not valid TOML: {error}") from None
    return checked_study(values, text, place)


def checked_study(values: Mapping[str, Any], text: str = "", place: str = "study") -> StudyFile:
    """Validate a study, as its file has it."""
    try:
        study = StudyFile.model_validate(values)
    except ValidationError as error:
        raise StudyError(_explained(error, text, place)) from None
    except RecursionError:
        raise StudyError(f"{place} is nested too deeply for a study") from None
    study._written = place, text
    return study


def shipped_study(name: str, folder: str = "studies") -> StudyFile:
    """A study that comes with the package, its file in a folder of the laboratory."""
    file = f"{name}.toml"
    return parse_study(files(f"equirl.lab.{folder}").joinpath(file).read_text(encoding="utf-8"), file)


def _explained(error: ValidationError, text: str, place: str) -> str:
    """The mistakes of a study in words."""
    messages: dict[tuple[str | int, ...], str] = {}
    for detail in error.errors():
        path, inside = _locate(detail["loc"], detail["type"] == "extra_forbidden")
        messages.setdefault(path, _message(detail, path, inside))
    return "\n".join(f"{_place(path, text, place)}: {message}" for path, message in messages.items())


def _locate(loc: Sequence[str | int], unknown: bool) -> tuple[tuple[str | int, ...], type[BaseModel]]:
    """The keys and positions of a place in a study (without the names of alternatives), and the model it lies in."""
    path: list[str | int] = []
    inside: type[BaseModel] = StudyFile
    for k, step in enumerate(loc):
        if isinstance(step, int):
            path.append(step)
        elif step in inside.model_fields:
            path.append(step)
            deeper = _model_in(inside.model_fields[step].annotation)
            if deeper is not None and k + 1 < len(loc):
                inside = deeper
        elif unknown and k + 1 == len(loc):
            path.append(step)
    return tuple(path), inside


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in get_args(annotation))
    return next((part for part in found if part is not None), None)


def _message(detail: ErrorDetails, path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    keys = [step for step in path if isinstance(step, str)]
    key, given, kind = keys[-1] if keys else "the study", detail["input"], detail["type"]
    if kind == "extra_forbidden":
        text = unknown_name("key", key, model.model_fields)
        near = re.search(r"did you mean '(\w+)'", text)
        return f"{text.split(' Known:')[0]}{_meaning(near.group(1), model)}" if near else text
    if kind == "missing":
        return f"the key {key!r} is missing{_meaning(key, model)}"
    if kind in _LIMITS:
        limit, words = _LIMITS[kind]
        return f"{key} must be {words} {detail['ctx'][limit]}, not {shown(given)}{_meaning(key, model)}"
    if kind in ("too_short", "string_too_short"):
        return f"{key} is empty{_meaning(key, model)}"
    wanted = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    wanted = "" if key == "checkpoints" else f"; it should be {wanted}"
    return f"{key} cannot be {shown(given)}{wanted}{_meaning(key, model)}"


def _meaning(key: str, model: type[BaseModel]) -> str:
    field = model.model_fields.get(key)
    return f" ({key}: {field.description})" if field and field.description else ""


def _place(path: tuple[str | int, ...], text: str, place: str) -> str:
    """The name of the file and, where it is found, the line of a key."""
    part = path[1] if len(path) > 1 and path[0] == "parts" and isinstance(path[1], int) else None
    for key in (re.escape(step) for step in reversed(path) if isinstance(step, str)):
        if line := _line_of(rf"(^|[\s,{{]){key}\s*=|^\s*\[+\s*{key}(?!\w)", text, part):
            return f"{place}, line {line}"
    return place


def _line_of(pattern: str, text: str, part: int | None) -> int | None:
    """The number of the first line that fits, in a part or at the top."""
    lines = text.splitlines()
    headers = [k for k, line in enumerate(lines) if re.match(r"\s*\[\[\s*parts\s*\]\]", line)]
    bounds = [0, *headers, len(lines)]
    block = 0 if part is None or part >= len(headers) else part + 1
    return next((k + 1 for k in range(bounds[block], bounds[block + 1]) if re.search(pattern, lines[k])), None)
