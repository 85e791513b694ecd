"""Several learners and seeds on one MDP, in one call: the quick comparison before a whole study."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.core.checking import whole_number
from equirl.core.files import write_aside
from equirl.core.naming import unknown_name
from equirl.learners.learner_registry import make_settings
from equirl.model.mdp import TabularMDP
from equirl.simulation.simulate import checkpoint_times, simulate
from equirl.solving.optimal_gain import solve
from equirl.studies.engines import LocalEngine

Learners = Sequence[str | tuple[str, Mapping[str, Any]]] | Mapping[str, str | tuple[str, Mapping[str, Any]]]
CURVES = ("regret", "pseudo_regret", "reward", "n_classes")


@dataclass(frozen=True, eq=False, repr=False)
class TidyTable:
    """Columns of equal length, a row per learner, seed and checkpoint. ``pandas.DataFrame(table.columns)`` takes it."""

    columns: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(unknown_name("column", name, self.columns))
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def final(self, curve: str = "regret") -> dict[str, np.ndarray]:
        """The last value of a curve by learner: one number per seed."""
        last = self["t"] == self["t"].max()
        names = list(dict.fromkeys(self["learner"].tolist()))
        return {name: self[curve][last & (self["learner"] == name)] for name in names}

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        try:
            import pandas  # type: ignore
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.columns)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV, aside and renamed."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*(column.tolist() for column in self.columns.values()), strict=True))
        write_aside(path, text.getvalue().encode())

    def plot(self, measure: str = "regret") -> Any:
        """A Matplotlib figure of one measure, a curve per learner."""
        from equirl.plots.comparison_figures import draw_comparison

        return draw_comparison(self, measure)

    def __repr__(self) -> str:
        lines = [f"TidyTable of {len(self)} rows: {', '.join(self.columns)}"]
        for name, values in self.final().items():
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            lines.append(f"  {name}: regret {values.mean():.4g} +- {error:.2g} (standard error, {len(values)} runs)")
        return "\n".join(lines)


def simulate_many(
    mdp: TabularMDP,
    learners: Learners,
    horizon: int,
    seeds: Iterable[int] = range(10),
    *,
    jobs: int = 1,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    common_random_numbers: bool = False,
    on_run: Callable[[int, int], None] | None = None,
) -> TidyTable:
    """Play every learner with every seed; the same numbers for any number of ``jobs`` (processes).

    ``learners``: names, or (name, settings), or {label: either}. ``common_random_numbers``: all learners meet the
    same world randomness at the same seed. ``on_run(done, total)`` reports progress.

    >>> from equirl.worlds.world_registry import make
    >>> table = simulate_many(make("riverswim", n_states=5), ["ucrl2-l", "random"], horizon=500, seeds=range(3))
    >>> len(table), sorted(table.final())
    (1200, ['random', 'ucrl2-l'])
    """
    named, seeds, jobs = _named(learners), _checked_seeds(seeds), whole_number("jobs", jobs)
    times = checkpoint_times(checkpoints, horizon)
    gain = solve(mdp).gain
    tasks = [(label, name, settings, seed) for label, (name, settings) in named.items() for seed in seeds]
    calls = [
        (mdp, name, settings, horizon, seed, times, gain, seed if common_random_numbers else None)
        for _, name, settings, seed in tasks
    ]
    jobs = min(jobs, len(calls))
    if jobs > 1:  # compiled once here, found in the cache by the workers
        for name, settings in named.values():
            simulate(mdp, name, 1, gain=gain, **settings)
    done: dict[int, dict[str, np.ndarray]] = {}
    with closing(_computed(calls, jobs)) as results:
        for place, result in results:
            done[place] = result
            if on_run is not None:
                on_run(len(done), len(tasks))
    return _assemble(tasks, [done[place] for place in range(len(tasks))], times)


def _computed(calls: list[tuple[Any, ...]], jobs: int) -> Generator[tuple[int, dict[str, np.ndarray]], None, None]:
    """The place and result of each call, as they come."""
    if jobs == 1:
        yield from ((place, _run(*call)) for place, call in enumerate(calls))
        return
    with LocalEngine(jobs).open() as executor:
        futures = {executor.submit(_run, *call): place for place, call in enumerate(calls)}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _checked_seeds(seeds: Iterable[int]) -> list[int]:
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds must be a list or range of integers, not {seeds!r}; for the first n, range(n)")
    checked = [whole_number("a seed", seed, least=0) for seed in seeds]
    if not checked:
        raise ValueError("seeds is empty; give at least one")
    if len(set(checked)) < len(checked):
        raise ValueError(f"seed {Counter(checked).most_common(1)[0][0]} is listed twice: its runs would be the same")
    return checked


def _named(learners: Learners) -> dict[str, tuple[str, dict[str, Any]]]:
    if isinstance(learners, str) or not isinstance(learners, Iterable):
        raise TypeError(f"learners must be a list; for one, write [{learners!r}]")
    by_label = isinstance(learners, Mapping)
    listed = list(learners.items()) if by_label else [(None, entry) for entry in learners]  # type: ignore
    if not listed:
        raise ValueError("learners is empty; give at least one")
    named: dict[str, tuple[str, dict[str, Any]]] = {}
    for given, entry in listed:
        name, settings = (entry, {}) if isinstance(entry, str) else _name_and_settings(entry)
        make_settings(name, **settings)
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
        raise TypeError(f"a learner to compare is its name or (name, settings), not {entry!r}") from None


def _run(
    mdp: TabularMDP,
    name: str,
    settings: dict[str, Any],
    horizon: int,
    seed: int,
    times: np.ndarray,
    gain: float,
    world_seed: int | None,
) -> dict[str, np.ndarray]:
    trace = simulate(mdp, name, horizon, seed, checkpoints=times, gain=gain, world_seed=world_seed, **settings)
    return {curve: getattr(trace, curve) for curve in CURVES}


def _assemble(
    tasks: list[tuple[str, str, dict[str, Any], int]], results: list[dict[str, np.ndarray]], times: np.ndarray
) -> TidyTable:
    columns = {
        "learner": np.repeat([label for label, *_ in tasks], len(times)),
        "seed": np.repeat([seed for *_, seed in tasks], len(times)),
        "t": np.tile(times, len(tasks)),
    }
    return TidyTable(columns | {curve: np.concatenate([result[curve] for result in results]) for curve in CURVES})
