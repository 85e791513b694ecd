"""A run under way: a learner in a known MDP, played stretch by stretch. ``simulate`` plays one to its end.

Whoever wants to watch, pause or give up a run drives it; the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from equirl.learners.contract import Learner, settle
from equirl.learners.learner_registry import agent_for
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.simulation.curves import Curves
from equirl.simulation.rollout import Rollout
from equirl.simulation.trace import Recorder, Trace, checkpoint_times
from equirl.simulation.until import Watch, until
from equirl.words.checking import between, flag, inside
from equirl.words.formatting import shown


class LiveRun:
    """A learner being played in an MDP; :meth:`advance` plays one stretch.

    Attributes
    ----------
    learner : Learner
        As it is now.
    policy : array of int64
        The pair per state of the stretch played last; empty where actions are drawn at random, and before the first.

    Examples
    --------
    >>> from equirl.worlds.world_registry import make
    >>> run = LiveRun(make("riverswim", n_states=6), "ucrl2-l", 1000, seed=1)
    >>> while run.goes_on:
    ...     path = run.advance()
    >>> run.steps, run.trace().n_episodes == run.learner.n_episodes
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
        gain: float | None = None,
        epsilon: float = 0.01,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        own = dict(settings or {})
        marks, rule = checkpoint_times(checkpoints, horizon), until(own.pop("until", None))
        inside("epsilon", epsilon)
        check_mdp(mdp)
        world_root, agent_root = seed_sequence("seed", seed).spawn(2)
        if world_seed is not None:
            world_root = seed_sequence("world_seed", world_seed)
        self.learner = _prepare(mdp, agent, agent_root, own)
        self._criterion = self.learner.criterion
        self._optimum = self._criterion.optimum(mdp) if gain is None else between("gain", gain)
        self._rollout = Rollout(mdp, world_root)
        settle(self.learner, self._rollout.state)
        self._recorder = Recorder(mdp, self.learner, marks, flag("measure_clustering", measure_clustering), epsilon)
        self._watch, self._stopped = Watch(rule, self.learner, mdp.reward_map[0]), False
        self._before, self.horizon = self.learner.t - 1, int(horizon)
        self.policy = np.zeros(0, np.int64)

    @property
    def steps(self) -> int:
        """How many steps of this run were played."""
        return self.learner.t - 1 - self._before

    @property
    def goes_on(self) -> bool:
        """Whether the horizon is ahead, and nothing has stopped the run before it."""
        return not self._stopped and self.steps < self.horizon

    def advance(self, callback: Callable[[Learner], bool | None] | None = None) -> np.ndarray:
        """Play what the learner decides, to the end of its stretch or what fits into a block of it."""
        learner, rollout = self.learner, self._rollout
        t, episodes = learner.t, learner.n_episodes
        if not self.goes_on:
            return np.zeros(0, np.int64)
        stretch = learner.decide(rollout.state)
        if callback is not None and learner.n_episodes > episodes and callback(learner):
            self._watch.reason, self._stopped = "the callback said so", True
            return np.zeros(0, np.int64)
        path, rewards = rollout.play(stretch, self.horizon - self.steps)
        learner.record(path, rewards, rollout.state)
        if learner.t != t + len(path):
            raise RuntimeError(f"{learner.name!r} recorded {len(path)} steps and went from t = {t} to {learner.t}")
        self._recorder.add(t, stretch.policy, path, rewards)
        self.policy = stretch.policy
        self._stopped = self._watch.stops(rollout.state)
        return path

    def curves(self) -> Curves:
        """The curves up to the last checkpoint passed."""
        return self._recorder.curves(self._criterion, self._optimum)

    def trace(self) -> Trace:
        """The trace of a run that is over."""
        if self.goes_on:
            raise ValueError(f"the run is at step {self.steps} of {self.horizon}; its trace comes at the end")
        self._recorder.end_early()
        return self._recorder.trace(self._criterion, self._optimum, self._watch)

    def give_up(self) -> Trace | None:
        """End the run where it is."""
        self._stopped = True
        return self.trace() if self._recorder.end_early() else None


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
