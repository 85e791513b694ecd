"""Studies from Python: worlds, agents, runs and a horizon, computed once, resumed, looked at in the users' units."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equirl.lab.studies.compare import LearnerChoice, named_learners
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.expansion import PlannedRun, expand
from equirl.lab.studies.runs import build_world
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import checked_study
from equirl.lab.studies.summary import SUMMARY_COLUMNS, Group, final_rows, finished_runs, summarise
from equirl.lab.studies.tidy_table import TidyTable
from equirl.model import TabularMDP
from equirl.words.answer_units import InUnits
from equirl.words.checking import checked_path, flag, unknown_name, whole_number
from equirl.words.formatting import shown
from equirl.words.tables import Table

World = str | TabularMDP


class Study:
    """Agents in worlds: every agent plays in every world, ``runs`` times. Results are kept, and resumed.

    The runs are those of the same study as a file (``equirl study``), number for number.

    Parameters
    ----------
    worlds : str, TabularMDP, sequence or mapping
        Worlds such as "riverswim:n_states=6", or problems of one's own; or {label: either}.
    agents : str, sequence or mapping
        Names, (name, settings), or {label: either}.
    runs : int
        Runs of each agent in each world.
    horizon : int
        Steps of each.
    seed : int
        From which the seeds of all runs are derived.
    checkpoints : int, "log" or list of int
        Where curves are recorded, as in :func:`equirl.simulate`.
    common_random_numbers : bool
        Whether agents meet the same randomness of the world in the same run.
    folder : path, optional
        Where results are kept, one file per run: what is there already is not computed again. Without, they last as
        long as this object.

    Examples
    --------
    >>> study = Study(worlds=["riverswim:n_states=4", "two-room"], agents=["psrl", "random"], runs=2, horizon=300)
    >>> found = study.run()
    >>> found.table()["learner"]
    ['psrl', 'random', 'psrl', 'random']
    """

    def __init__(
        self,
        worlds: World | Sequence[World] | Mapping[str, World],
        agents: str | Sequence[LearnerChoice] | Mapping[str, LearnerChoice],
        runs: int = 10,
        horizon: int = 10_000,
        *,
        seed: int = 0,
        checkpoints: int | str | Sequence[int] = 200,
        common_random_numbers: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._kept = None if folder is None else checked_path("folder", folder)
        named = named_learners([agents] if isinstance(agents, str) else agents)
        for label, (choice, _) in named.items():
            if not isinstance(choice, str):
                raise TypeError(
                    f"the agent {label!r} of a study must be a name; an agent that goes on is for simulate_many"
                )
        self._given = _named_worlds(worlds)
        self.planned = expand(checked_study({
            "name": "study", "seed": whole_number("seed", seed, least=0), "runs": whole_number("runs", runs),
            "horizon": whole_number("horizon", horizon),
            "checkpoints": checkpoints if isinstance(checkpoints, int | str) else np.asarray(checkpoints).tolist(),
            "common_random_numbers": flag("common_random_numbers", common_random_numbers),
            "worlds": [self._entry(label, world) for label, world in self._given.items()],
            "learners": [
                {"learner": choice, "settings": settings, "label": label} for label, (choice, settings) in named.items()
            ],
        }))  # fmt: skip

    @cached_property
    def folder(self) -> Path:
        """Where results are kept: the folder given, or one that goes when this object does."""
        if self._kept is not None:
            return self._kept
        own = tempfile.mkdtemp(prefix="equirl-study-")
        weakref.finalize(self, shutil.rmtree, own, ignore_errors=True)
        return Path(own)

    def _entry(self, label: str, world: World) -> dict[str, Any]:
        if isinstance(world, str):
            return {"world": world, "label": label}
        path = self.folder / "worlds" / f"{label}.npz"
        if path.exists():
            if TabularMDP.load(path) != world:
                raise ValueError(f"{path} holds another problem than {label!r}; choose another label or folder")
        else:
            world.save(path)
        return {"file": str(path.resolve()), "label": label}

    def run(self, jobs: int = 1, *, progress: bool = False) -> StudyResult:
        """Compute the runs that are not there yet.

        Parameters
        ----------
        jobs : int
            Processes; the numbers do not depend on them.
        progress : bool
            Whether to show bars on a terminal, or log lines elsewhere.
        """
        store = Store(self.folder)
        quiet = not flag("progress", progress)
        outcome = run_study(self.planned, store, LocalEngine(whole_number("jobs", jobs)), quiet=quiet)
        if failures := outcome.report.failures:
            first = failures[0]
            raise RuntimeError(
                f"{len(failures)} runs failed, the first of {first.spec.learner} in {first.spec.world}: {first.error}; "
                "the others are kept, and run() tries these again"
            )
        return StudyResult(_in_units(summarise(finished_runs(self.planned, store)), self.planned), self)

    def __repr__(self) -> str:
        worlds, agents = ({getattr(run, name): None for run in self.planned} for name in ("world", "learner"))
        return f"Study({', '.join(worlds)}; {', '.join(agents)}; {len(self.planned)} runs)"


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """What the runs of a study say together, each world in the units of its rewards.

    Attributes
    ----------
    groups : tuple of Group
        The runs of each agent in each world.
    study : Study
        Of which they are.
    """

    groups: InUnits[tuple[Group, ...]]
    study: Study

    @property
    def worlds(self) -> list[str]:
        """The labels of the worlds."""
        return list(dict.fromkeys(group.world for group in self.groups))

    def table(self, measure: str = "regret") -> InUnits[Table]:
        """A row per world and agent: a measure at the horizon, its mean with its interval, and quantiles."""
        rows = [row[1:] for row in final_rows(self.groups, self._checked(measure))]
        return Table(dict(zip(SUMMARY_COLUMNS[1:], zip(*rows, strict=True), strict=True)))

    def runs(self, world: str | None = None) -> InUnits[TidyTable]:
        """All runs in one world as a tidy table; the world may be left out where there is one."""
        groups = self._in(world)
        return TidyTable({group.learner: group.curves for group in groups}, groups[0].replicates)

    def plot(self, measure: str = "regret", world: str | None = None) -> Any:
        """A Matplotlib figure: a panel per world, or one world, with a curve per agent and its confidence interval."""
        from equirl.lab.plots.curve_figures import draw_worlds, plot_curves

        self._checked(measure)
        if world is not None or len(self.worlds) == 1:
            groups = self._in(world)
            return plot_curves(groups, measure, title=groups[0].world)
        return draw_worlds(self.groups, measure)

    def _checked(self, measure: str) -> str:
        known = {name: None for group in self.groups for name in group.curves}
        if not isinstance(measure, str) or measure not in known:
            raise ValueError(unknown_name("measure", measure, known))
        return measure

    def _in(self, world: str | None) -> list[Group]:
        if world is None and len(self.worlds) > 1:
            raise ValueError(f"there are {len(self.worlds)} worlds; name one: {', '.join(self.worlds)}")
        if world is not None and world not in self.worlds:
            raise ValueError(unknown_name("world", world, self.worlds))
        return [group for group in self.groups if world in (None, group.world)]

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _named_worlds(worlds: Any) -> dict[str, World]:
    if isinstance(worlds, str | TabularMDP):
        worlds = [worlds]
    if isinstance(worlds, Mapping):
        named = dict(worlds)
    elif isinstance(worlds, Iterable):
        named = {}
        for k, world in enumerate(worlds):
            label = world if isinstance(world, str) else getattr(world, "name", "") or f"world {k + 1}"
            if label in named:
                raise ValueError(f"world {label!r} is listed twice; give {{label: ...}} to tell them apart")
            named[label] = world
    else:
        raise TypeError(f"worlds must be a list of worlds, not {shown(worlds)}")
    if not named:
        raise ValueError("worlds is empty; give at least one")
    for label, world in named.items():
        if not isinstance(world, str | TabularMDP):
            raise TypeError(f"a world is a name or a TabularMDP, not {shown(world)}")
        if not isinstance(label, str) or not label or {"/", "\\"} & set(label) or label in (".", ".."):
            raise ValueError(f"the label {shown(label)} of a world must be a text without slashes")
    return named


def _in_units(groups: Sequence[Group], planned: Sequence[PlannedRun]) -> tuple[Group, ...]:
    """Groups whose curves are in the units of their worlds' rewards."""
    specs = {run.world: run.spec for run in planned}
    maps = {world: build_world(spec)[0].reward_map for world, spec in specs.items()}
    return tuple(
        replace(
            group, curves=group.curves.in_units(maps[group.world]),
            gain=maps[group.world][0] * group.gain + maps[group.world][1],
        )
        for group in groups
    )  # fmt: skip
