"""Playing a learner in a known MDP: compiled stretches of steps, planning in Python between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equirl.core.checking import between, check_callable, flag, inside
from equirl.core.formatting import shown
from equirl.core.seeding import Seed, seed_sequence
from equirl.learners.contract import Learner
from equirl.learners.learner_registry import agent_for
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.simulation.rollout import Rollout
from equirl.simulation.trace import Recorder, Trace, checkpoint_times
from equirl.simulation.until import Watch, until


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
        Settings of a learner given by name; also ``classes``, ``profiles`` and ``tolerance`` of
        :func:`equirl.agent_for`, where it is handed classes. And ``until``, for every learner: what ends the run before
        its horizon, as a dict or text (:class:`equirl.simulation.until.Until`), such as ``until="gap=0.01"``: no
        policy earns more by 0.01 a step than the one recommended, with probability 0.95.

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
    marks, rule = checkpoint_times(checkpoints, horizon), until(settings.pop("until", None))
    check_callable("callback", callback)
    inside("epsilon", epsilon)
    check_mdp(mdp)
    world_root, agent_root = seed_sequence("seed", seed).spawn(2)
    if world_seed is not None:
        world_root = seed_sequence("world_seed", world_seed)
    learner = _prepare(mdp, agent, agent_root, settings)
    criterion = learner.criterion
    optimum = criterion.optimum(mdp) if gain is None else between("gain", gain)
    rollout = Rollout(mdp, world_root)
    learner.settle(rollout.state)
    measured = flag("measure_clustering", measure_clustering)
    recorder, watch = Recorder(mdp, learner, marks, measured, epsilon), Watch(rule, learner, mdp.reward_map[0])
    try:
        _play(rollout, learner, recorder, int(horizon), callback, watch)
    except BaseException as error:
        if recorder.end_early():
            keep_trace(error, recorder.trace(criterion, optimum, watch))
        raise
    recorder.end_early()
    return recorder.trace(criterion, optimum, watch)


def keep_trace(error: BaseException, trace: Trace) -> None:
    """Hang what a run has recorded on the exception that ends it.

    Parameters
    ----------
    error : BaseException
        What was raised.
    trace : Trace
        The run so far.
    """
    error.trace = trace  # type: ignore[attr-defined]
    error.add_note(f"the run up to step {int(trace.t[-1])} is kept in the attribute 'trace' of this exception")


def _prepare(mdp: TabularMDP, agent: str | Learner, seed: np.random.SeedSequence, settings: dict[str, Any]) -> Learner:
    if isinstance(agent, str):
        return agent_for(mdp, agent, seed, **settings)
    if not isinstance(agent, Learner):
        raise TypeError(f"agent must be a name or a learner, not {shown(agent)}")
    if settings:
        raise TypeError(f"settings ({', '.join(settings)}) go with a learner's name, not with a learner")
    same = np.array_equal(agent.pairs.ptr, mdp.pairs.ptr) and np.array_equal(agent.pairs.action, mdp.pairs.action)
    if not same:
        raise ValueError(f"{agent!r} was made for other states or actions than {mdp!r} has")
    if agent.reward_map not in ((1.0, 0.0), mdp.reward_map):
        raise ValueError(f"{agent!r} has another reward_range than {mdp!r}; simulate pays rewards in [0, 1]")
    return agent.copy()


def _play(
    rollout: Rollout,
    learner: Learner,
    recorder: Recorder,
    horizon: int,
    callback: Callable[[Learner], bool | None] | None,
    watch: Watch,
) -> None:
    last = learner.t + horizon - 1
    while learner.t <= last:
        t, episodes = learner.t, learner.n_episodes
        stretch = learner.decide(rollout.state)
        if callback is not None and learner.n_episodes > episodes and callback(learner):
            watch.reason = "the callback said so"
            return
        path, rewards = rollout.play(stretch, last - t + 1)
        learner.record(path, rewards, rollout.state)
        if learner.t != t + len(path):
            raise RuntimeError(f"{learner.name!r} recorded {len(path)} steps and went from t = {t} to {learner.t}")
        recorder.add(t, stretch.policy, path, rewards)
        if watch.stops(rollout.state):
            return
