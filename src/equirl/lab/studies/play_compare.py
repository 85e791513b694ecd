"""Several learners and seeds in one simulator or environment, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from equirl.interop.play import play
from equirl.lab.studies.compare import LearnerChoice, checked_seeds, named_learners
from equirl.lab.studies.tidy_table import TidyTable
from equirl.simulation import Curves, checkpoint_times
from equirl.words.checking import check_callable, flag, whole_number
from equirl.words.formatting import shown


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
    seeds : iterable of int
        One run of each learner for each; all different.
    reward_range : (float, float), optional
        As in :func:`equirl.play`.
    checkpoints : int, "log" or sequence of int
        Where curves are recorded, as in :func:`equirl.simulate`.
    common_random_numbers : bool
        Whether all learners meet the environment with the same seed; otherwise each with one of its own.
    on_run : callable, optional
        Called as ``on_run(done, total)`` after each run.

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
