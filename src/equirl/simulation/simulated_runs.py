"""Playing a learner in a known MDP: compiled stretches of steps, planning in Python between them.

``simulate`` plays a run to its end; whoever wants to watch, pause or give up one drives a ``LiveRun`` stretch by
stretch, with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from equirl.learners.contract import UNLIMITED, Learner, settle
from equirl.learners.learner_registry import agent_for
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.model.pairs import Pairs
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.simulation.curves import Curves
from equirl.simulation.rollout import Rollout
from equirl.simulation.trace import Recorder, Trace, checkpoint_times, trace_since
from equirl.simulation.until import Watch, until
from equirl.solving.policies import policy_pairs
from equirl.words.checking import between, check_callable, flag, inside
from equirl.words.formatting import shown
from equirl.words.progress_bar import Advance, progress_called

EPSILON = 0.01  # how far below the optimal values those of a policy may be before its steps count as bad
JUDGE_AGAIN = 1.05  # factor between the times, beside checkpoints, at which a policy that changes at any step is judged


class LiveRun:
    """A learner being played in an MDP; :meth:`advance` plays one stretch.

    ``policy``: the pair per state of the stretch played last; empty where actions are drawn at random, and before the
    first.

    >>> from equirl.worlds.world_registry import make
    >>> run = LiveRun(make("riverswim", n_states=6), "ucrl2-l", 1000, seed=1)
    >>> while run.goes_on:
    ...     path = run.advance()
    >>> run.steps, run.trace().n_episodes == run.agent.n_episodes
    (1000, True)
    """

    def __init__(
        self,
        mdp: TabularMDP,
        agent: str | Learner,
        horizon: int,
        seed: Seed = 0,
        *,
        checkpoints: int | str | Sequence[int] | np.ndarray = 200,
        measure_clustering: bool = False,
        world_seed: Seed | None = None,
        unit_gain: float | None = None,
        epsilon: float = EPSILON,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        own = dict(settings or {})
        marks, rule = checkpoint_times(checkpoints, horizon), until(own.pop("until", None))
        inside("epsilon", epsilon)
        check_mdp(mdp)
        world_root, agent_root = seed_sequence("seed", seed).spawn(2)
        if world_seed is not None:
            world_root = seed_sequence("world_seed", world_seed)
        self.agent = _prepare(mdp, agent, agent_root, own)
        self._criterion = self.agent.criterion
        self._optimum = self._criterion.optimum(mdp) if unit_gain is None else unit_gain
        self._rollout = Rollout(mdp, world_root)
        settle(self.agent, self._rollout.state)
        self._recorder = Recorder(mdp, self.agent, marks, flag("measure_clustering", measure_clustering), epsilon)
        self._watch, self._stopped = Watch(rule, self.agent), False
        self._before, self.horizon = self.agent.t - 1, int(horizon)
        self.policy = self._judged = np.zeros(0, np.int64)  # the latter is the one that values are measured of
        self._judge_at = 1

    @property
    def steps(self) -> int:
        return self.agent.t - 1 - self._before

    @property
    def goes_on(self) -> bool:
        """Whether the horizon is ahead, and nothing has stopped the run before it."""
        return not self._stopped and self.steps < self.horizon

    def advance(self, callback: Callable[[Learner], bool | None] | None = None, most: int = UNLIMITED) -> np.ndarray:
        """Play what the learner decides, to the end of its stretch or what fits into a block of it.

        A learner that decides anew at every step, in a loop of its own, plays up to a checkpoint, or ``most`` steps.
        """
        agent, rollout = self.agent, self._rollout
        t, episodes = agent.t, agent.n_episodes
        if not self.goes_on:
            return np.zeros(0, np.int64)
        if callback is not None and self.steps:
            self._recorder.hold()  # an episode that the callback ends before its first step is not measured
        if agent.own_loop and len(path := self._play_steps(most)):
            return path
        stretch = agent.decide(rollout.state)
        if callback is not None and agent.n_episodes > episodes and callback(agent):
            self._watch.reason, self._stopped = "the callback said so", True
            return np.zeros(0, np.int64)
        path, rewards = rollout.play(stretch, self.horizon - self.steps)
        agent.record(path, rewards, rollout.state)
        self._note(t, stretch.policy, path, rewards)
        self.policy = stretch.policy
        return path

    def _play_steps(self, most: int) -> np.ndarray:
        """Let the learner play in its own loop. Its policy, which changes at any step, is looked at now and then."""
        agent, recorder, t, mark = self.agent, self._recorder, self.agent.t, self._recorder.mark
        if not len(self._judged):
            self._judged = policy_pairs(agent.pairs, agent.beliefs.greedy_policy())
        path, rewards = self._rollout.play_steps(
            agent, min(most, recorder.steps_to_mark(), self._judge_at - self.steps)
        )
        if len(path):
            self._note(t, self._judged, path, rewards)
            self.policy = policy_pairs(agent.pairs, agent.beliefs.greedy_policy())
            if recorder.mark > mark or self.steps == self._judge_at:
                self._judged, self._judge_at = self.policy, max(self.steps + 1, int(JUDGE_AGAIN * self.steps))
        return path

    def _note(self, t: int, policy: np.ndarray, path: np.ndarray, rewards: np.ndarray) -> None:
        agent = self.agent
        if agent.t != t + len(path):
            raise RuntimeError(f"{agent.name!r} recorded {len(path)} steps and went from t = {t} to {agent.t}")
        self._recorder.add(t, policy, path, rewards)
        self._stopped = self._watch.stops(self._rollout.state)

    def unit_curves(self) -> Curves:
        """The curves up to the last checkpoint passed, with rewards in [0, 1]."""
        return self._recorder.curves(self._criterion, self._optimum)

    def curves(self) -> Curves:
        """The same in the units of the problem's rewards."""
        return self.unit_curves().in_units(self.agent.reward_map)

    def finish(
        self, callback: Callable[[Learner], bool | None] | None = None, progress: bool | Advance | None = None
    ) -> Trace:
        """Play to the end; what ends it before carries the trace so far as its attribute ``trace``."""
        try:
            with progress_called(progress, self.agent.name) as advanced:
                while self.goes_on:
                    passed = self._recorder.mark
                    self.advance(callback)
                    if self._recorder.mark > passed:
                        advanced(self.steps, self.horizon)
        except BaseException as error:
            so_far = self.give_up()
            if so_far is not None:
                keep_trace(error, so_far)
            raise
        return self.trace()

    def trace(self) -> Trace:
        if self.goes_on:
            raise ValueError(f"the run is at step {self.steps} of {self.horizon}; its trace comes at the end")
        self._recorder.end_early()
        curves = self.curves(), self.unit_curves()
        return trace_since(self._recorder.since, self.agent, curves, self._optimum, self._watch)

    def give_up(self) -> Trace | None:
        """End the run where it is."""
        self._stopped = True
        return self.trace() if self._recorder.end_early() else None


