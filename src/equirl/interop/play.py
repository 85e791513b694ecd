"""Playing a learner in a simulator or a Gymnasium environment: one step at a time, nothing known of what is inside."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equirl.interop.encoder import Encoder
from equirl.interop.simulators import Playable, simulator_of
from equirl.interop.vector_simulator import VectorSimulator, is_vector, vector_of
from equirl.learners.contract import InUse, Learner, pair_played, settle, unit_reward
from equirl.learners.learner_registry import agent_on_pairs
from equirl.model.reward_distributions import reward_map_of
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.simulation.curves import Curves
from equirl.simulation.simulated_runs import keep_trace, twin_for
from equirl.simulation.trace import Trace, checkpoint_times, done_so_far, trace_since
from equirl.simulation.until import Watch, until
from equirl.words.checking import check_callable, checked_path, whole_number
from equirl.words.progress_bar import Advance, progress_called

OWN_CURVES = ("reward", "restarts", "seconds")


def play(
    env: Any,
    agent: str | Learner,
    steps: int,
    seed: Seed = 0,
    *,
    reward_range: tuple[float, float] | None = None,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    callback: Callable[[Learner], bool | None] | None = None,
    progress: bool | Advance = False,
    save: str | os.PathLike[str] | None = None,
    encoder: Encoder | None = None,
    **settings: Any,
) -> Trace:
    """Play a learner in a simulator, or in a Gymnasium environment.

    A step that is *terminated* leads to where the next episode begins, and that is learned: rewards are averaged over
    all episodes. One that is merely *truncated* (a time limit) is learned as it was, and the jump that follows is not.

    Parameters
    ----------
    env : gymnasium.Env, gymnasium.vector.VectorEnv, Simulator or TabularMDP
        What is played. Observations and actions may be ``Discrete``, ``MultiDiscrete``, ``Tuple`` or ``Dict`` of such;
        others go with an ``encoder``. Of a vector of environments all are played by the one learner, and every step of
        each counts.
    agent : str or Learner
        A name, or a learner, which is copied and never changed.
    steps : int
        The number of steps.
    seed : int or SeedSequence
        From which all randomness follows, the environment's too.
    reward_range : (float, float), optional
        The least and the largest reward there can be; default (0, 1), or that of the simulator or the learner given.
    checkpoints : int, "log" or sequence of int
        Where curves are recorded, as in :func:`equirl.simulate`.
    callback : function, optional
        Called with the learner at the start of each of its episodes; where it returns True the run stops. An exception
        in it, or Ctrl-C, carries the trace so far as its attribute ``trace``.
    progress : bool or function
        True shows a bar on a terminal or in a notebook; a function is called as ``progress(done, steps)`` at every
        checkpoint.
    save : path, optional
        Where the learner is saved at every checkpoint; ``play(env, equirl.load_agent(path), ...)`` goes on from there.
    encoder : Encoder, optional
        Of the observations, such as ``Encoder(env.observation_space, bins=10)`` for a ``Box``.
    **settings
        Settings of a learner given by name, and ``classes``, ``profiles``, ``order`` or ``mean_rewards`` where it is
        given them; also ``until``, as in :func:`equirl.simulate`.

    Returns
    -------
    Trace
        Curves ``reward`` (received so far, in the user's units), ``restarts`` (episodes of the environment ended so
        far), ``seconds``, and those of the learner; and the learner as the run left it.

    Examples
    --------
    >>> import gymnasium
    >>> trace = play(gymnasium.make("FrozenLake-v1"), "c-psrl", steps=500, seed=0)
    >>> int(trace.t[-1]), trace.curves.names[:3]
    (500, ('reward', 'restarts', 'seconds'))
    """
    steps = whole_number("steps", steps)
    marks, rule = checkpoint_times(checkpoints, steps), until(settings.pop("until", None))
    check_callable("callback", callback)
    save = None if save is None else checked_path("save", save)
    scale, shift = agent.reward_map if isinstance(agent, Learner) else (1.0, 0.0)
    of_env: Any = vector_of if is_vector(env) else simulator_of
    simulator = of_env(env, reward_range, (shift, shift + scale), encoder)
    world_root, agent_root = seed_sequence("seed", seed).spawn(2)
    learner = _prepare(simulator, agent, agent_root, settings)
    recorder = PlayRecorder(learner, marks, save)
    watch = Watch(rule, learner)
    through = _play_vector if is_vector(env) else _play
    try:
        with InUse(learner), progress_called(progress, learner.name) as recorder.progress:
            through(simulator, learner, recorder, world_root, callback, watch)
    except BaseException as error:
        if recorder.end_early():
            keep_trace(error, recorder.trace(watch))
        raise
    recorder.end_early()
    return recorder.trace(watch)


class PlayRecorder:
    """Fills the curves of a trace as a run goes, step by step."""

    def __init__(
        self,
        learner: Learner,
        marks: np.ndarray,
        save: str | os.PathLike[str] | None,
    ) -> None:
        self.learner, self.marks, self.save = learner, marks.tolist(), save
        self.progress: Advance | None = None
        self.done, self.reward, self.restarts, self.begin = 0, 0.0, 0, time.perf_counter()
        self.since = done_so_far(learner)
        self.rows: list[dict[str, float]] = []  # a dict per checkpoint passed

    @property
    def goes_on(self) -> bool:
        return self.done < self.marks[-1]

    def add(self, reward: float, restarted: bool) -> None:
        """Write down a step; call it once the learner has recorded it."""
        self.done += 1
        self.reward += reward
        self.restarts += restarted
        if self.done == self.marks[len(self.rows)]:
            self._note()

    def _note(self) -> None:
        own = dict(zip(OWN_CURVES, (self.reward, self.restarts, time.perf_counter() - self.begin), strict=True))
        self.rows.append({**own, **self.learner.beliefs.measures()})
        if self.save is not None:
            self.learner.save(self.save)
        if self.progress is not None:
            self.progress(self.done, self.marks[-1])

    def end_early(self) -> bool:
        """Make the last step recorded the last checkpoint; False where there is none."""
        n = len(self.rows)
        if n < len(self.marks):
            if self.done > (self.marks[n - 1] if n else 0):
                self.progress = None
                self._note()
                self.marks[n] = self.done
            del self.marks[len(self.rows) :]
        return bool(self.rows)

    def trace(self, watch: Watch) -> Trace:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        curves = {name: np.array([row.get(name, math.nan) for row in self.rows]) for name in names}
        recorded = Curves.of_run(np.array(self.marks, np.int64), curves)
        scale, shift = self.learner.reward_map
        both = recorded, recorded.in_units((1 / scale, -shift / scale))
        return trace_since(self.since, self.learner, both, math.nan, watch)


def _prepare(env: Playable, agent: str | Learner, seed: np.random.SeedSequence, settings: dict[str, Any]) -> Learner:
    if isinstance(agent, str):
        remedy = f", which a simulator does not show; simulate(mdp, {agent!r})"
        return agent_on_pairs(agent, env.pairs, reward_map_of(env.reward_range), seed, remedy, **settings)
    twin = twin_for(agent, env.pairs, env, settings)
    if not np.allclose(agent.reward_map, reward_map_of(env.reward_range), rtol=1e-12, atol=1e-12 * agent.reward_map[0]):
        raise ValueError(f"{agent!r} has another reward_range than {env!r}; give play(..., reward_range=...) the same")
    return twin


def _play(
    env: Playable,
    learner: Learner,
    recorder: PlayRecorder,
    seed: np.random.SeedSequence,
    callback: Callable[[Learner], bool | None] | None,
    watch: Watch,
) -> None:
    pairs, state = learner.pairs, env.reset(seed)
    settle(learner, state)
    while recorder.goes_on:
        pair = _decided(learner, state, 0, callback, watch)
        if pair is None:
            return
        outcome = env.step(pair)
        reward = outcome.reward.item() if isinstance(outcome.reward, np.generic) else outcome.reward
        value = unit_reward(reward, learner.reward_map, pairs, pair)
        ended = outcome.terminated or outcome.truncated
        following = env.reset() if ended else outcome.state
        _learn(learner, pair, value, following if outcome.terminated else outcome.state)
        recorder.add(float(reward), ended)
        state = following
        if watch.rule is not None and watch.stops(state):
            return


def _decided(
    learner: Learner, state: int, step: int, callback: Callable[[Learner], bool | None] | None, watch: Watch
) -> int | None:
    """The pair to play; None where the callback, asked when a new episode starts, ends the run."""
    episodes = learner.n_episodes
    stretch = learner.decide(state)
    if callback is not None and learner.n_episodes > episodes and callback(learner):
        watch.reason = "the callback said so"
        return None
    return int(pair_played(stretch, learner.pairs.ptr, state, step))


def _learn(learner: Learner, pair: int, value: float, successor: int) -> None:
    t = learner.t
    learner.check_successor(pair, successor)
    learner.record_step(pair, value, successor)
    if learner.t != t + 1:
        raise RuntimeError(f"{learner.name!r} recorded a step and went from t = {t} to {learner.t}")


def _play_vector(
    env: VectorSimulator,
    learner: Learner,
    recorder: PlayRecorder,
    seed: np.random.SeedSequence,
    callback: Callable[[Learner], bool | None] | None,
    watch: Watch,
) -> None:
    """All environments a step at a time: decide for each, play, learn from each."""
    pairs, states = learner.pairs, env.reset(seed)
    settle(learner, states[0])
    while recorder.goes_on:
        chosen = []
        for lane, state in enumerate(states):
            pair = _decided(learner, state, lane, callback, watch)
            if pair is None:
                return
            chosen.append(pair)
        states, outcomes = env.step(chosen)
        for pair, reward, successor, ended in outcomes:
            if recorder.goes_on:
                _learn(learner, pair, unit_reward(reward, learner.reward_map, pairs, pair), successor)
                recorder.add(float(reward), ended)
        if watch.rule is not None and watch.stops(states[0]):
            return
