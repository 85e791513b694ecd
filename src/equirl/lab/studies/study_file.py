"""Studies: which learners play in which worlds, for how long and how often, written as a TOML file.

    name = "rivers"
    seed = 1
    runs = 20
    horizon = 100_000
    worlds = ["riverswim:n_states=10", { world = "four-room", params = { height = 9 }, label = "rooms" }]
    learners = ["ucrl2-l", { learner = "c-ucrl", settings = { ties = "optimistic" }, label = "C-UCRL, optimistic" }]

Every world meets every learner ``runs`` times. A study may have several ``[[parts]]``; each gives a ``name`` and
whatever differs from the top of the file. ``expansion.expand`` lists the runs of a study.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from equirl.lab.studies.study_errors import explain, place_of_name
from equirl.words.checking import LARGEST, checked_path
from equirl.words.formatting import printable

LONGEST_NAME = 200  # bytes; file systems take 255
MOST_RUNS = 10**6  # of one learner in one world


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


class Study(_Block):
    """A validated study. Make one with :func:`load_study` or :func:`parse_study`."""

    name: FolderName = Field("study", description="the name of the study, and of its results' folder")
    description: str = Field("", description="a sentence about the study")
    seed: int = Field(0, ge=0, description="the seed from which all seeds are derived")
    parts: list[StudyPart] = Field([], description="parts of the study, each with a name and what differs from the top")
    _written: tuple[str, str] = PrivateAttr(("", ""))  # how messages call its file, and the text

    def place_of(self, name: str, part: str) -> str:
        """Where a world or learner of a part is written, for messages: the file and, where it can be told, the line."""
        place, text = self._written
        k = next((k for k, own in enumerate(self.parts) if own.name == part), None)
        return place_of_name(name, text, place, k) if place else ""

    def keeping_agents(self) -> Study:
        """This study, with the learner of every run kept."""
        parts = [part.model_copy(update={"keep": None}) for part in self.parts]
        return self.model_copy(update={"keep": ["agent"], "parts": parts})


def load_study(path: str | os.PathLike[str]) -> Study:
    """Read and validate a study file.

    Parameters
    ----------
    path : str or path
        The file; its stem is the name of a study that has none.

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        Where the file cannot be read or has a mistake; the message names the key, its line and its meaning.
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


def parse_study(text: str, place: str = "study") -> Study:
    """Validate the text of a study.

    Examples
    --------
    >>> study = parse_study('horizon = 1000\\nworlds = ["riverswim:n_states=6"]\\nlearners = ["ucrl2-l"]\\nruns = 3')
    >>> study.runs, study.learners[0].learner
    (3, 'ucrl2-l')
    >>> parse_study("horizn = 1000")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    equirl.lab.studies.study_file.StudyError: study, line 1: unknown key 'horizn'; did you mean 'horizon'? (horizon: ...
    """
    try:
        study = Study.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise StudyError(explain(error, text, place, Study)) from None
    except RecursionError:
        raise StudyError(f"{place} is nested too deeply for a study") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise StudyError(f"{place} is not valid TOML: {error}") from None
    study._written = place, text
    return study
