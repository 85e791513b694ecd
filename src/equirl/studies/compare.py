"""Several learners and seeds on one MDP, in one call: the quick comparison before a whole study."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from equirl.core.checking import check_callable, flag, several, whole_number
from equirl.core.csv_files import write_csv
from equirl.core.formatting import shown
from equirl.core.naming import unknown_name
from equirl.core.notebook_cards import card
from equirl.core.paths import checked_path
from equirl.core.tables import Table
from equirl.learners.learner_registry import HANDED, make_settings, outside_modules
from equirl.model.mdp import TabularMDP
from equirl.simulation.curves import Curves, in_usual_order
from equirl.simulation.simulate import simulate
from equirl.simulation.trace import checkpoint_times
from equirl.solving.criterion import AVERAGE_REWARD
from equirl.studies.engines import LocalEngine

LearnerChoice = str | tuple[str, Mapping[str, Any]]  # a name, or a name and settings


@dataclass(frozen=True, eq=False, repr=False)
class TidyTable:
    """Runs of several learners as columns of equal length, a row per learner, seed and checkpoint.

    ``pandas.DataFrame(table.columns)`` takes it.

    Parameters
    ----------
    curves : mapping of str to Curves
        By the label of the learner; one row per seed, all with the same checkpoints.
    seeds : tuple of int
        The seeds, in the order of the rows.
    """

    curves: Mapping[str, Curves]
    seeds: tuple[int, ...]

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """``learner``, ``seed``, ``t`` and every curve; NaN where a learner lacks one."""
        parts = list(self.curves.values())
        n_times = len(parts[0].t)
        columns = {
            "learner": np.repeat(list(self.curves), len(self.seeds) * n_times),
            "seed": np.tile(np.repeat(self.seeds, n_times), len(parts)),
            "t": np.tile(parts[0].t, len(self.seeds) * len(parts)),
        }
        nothing = np.full(len(self.seeds) * n_times, np.nan)
        for name in self.measures:
            columns[name] = np.concatenate([part[name].ravel() if name in part else nothing for part in parts])
        return columns

    @property
    def measures(self) -> list[str]:
        """The curves that some learner has: ``regret``, ``pseudo_regret``, ``reward``, ``n_classes``, then others."""
        return in_usual_order(name for part in self.curves.values() for name in part)

    def __getitem__(self, name: str) -> np.ndarray:
        if not isinstance(name, str) or name not in self.columns:
            raise KeyError(unknown_name("column", name, self.columns))
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["t"])

    def final(self, curve: str = "regret") -> dict[str, np.ndarray]:
        """The last value of a curve, learner by learner.

        Parameters
        ----------
        curve : str
            The name of a column that is a curve.

        Returns
        -------
        dict of str to (n_seeds,) array
            By the label of the learner; those that lack the curve are left out.

        Raises
        ------
        KeyError
            If no learner has it.
        """
        if not isinstance(curve, str) or curve not in self.measures:
            raise KeyError(unknown_name("column", curve, self.measures))
        return {label: part.final(curve) for label, part in self.curves.items() if curve in part}

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas  # type: ignore
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.columns)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as CSV.

        Parameters
        ----------
        path : str or path
            The file, which is whole or absent.

        Returns
        -------
        Path
            Where the table is.
        """
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return write_csv(checked_path("path", path), self.columns, rows)

    def plot(self, measure: str = "regret") -> Any:
        """A figure of one measure, a curve per learner.

        Parameters
        ----------
        measure : str
            The name of a column that is a curve.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            If no learner has it.
        """
        from equirl.plots.comparison_figures import draw_comparison

        return draw_comparison(self, measure)

    def _ends(self) -> tuple[str, list[tuple[str, float, float, int]]]:
        """A measure, and of each learner that has it: its label, mean and standard error at the end, and its runs."""
        measure = "regret" if "regret" in self.measures else self.measures[0]
        ends = []
        for name, values in self.final(measure).items():
            error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
            ends.append((name, float(values.mean()), error, len(values)))
        return measure, ends

    def _repr_html_(self) -> str:
        measure, ends = self._ends()
        columns = ("learner", measure, "standard error", "runs")
        shown = Table({name: [end[k] for end in ends] for k, name in enumerate(columns)})
        return card("TidyTable", {"rows": f"{len(self):,}", "columns": ", ".join(self.columns)}, {"At the end": shown})

    def __repr__(self) -> str:
        lines = [f"TidyTable of {len(self)} rows: {', '.join(self.columns)}"]
        measure, ends = self._ends()
        for name, mean, error, runs in ends:
            lines.append(f"  {name}: {measure} {mean:.4g} +- {error:.2g} (standard error, {runs} runs)")
        return "\n".join(lines)