def _prepare(mdp: TabularMDP, agent: str | Learner, seed: np.random.SeedSequence, settings: dict[str, Any]) -> Learner:
    if isinstance(agent, str):
        return agent_for(mdp, agent, seed, **settings)
    twin = twin_for(agent, mdp.pairs, mdp, settings)
    if agent.reward_map not in ((1.0, 0.0), mdp.reward_map):
        raise ValueError(f"{agent!r} has another reward_range than {mdp!r}: neither its own nor (0, 1)")
    twin.reward_map = mdp.reward_map
    return twin


def twin_for(agent: Learner, pairs: Pairs, problem: object, settings: Mapping[str, Any]) -> Learner:
    """A copy of an agent, to be played in a problem; an error where it was made for another one."""
    if not isinstance(agent, Learner):
        raise TypeError(f"agent must be a name or a learner, not {shown(agent)}")
    if settings:
        raise TypeError(f"settings ({', '.join(settings)}) go with a learner's name, not with a learner")
    if not (np.array_equal(agent.pairs.ptr, pairs.ptr) and np.array_equal(agent.pairs.action, pairs.action)):
        raise ValueError(f"{agent!r} was made for other states or actions than {problem!r} has")
    return agent.copy()


def simulate(
    mdp: TabularMDP,
    agent: str | Learner,
    horizon: int,
    seed: Seed = 0,
    *,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    measure_clustering: bool = False,
    callback: Callable[[Learner], bool | None] | None = None,
    progress: bool | Advance = False,
    world_seed: Seed | None = None,
    gain: float | None = None,
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
    progress : bool or function
        True shows a bar on a terminal or in a notebook; a function is called as ``progress(done, horizon)`` at
        checkpoints.
    world_seed : int or SeedSequence, optional
        The world's randomness from this seed alone, so that learners can share it.
    gain : float, optional
        The optimal gain g*, where it is known already, in the units of the problem.
    **settings
        Settings of a learner given by name; also ``classes``, ``profiles``, ``order`` and ``tolerance`` of
        :func:`equirl.agent_for`, where it is given classes. And ``until``, for every learner: what ends the run
        before its horizon, as a dict or text (:class:`equirl.simulation.until.Until`), such as ``until="gap=0.01"``:
        no policy earns more by 0.01 a step than the one recommended, with probability 0.95. And ``epsilon`` (0.01),
        for a learner with a discount: a step counts for its sample complexity where the values of its policy, times
        (1 - discount), are further than this below the optimal ones, of rewards in [0, 1].

    Examples
    --------
    >>> from equirl.worlds.world_registry import make
    >>> trace = simulate(make("riverswim", n_states=6), "ucrl2-l", horizon=1000, seed=1)
    >>> int(trace.t[-1]), len(trace.regret)
    (1000, 200)
    """
    check_callable("callback", callback)
    check_mdp(mdp)
    scale, shift = mdp.reward_map
    run = LiveRun(
        mdp, agent, horizon, seed, checkpoints=checkpoints, measure_clustering=measure_clustering,
        world_seed=world_seed, epsilon=settings.pop("epsilon", EPSILON), settings=settings,
        unit_gain=None if gain is None else (between("gain", gain, shift, shift + scale) - shift) / scale,
    )  # fmt: skip
    return run.finish(callback, progress)


def keep_trace(error: BaseException, trace: Trace) -> None:
    """Hang what a run has recorded on the exception that ends it."""
    error.trace = trace  # type: ignore[attr-defined]
    error.add_note(f"the run up to step {int(trace.t[-1])} is kept in the attribute 'trace' of this exception")
