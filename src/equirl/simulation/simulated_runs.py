"""Playing a learner in a known MDP: compiled stretches of steps, planning in Python between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equirl.learners.contract import Learner
from equirl.model.mdp import TabularMDP
from equirl.numerics.seeding import Seed
from equirl.simulation.live_run import LiveRun
from equirl.simulation.trace import Trace
from equirl.words.checking import check_callable


def simulate(
    mdp: TabularMDP,
    agent: str | Learner,
    horizon: int,
    seed: Seed = 0,
    *,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    measure_clustering: bool = False,
    callback: Callable[[Learner], bool | None] | None = None,
    world_seed: Seed | None = None,
    gain: float | None = None,
    epsilon: float = 0.01,
    **settings: Any,
) -> Trace:
    """Play a learner in ``mdp`` for ``horizon`` steps. A run is a pure function of its arguments.

    Parameters
    ----------
    mdp : TabularMDP
        What is played.
    agent : str or Learner
        A name, or a learner, which is copied and never changed.
    horizon : int
        The number of steps.
    seed : int or SeedSequence
        From which all randomness follows.
    checkpoints : int, "log" or sequence of int
        Where curves are recorded: how many, evenly spaced; ``"log"``; or increasing times ending at the horizon.
    measure_clustering : bool
        Also record the mis-clustering ratio and bias against the true classes.
    callback : function, optional
        Called with the learner at the start of each episode; the run stops where it returns True. An exception in it,
        or Ctrl-C, carries the trace so far as its attribute ``trace``.
    world_seed : int or SeedSequence, optional
        The world's randomness from this seed alone, so that learners can share it.
    gain : float, optional
        The optimal gain g*, where it is known already.
    epsilon : float
        For a learner with a discount: a step counts for its sample complexity where the values of its policy, times
        (1 - discount), are further than this below the optimal ones.
    **settings
        Settings of a learner given by name; also ``classes``, ``profiles``, ``order`` and ``tolerance`` of
        :func:`equirl.agent_for`, where it is handed classes. And ``until``, for every learner: what ends the run
        before its horizon, as a dict or text (:class:`equirl.simulation.until.Until`), such as ``until="gap=0.01"``:
        no policy earns more by 0.01 a step than the one recommended, with probability 0.95.

    Returns
    -------
    Trace
        Curves at the checkpoints, and the learner as the run left it.

    Examples
    --------
    >>> from equirl.worlds.world_registry import make
    >>> trace = simulate(make("riverswim", n_states=6), "ucrl2-l", horizon=1000, seed=1)
    >>> int(trace.t[-1]), len(trace.regret)
    (1000, 200)
    """
    check_callable("callback", callback)
    run = LiveRun(
        mdp, agent, horizon, seed, checkpoints=checkpoints, measure_clustering=measure_clustering,
        world_seed=world_seed, gain=gain, epsilon=epsilon, settings=settings,
    )  # fmt: skip
    try:
        while run.goes_on:
            run.advance(callback)
    except BaseException as error:
        so_far = run.give_up()
        if so_far is not None:
            keep_trace(error, so_far)
        raise
    return run.trace()


def keep_trace(error: BaseException, trace: Trace) -> None:
    """Hang what a run has recorded on the exception that ends it."""
    error.trace = trace  # type: ignore[attr-defined]
    error.add_note(f"the run up to step {int(trace.t[-1])} is kept in the attribute 'trace' of this exception")
