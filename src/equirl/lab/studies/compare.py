"""Several learners and seeds in one MDP, simulator or environment, in one call: a quick comparison, without files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.saved_agents import SavedRun, check_folder, name_of, plan_saved, save_run
from equirl.lab.studies.tidy_table import TidyTable
from equirl.learners import GIVEN_KEYWORDS, Learner, make_settings, outside_modules
from equirl.model import TabularMDP
from equirl.simulation import Curves, checkpoint_times, simulate
from equirl.solving import AVERAGE_REWARD
from equirl.words.checking import check_callable, flag, several, whole_number
from equirl.words.formatting import shown

# A name, a name and settings, or one that goes on.
LearnerChoice = str | Learner | tuple[str | Learner, Mapping[str, Any]]


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
    save: str | os.PathLike[str] | None = None,
) -> TidyTable:
    """Play every learner with every seed.

    Parameters
    ----------
    mdp : TabularMDP
        The world.
    learners : sequence or mapping
        Names, (name, settings), or learners, each of which goes on from where it is; or {label: any of these}.
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
    save : path, optional
        A folder in which each run leaves its learner, its policy and classes as tables and its curves, in the units of
        the problem (:mod:`equirl.lab.studies.saved_agents`).

    Examples
    --------
    >>> from equirl.worlds import make
    >>> table = simulate_many(make("riverswim", n_states=5), ["ucrl2-l", "random"], horizon=500, seeds=range(3))
    >>> len(table), sorted(table.final())
    (1200, ['random', 'ucrl2-l'])
    """
    named, seeds, jobs = named_learners(learners), checked_seeds(seeds), whole_number("jobs", jobs)
    times, shared = checkpoint_times(checkpoints, horizon), flag("common_random_numbers", common_random_numbers)
    check_callable("on_run", on_run)
    plans = {} if save is None else plan_saved(mdp, named, seeds, horizon, shared)
    folder = None if save is None else check_folder(save, plans.values())
    task = _Task(mdp, AVERAGE_REWARD.optimum(mdp), horizon, times, shared, folder)
    calls = [
        (task, choice, settings, seed, plans.get((label, seed)), outside_modules(name_of(choice)))
        for label, (choice, settings) in named.items()
        for seed in seeds
    ]
    jobs = min(jobs, len(calls))
    if jobs > 1:  # compiled once here, found in the cache by the workers
        for choice, settings in named.values():
            simulate(mdp, choice, 1, gain=task.gain, **settings)
    done: dict[int, Curves] = {}
    with closing(_computed(calls, jobs)) as results:
        for place, result in results:
            done[place] = result
            if on_run is not None:
                on_run(len(done), len(calls))
    labels = {label: range(k * len(seeds), (k + 1) * len(seeds)) for k, label in enumerate(named)}
    return TidyTable({label: Curves.stack([done[k] for k in rows]) for label, rows in labels.items()}, tuple(seeds))


def play_many(
    make_env: Callable[[], Any],
    learners: Sequence[LearnerChoice] | Mapping[str, LearnerChoice],
    steps: int,
    seeds: Iterable[int] = range(10),
    *,
    reward_range: tuple[float, float] | None = None,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    common_random_numbers: bool = True,
    on_run: Callable[[int, int], None] | None = None,
) -> TidyTable:
    """Play every learner with every seed in an environment of its own.

    Parameters
    ----------
    make_env : function
        Makes a new environment or simulator, one for each run: ``lambda: gymnasium.make("Blackjack-v1")``.
    learners : sequence or mapping
        Names, or (name, settings), or {label: either}.
    steps : int
        Steps per run.
    reward_range : (float, float), optional
        As in :func:`equirl.play`.
    common_random_numbers : bool
        Whether all learners meet the environment with the same seed; otherwise each with one of its own.
    seeds, checkpoints, on_run : optional
        As in :func:`equirl.simulate_many`.

    Returns
    -------
    TidyTable
        With the curve ``reward`` and those of :func:`equirl.play`, in the user's units; there is no regret, since the
        best possible is not known.

    Examples
    --------
    >>> import gymnasium
    >>> table = play_many(lambda: gymnasium.make("FrozenLake-v1"), ["psrl", "random"], steps=300, seeds=range(2))
    >>> len(table), sorted(table.final("reward"))
    (800, ['psrl', 'random'])
    """
    from equirl.interop.play import play

    if not callable(make_env):
        raise TypeError(
            f"make_env must be a function that makes an environment, not {shown(make_env)}; use lambda: ..."
        )
    check_callable("on_run", on_run)
    steps = whole_number("steps", steps)
    named, seeds, times = named_learners(learners), checked_seeds(seeds), checkpoint_times(checkpoints, steps)
    shared, total = flag("common_random_numbers", common_random_numbers), len(named) * len(seeds)
    curves: dict[str, Curves] = {}
    for place, (label, (name, settings)) in enumerate(named.items()):
        runs = []
        for k, seed in enumerate(seeds):
            root = np.random.SeedSequence(seed, spawn_key=() if shared else (1, place))
            trace = play(make_env(), name, steps, root, reward_range=reward_range, checkpoints=times, **settings)
            runs.append(trace.curves)
            if on_run is not None:
                on_run(place * len(seeds) + k + 1, total)
        curves[label] = Curves.stack(runs)
    return TidyTable(curves, tuple(seeds))


def _computed(calls: list[tuple[Any, ...]], jobs: int) -> Generator[tuple[int, Curves], None, None]:
    if jobs == 1:
        yield from ((place, _run(*call)) for place, call in enumerate(calls))
        return
    with LocalEngine(jobs).open() as executor:
        futures = {executor.submit(_run, *call): place for place, call in enumerate(calls)}
        for future in as_completed(futures):
            yield futures[future], future.result()


def checked_seeds(seeds: Iterable[int]) -> list[int]:
    if not isinstance(seeds, Iterable) or (isinstance(seeds, np.ndarray) and seeds.ndim == 0):
        raise TypeError(f"seeds must be a list or range of integers, not {shown(seeds)}; for the first n, range(n)")
    checked = [whole_number("a seed", seed, least=0) for seed in seeds]
    if not checked:
        raise ValueError("seeds is empty; give at least one")
    if len(set(checked)) < len(checked):
        raise ValueError(f"seed {Counter(checked).most_common(1)[0][0]} is listed twice: its runs would be the same")
    return checked


def named_learners(learners: Any) -> dict[str, tuple[str | Learner, dict[str, Any]]]:
    """Names and settings of learners, or learners, by their labels."""
    if isinstance(learners, str) or not isinstance(learners, Iterable):
        raise TypeError(f"learners must be a list; for one, write [{shown(learners)}]")
    listed = (
        list(learners.items()) if isinstance(learners, Mapping) else [(None, k) for k in several("learners", learners)]
    )
    if not listed:
        raise ValueError("learners is empty; give at least one")
    named: dict[str, tuple[str | Learner, dict[str, Any]]] = {}
    for given, entry in listed:
        choice, settings = (entry, {}) if isinstance(entry, str | Learner) else _name_and_settings(entry)
        if isinstance(choice, str):
            make_settings(choice, **{key: value for key, value in settings.items() if key not in GIVEN_KEYWORDS})
        label = given or labelled(name_of(choice), settings)
        if label in named:
            raise ValueError(f"learner {label!r} is listed twice; give {{label: ...}} to tell them apart")
        named[label] = choice, settings
    return named


def labelled(name: str, settings: Mapping[str, Any]) -> str:
    return name + "".join(f" {key}={value}" for key, value in settings.items())


def _name_and_settings(entry: Any) -> tuple[str, dict[str, Any]]:
    try:
        name, settings = entry
        return name, dict(settings)
    except (TypeError, ValueError):
        raise TypeError(f"a learner to compare is its name or (name, settings), not {shown(entry)}") from None


class _Task(NamedTuple):
    mdp: TabularMDP
    gain: float
    horizon: int
    times: np.ndarray
    shared: bool  # whether learners meet the same randomness of the world at the same seed
    save: Path | None


def _run(
    task: _Task, choice: str | Learner, settings: dict[str, Any], seed: int, plan: SavedRun | None,
    modules: tuple[str, ...],  # that register learners of their own
) -> Curves:  # fmt: skip
    for module in modules:
        import_module(module)
    trace = simulate(
        task.mdp, choice, task.horizon, seed, checkpoints=task.times, gain=task.gain,
        world_seed=seed if task.shared else None, **settings,
    )  # fmt: skip
    if task.save is not None and plan is not None:
        save_run(task.save, plan, task.mdp, trace)
    return trace.curves