def simulate_many(
    mdp: TabularMDP,
    learners: Sequence[LearnerChoice] | Mapping[str, LearnerChoice],
    horizon: int,
    seeds: Iterable[int] = range(10),
    *,
    jobs: int = 1,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    common_random_numbers: bool = False,
    on_run: Callable[[int, int], None] | None = None,
) -> TidyTable:
    """Play every learner with every seed.

    Parameters
    ----------
    mdp : TabularMDP
        The world.
    learners : sequence or mapping
        Names, or (name, settings), or {label: either}.
    horizon : int
        Steps per run.
    seeds : iterable of int
        One run of each learner for each; all different.
    jobs : int
        Processes; the numbers do not depend on them.
    checkpoints : int, "log" or sequence of int
        Where curves are recorded, as in :func:`equirl.simulate`.
    common_random_numbers : bool
        Whether all learners meet the same randomness of the world at the same seed.
    on_run : callable, optional
        Called as ``on_run(done, total)`` after each run.

    Returns
    -------
    TidyTable

    Examples
    --------
    >>> from equirl.worlds.world_registry import make
    >>> table = simulate_many(make("riverswim", n_states=5), ["ucrl2-l", "random"], horizon=500, seeds=range(3))
    >>> len(table), sorted(table.final())
    (1200, ['random', 'ucrl2-l'])
    """
    named, seeds, jobs = named_learners(learners), checked_seeds(seeds), whole_number("jobs", jobs)
    times, shared = checkpoint_times(checkpoints, horizon), flag("common_random_numbers", common_random_numbers)
    check_callable("on_run", on_run)
    gain = AVERAGE_REWARD.optimum(mdp)
    calls = [
        (mdp, name, settings, horizon, seed, times, gain, seed if shared else None, outside_modules(name))
        for name, settings in named.values()
        for seed in seeds
    ]
    jobs = min(jobs, len(calls))
    if jobs > 1:  # compiled once here, found in the cache by the workers
        for name, settings in named.values():
            simulate(mdp, name, 1, gain=gain, **settings)
    done: dict[int, Curves] = {}
    with closing(_computed(calls, jobs)) as results:
        for place, result in results:
            done[place] = result
            if on_run is not None:
                on_run(len(done), len(calls))
    labels = {label: range(k * len(seeds), (k + 1) * len(seeds)) for k, label in enumerate(named)}
    return TidyTable({label: Curves.stack([done[k] for k in rows]) for label, rows in labels.items()}, tuple(seeds))


def _computed(calls: list[tuple[Any, ...]], jobs: int) -> Generator[tuple[int, Curves], None, None]:
    """The place and result of each call, as they come."""
    if jobs == 1:
        yield from ((place, _run(*call)) for place, call in enumerate(calls))
        return
    with LocalEngine(jobs).open() as executor:
        futures = {executor.submit(_run, *call): place for place, call in enumerate(calls)}
        for future in as_completed(futures):
            yield futures[future], future.result()


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    """Seeds as a list, all different."""
    if not isinstance(seeds, Iterable) or (isinstance(seeds, np.ndarray) and seeds.ndim == 0):
        raise TypeError(f"seeds must be a list or range of integers, not {shown(seeds)}; for the first n, range(n)")
    checked = [whole_number("a seed", seed, least=0) for seed in seeds]
    if not checked:
        raise ValueError("seeds is empty; give at least one")
    if len(set(checked)) < len(checked):
        raise ValueError(f"seed {Counter(checked).most_common(1)[0][0]} is listed twice: its runs would be the same")
    return checked


def named_learners(learners: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """Names and settings of learners by their labels."""
    if isinstance(learners, str) or not isinstance(learners, Iterable):
        raise TypeError(f"learners must be a list; for one, write [{shown(learners)}]")
    listed = (
        list(learners.items()) if isinstance(learners, Mapping) else [(None, k) for k in several("learners", learners)]
    )
    if not listed:
        raise ValueError("learners is empty; give at least one")
    named: dict[str, tuple[str, dict[str, Any]]] = {}
    for given, entry in listed:
        name, settings = (entry, {}) if isinstance(entry, str) else _name_and_settings(entry)
        make_settings(name, **{key: value for key, value in settings.items() if key not in HANDED})
        label = given or name + "".join(f" {key}={value}" for key, value in settings.items())
        if label in named:
            raise ValueError(f"learner {label!r} is listed twice; give {{label: ...}} to tell them apart")
        named[label] = name, settings
    return named


def _name_and_settings(entry: Any) -> tuple[str, dict[str, Any]]:
    try:
        name, settings = entry
        return name, dict(settings)
    except (TypeError, ValueError):
        raise TypeError(f"a learner to compare is its name or (name, settings), not {shown(entry)}") from None


def _run(
    mdp: TabularMDP,
    name: str,
    settings: dict[str, Any],
    horizon: int,
    seed: int,
    times: np.ndarray,
    gain: float,
    world_seed: int | None,
    modules: tuple[str, ...],  # that register learners of their own
) -> Curves:
    for module in modules:
        import_module(module)
    return simulate(mdp, name, horizon, seed, checkpoints=times, gain=gain, world_seed=world_seed, **settings).curves
