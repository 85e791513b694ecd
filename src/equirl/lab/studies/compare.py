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

from equirl.interop.encoder import Encoder
from equirl.interop.play import play
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.saved_agents import SavedRun, check_folder, name_of, plan_saved, save_run
from equirl.lab.studies.tidy_table import TidyTable
from equirl.learners import GIVEN_KEYWORDS, Learner, make_settings, outside_modules
from equirl.model import TabularMDP
from equirl.simulation import Curves, LiveRun, checkpoint_times
from equirl.solving import AVERAGE_REWARD
from equirl.words.checking import flag, several, whole_number
from equirl.words.formatting import shown
from equirl.words.progress_bar import Advance, progress_called

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
    progress: bool | Advance = False,
    save: str | os.PathLike[str] | None = None,
) -> TidyTable:
    """Play every learner with every seed; rewards and regret are in the units of the problem.

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
    progress : bool or function
        True shows a bar on a terminal or in a notebook; a function is called as ``progress(done, total)`` after each
        run.
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
            LiveRun(mdp, choice, 1, unit_gain=task.unit_gain, settings=settings).finish()
    return _tidy(_run, calls, jobs, named, seeds, progress)


def play_many(
    env: Any,
    learners: Sequence[LearnerChoice] | Mapping[str, LearnerChoice],
    steps: int,
    seeds: Iterable[int] = range(10),
    *,
    jobs: int = 1,
    reward_range: tuple[float, float] | None = None,
    encoder: Encoder | None = None,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    common_random_numbers: bool = True,
    progress: bool | Advance = False,
) -> TidyTable:
    """Play every learner with every seed in an environment or simulator.

    Parameters
    ----------
    env : function, Simulator, gymnasium.Env or TabularMDP
        What is played: as :func:`equirl.play` takes it, reset with a new seed for each run; or a function that makes a
        new one for each: ``lambda: gymnasium.make("Blackjack-v1")``.
    learners : sequence or mapping
        Names, or (name, settings), or {label: either}.
    steps : int
        Steps per run.
    jobs : int
        Processes; the numbers do not depend on them. What is played must then be something that other processes can
        import: functions and classes of a module.
    reward_range, encoder : optional
        As in :func:`equirl.play`.
    common_random_numbers : bool
        Whether all learners meet the environment with the same seed; otherwise each with one of its own.
    seeds, checkpoints, progress : optional
        As in :func:`equirl.simulate_many`.

    Returns
    -------
    TidyTable
        With the curve ``reward`` and those of :func:`equirl.play`, in the user's units; there is no regret, since the
        best possible is not known.

    Examples
    --------
    >>> import gymnasium
    >>> table = play_many(gymnasium.make("FrozenLake-v1"), ["psrl", "random"], steps=300, seeds=range(2))
    >>> len(table), sorted(table.final("reward"))
    (800, ['psrl', 'random'])
    """
    steps, jobs = whole_number("steps", steps), whole_number("jobs", jobs)
    named, seeds, times = named_learners(learners), checked_seeds(seeds), checkpoint_times(checkpoints, steps)
    shared, made = flag("common_random_numbers", common_random_numbers), callable(env) and not hasattr(env, "step")
    if made and jobs > 1 and "<" in getattr(env, "__qualname__", ""):
        raise ValueError(
            f"env cannot be sent to {jobs} processes: a function of a module can (def make_env(): ...), not "
            f"{shown(env)}; or play with jobs=1"
        )
    task = _Play(env, made, steps, times, reward_range, encoder)
    calls = [
        (task, choice, settings, np.random.SeedSequence(seed, spawn_key=() if shared else (1, place)),
         outside_modules(name_of(choice)))
        for place, (choice, settings) in enumerate(named.values())
        for seed in seeds
    ]  # fmt: skip
    return _tidy(_play_run, calls, min(jobs, len(calls)), named, seeds, progress)


def _tidy(
    run: Callable[..., Curves], calls: list[tuple[Any, ...]], jobs: int, named: Iterable[str], seeds: list[int],
    progress: bool | Advance,
) -> TidyTable:  # fmt: skip
    """The table of runs, learner by learner and seed by seed as the calls are."""
    done: dict[int, Curves] = {}
    with progress_called(progress, "runs") as advanced, closing(_computed(run, calls, jobs)) as results:
        for place, result in results:
            done[place] = result
            advanced(len(done), len(calls))
    labels = {label: range(k * len(seeds), (k + 1) * len(seeds)) for k, label in enumerate(named)}
    return TidyTable({label: Curves.stack([done[k] for k in rows]) for label, rows in labels.items()}, tuple(seeds))


def _computed(
    run: Callable[..., Curves], calls: list[tuple[Any, ...]], jobs: int
) -> Generator[tuple[int, Curves], None, None]:
    if jobs == 1:
        yield from ((place, run(*call)) for place, call in enumerate(calls))
        return
    with LocalEngine(jobs).open() as executor:
        futures = {executor.submit(run, *call): place for place, call in enumerate(calls)}
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
    unit_gain: float
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
    trace = LiveRun(
        task.mdp, choice, task.horizon, seed, checkpoints=task.times, unit_gain=task.unit_gain,
        world_seed=seed if task.shared else None, settings=settings,
    ).finish()  # fmt: skip
    if task.save is not None and plan is not None:
        save_run(task.save, plan, trace)
    return trace.curves


class _Play(NamedTuple):
    env: Any
    made: bool  # whether it is a function that makes one
    steps: int
    times: np.ndarray
    reward_range: tuple[float, float] | None
    encoder: Encoder | None


def _play_run(
    task: _Play, choice: str | Learner, settings: dict[str, Any], seed: np.random.SeedSequence,
    modules: tuple[str, ...],
) -> Curves:  # fmt: skip
    for module in modules:
        import_module(module)
    env = task.env() if task.made else task.env
    return play(
        env, choice, task.steps, seed, reward_range=task.reward_range, checkpoints=task.times, encoder=task.encoder,
        **settings,
    ).curves  # fmt: skip
