"""A recipe: the parts a learner is made of, with their defaults. Keywords a user may set follow from the parts.

No two parts of a recipe share the name of a field, so a keyword says which part it belongs to.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from equirl.estimation.given_knowledge import NOTHING, Given
from equirl.learners.contract import Learner
from equirl.learners.parts import NESTED, DependentPart, Known, Part
from equirl.model.pairs import Pairs
from equirl.words.checking import flag, several, unknown_name
from equirl.words.formatting import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Kind = TypeVar("Kind")

COLUMNS = ("nothing", "looks for classes", "given classes", "given classes and profiles")  # of the grid of learners


class Settings:
    """The parts of a learner, in the order of their recipe, with all settings in place; each is an attribute too."""

    def __init__(self, parts: tuple[DataclassInstance, ...] = ()) -> None:
        self.parts = parts

    def part(self, kind: type[Kind]) -> Kind:
        """The part of a kind, such as ``Structure``."""
        for part in self.parts:
            if isinstance(part, kind):
                return part
        raise TypeError(f"a learner of this family needs a part that is a {kind.__name__}; it has {shown(self.parts)}")

    def resolved(self, known: Known | None) -> Settings:
        """With all settings decided that are "auto": by other settings, and by what is known where that is said."""
        return Settings(
            tuple(part.resolved(self, known) if isinstance(part, DependentPart) else part for part in self.parts)
        )

    def without_given(self) -> Settings:
        """With "auto" decided as where nothing is given."""
        return self.resolved(Known(Pairs.uniform(1, 1), NOTHING))

    @property
    def pools_rewards(self) -> bool:
        """Whether pairs of one class share their mean reward, as they do where there is no choice."""
        return self.as_dict().get("rewards", "per_class") == "per_class"

    @property
    def nests_rewards(self) -> bool:
        """Whether mean rewards are shared by finer classes than transition probabilities."""
        return self.as_dict().get("rewards") == NESTED

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name."""
        return {field.name: getattr(part, field.name) for part in self.parts for field in fields(part)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "parts":
            raise AttributeError(name)
        settings = self.as_dict()
        if name not in settings:
            raise AttributeError(unknown_name("setting", name, settings))
        return settings[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{key}={value!r}' for key, value in self.as_dict().items())})"


class Blueprint(NamedTuple):
    """All that a learner is made from."""

    name: str
    pairs: Pairs
    settings: Settings
    given: Given = NOTHING
    seed: np.random.SeedSequence = np.random.SeedSequence(0)
    reward_map: tuple[float, float] = (1.0, 0.0)  # scale, shift: the user's reward = scale * reward + shift


def needs_of_parts(settings: Settings) -> set[str]:
    return {what for part in settings.parts if isinstance(part, Part) for what in part.needs}


@dataclass(frozen=True)
class Recipe:
    """A learner by its parts.

    Parameters
    ----------
    description : str
        One line for lists of learners.
    build : function
        Makes a learner from a :class:`Blueprint`, usually the learner's class.
    parts : tuple of frozen dataclasses
        The parts with this learner's defaults. One that inherits ``Part`` may list in ``needs`` what it must be given:
        "classes", "profiles", "mean_rewards".
    knows_mdp : bool
        Whether it can only be made from the true MDP (``agent_for``), which ``build`` then takes as well.
    """

    description: str
    build: Callable[..., Learner]
    parts: tuple[DataclassInstance, ...] = ()
    knows_mdp: bool = False

    def __post_init__(self) -> None:
        for part in several("parts", self.parts):
            if not is_dataclass(part) or isinstance(part, type):
                raise TypeError(f"parts must be dataclasses, not {shown(part)}")
        if not callable(self.build):
            raise TypeError(f"build must be a function that makes a learner, not {shown(self.build)}")
        if not isinstance(self.description, str):
            raise TypeError(f"description must be a str, not {shown(self.description)}")
        flag("knows_mdp", self.knows_mdp)
        names = [field.name for part in self.parts for field in fields(part)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two parts of a recipe have a setting {name!r}; rename one")

    @property
    def keys(self) -> tuple[str, ...]:
        """Keywords a user may set."""
        return tuple(self.defaults())

    @property
    def modules(self) -> set[str]:
        """The modules that hold it."""
        return {self.build.__module__, *(type(part).__module__ for part in self.parts)}

    @property
    def column(self) -> str:
        """Its place in the grid of learners: one of ``COLUMNS``."""
        needs = needs_of_parts(Settings(self.parts))
        if "classes" in needs:
            return COLUMNS[3] if "profiles" in needs else COLUMNS[2]
        looks = any(isinstance(part, Part) and part.looks_for_classes for part in self.parts)
        return COLUMNS[1] if looks else COLUMNS[0]

    def defaults(self) -> dict[str, Any]:
        """Every setting with its default."""
        return Settings(self.parts).as_dict()

    def settings(self, name: str, given: dict[str, Any]) -> Settings:
        """The parts with these settings; a mistake is an error that names it."""
        values = {key: _plain(value) for key, value in given.items()}
        for key in values:
            if not self.keys:
                raise TypeError(f"learner {name!r} has no settings; {key!r} was given")
            if key not in self.keys:
                raise TypeError(f"for {name!r}: " + unknown_name("setting", key, self.keys))
        parts = []
        for part in self.parts:
            own = {field.name: values[field.name] for field in fields(part) if field.name in values}
            parts.append(replace(part, **own) if own else part)
        chosen = Settings(tuple(parts)).resolved(None)
        for part in chosen.parts:
            if isinstance(part, DependentPart):
                part.check_with(chosen)
        return chosen


def _plain(value: Any) -> Any:
    """A number as kernels know it: NumPy's and fractions become Python's own; anything else is left as it is."""
    if isinstance(value, np.generic):
        return value.item()
    is_other = isinstance(value, numbers.Real) and not isinstance(value, int | float)
    return float(value) if is_other else value
