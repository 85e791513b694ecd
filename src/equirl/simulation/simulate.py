"""Playing a learner in a known MDP: compiled stretches of steps, planning in Python between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.core.checking import between, whole_number
from equirl.core.seeding import Seed, seed_sequence
from equirl.estimation.counts import Snapshot
from equirl.learners.baselines import FixedLearner
from equirl.learners.learner_registry import Agent, agent_for
from equirl.learners.optimistic import OptimisticLearner
from equirl.model.mdp import TabularMDP, check_mdp
from equirl.simulation.rollout import BLOCK, NO_SLOT, World, tally, walk
from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.partition import Partition
from equirl.structure.quality import misclustering_bias, misclustering_ratio

CLUSTERING_CURVES = ("misclustering_ratio", "misclustering_bias", "misclustering_bias_by_state")


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in a run, at checkpoints ``t``: cumulative reward and regret, episodes, classes."""

    t: np.ndarray  # (K,) int64, t[-1] is the horizon
    reward: np.ndarray  # (K,) rewards received so far
    regret: np.ndarray  # (K,) t g* - rewards received
    pseudo_regret: np.ndarray  # (K,) t g* - true means of the pairs played
    n_classes: np.ndarray  # (K,) classes in force
    misclustering_ratio: np.ndarray | None  # (K,)
    misclustering_bias: np.ndarray | None  # (K,)
    misclustering_bias_by_state: np.ndarray | None  # (K,) laws pooled state by state, as the published program does
    episode_starts: np.ndarray  # (E,) int64, of the episodes that began in this run
    n_unconverged: int  # episodes whose planning hit its cap
    gain: float  # g*
    agent_name: str
    settings: dict[str, Any]
    agent: Agent  # as the run left it

    @property
    def n_episodes(self) -> int:
        return len(self.episode_starts)

    def plot(self, measure: str = "regret") -> Any:
        """A Matplotlib figure of one measure of the run."""
        from equirl.plots.comparison_figures import draw_trace

        return draw_trace(self, measure)

    def __repr__(self) -> str:
        return (
            f"Trace({self.agent_name}: T={self.t[-1]}, regret={self.regret[-1]:.4g}, "
            f"reward={self.reward[-1]:.6g}, {self.n_episodes} episodes)"
        )


def simulate(
    mdp: TabularMDP,
    agent: str | Agent,
    horizon: int,
    seed: Seed = 0,
    *,
    checkpoints: int | str | Sequence[int] | np.ndarray = 200,
    measure_clustering: bool = False,
    callback: Callable[[Agent], None] | None = None,
    world_seed: Seed | None = None,
    gain: float | None = None,
    **settings: Any,
) -> Trace:
    """Play ``agent`` (a name with ``settings``, or a learner, which is copied) in ``mdp`` for ``horizon`` steps.

    ``checkpoints``: how many, evenly spaced; ``"log"``; or increasing times ending at the horizon.
    ``measure_clustering``: also the mis-clustering ratio and bias against the true classes. ``callback(agent)`` is
    called at the start of each episode. ``world_seed``: the world's randomness from this seed alone, so that learners
    can share it. ``gain``: g* where it is known already. A run is a pure function of its arguments.

    >>> from equirl.worlds.world_registry import make
    >>> trace = simulate(make("riverswim", n_states=6), "ucrl2-l", horizon=1000, seed=1)
    >>> int(trace.t[-1]), len(trace.regret)
    (1000, 200)
    """
    marks = checkpoint_times(checkpoints, horizon)
    check_mdp(mdp)
    world_root, agent_root = seed_sequence("seed", seed).spawn(2)
    if world_seed is not None:
        world_root = seed_sequence("world_seed", world_seed)
    learner = _prepare(mdp, agent, agent_root, settings)
    gain = solve(mdp).gain if gain is None else between("gain", gain)
    world = World(mdp, world_root)
    learner.settle(world.state)
    recorder = _Recorder(mdp, learner, marks, measure_clustering)
    _play(world, learner, recorder, int(horizon), callback)
    return recorder.trace(gain)


def _prepare(mdp: TabularMDP, agent: str | Agent, seed: np.random.SeedSequence, settings: dict[str, Any]) -> Agent:
    if isinstance(agent, str):
        return agent_for(mdp, agent, seed, **settings)
    if not isinstance(agent, Agent):
        raise TypeError(f"agent must be a name or a learner, not {agent!r}")
    if settings:
        raise TypeError(f"settings ({', '.join(settings)}) go with a learner's name, not with a learner")
    same = np.array_equal(agent.pairs.ptr, mdp.pairs.ptr) and np.array_equal(agent.pairs.action, mdp.pairs.action)
    if not same:
        raise ValueError(f"{agent!r} was made for other states or actions than {mdp!r} has")
    if agent.reward_map not in ((1.0, 0.0), mdp.reward_map):
        raise ValueError(f"{agent!r} has another reward_range than {mdp!r}; simulate pays rewards in [0, 1]")
    return agent.copy()


def _play(
    world: World, learner: Agent, recorder: _Recorder, horizon: int, callback: Callable[[Agent], None] | None
) -> None:
    mdp, last = world.mdp, learner.t + horizon - 1
    path, coins = np.empty(BLOCK, np.int64), np.empty(0)
    episode = learner.episode if isinstance(learner, OptimisticLearner) else None
    while learner.t <= last:
        draw = world.draws(last - learner.t + 1)
        if isinstance(learner, OptimisticLearner):
            before, episode = episode, learner.ready(world.state)
            policy, label, budget = episode.plan.policy, episode.groups.label, episode.budget
            if callback is not None and episode is not before:
                callback(learner)
        else:
            policy, label, budget = learner.rules()
            if learner.policy is None and not len(coins):
                coins = learner.coins.random(len(draw))
            draw = draw[: len(coins)] if learner.policy is None else draw
        steps, world.state, why = walk(
            world.state, draw, coins, mdp.pairs.ptr, mdp.rows.ptr, mdp.rows.succ, world.cumulative, policy,
            label, *budget, learner.counts.visits, *learner.counts.table, path,
        )  # fmt: skip
        coins = coins[steps:]
        world.use(steps)
        recorder.add(learner.t, path[:steps], world.pay(path[:steps]))
        learner.t += steps
        if why == NO_SLOT:
            learner.counts.grow()


class _Recorder:
    """Fills the curves of a trace as the run goes."""

    def __init__(self, mdp: TabularMDP, learner: Agent, marks: np.ndarray, measure: bool) -> None:
        self.mdp, self.learner, self.offset = mdp, learner, learner.t - 1
        self.before = len(learner.episode_starts) if self.offset else 0, learner.n_unconverged
        self.marks, self.mark, self.total = np.append(marks, -1), 0, np.zeros(2)
        self.reward, self.mean_reward = np.zeros(len(marks)), np.zeros(len(marks))
        self.n_classes = np.zeros(len(marks), np.int64)
        self.truth = _true_classes(mdp, learner) if measure else None
        self.quality = np.zeros((len(CLUSTERING_CURVES), len(marks)))

    def add(self, t: int, path: np.ndarray, paid: np.ndarray) -> None:
        first = self.mark
        self.mark = tally(
            path, paid, self.mdp.r_mean, self.learner.counts.r_sum, t - self.offset, self.marks, self.mark,
            self.total, self.reward, self.mean_reward,
        )  # fmt: skip
        if self.mark > first and isinstance(self.learner, OptimisticLearner):
            episode = self.learner.current
            self.n_classes[first : self.mark] = episode.groups.n_classes
            if self.truth is not None:
                self.quality[:, first : self.mark] = np.reshape(self._quality(self.truth, episode.seen), (-1, 1))

    def _quality(self, truth: Partition, seen: Snapshot) -> list[float]:
        """The values of CLUSTERING_CURVES for the partition in force."""
        found = self.learner.partition, truth, seen.visits
        counts = seen.ptr, seen.count
        return [
            misclustering_ratio(*found),
            misclustering_bias(*found, *counts),
            misclustering_bias(*found, *counts, successors=seen.succ),
        ]

    def trace(self, gain: float) -> Trace:
        t, learner = self.marks[:-1], self.learner
        if isinstance(learner, FixedLearner):
            self.n_classes[:] = learner.pairs.n_pairs
        quality = [None] * len(CLUSTERING_CURVES) if self.truth is None else self.quality
        return Trace(
            t=t, reward=self.reward, regret=t * gain - self.reward, pseudo_regret=t * gain - self.mean_reward,
            n_classes=self.n_classes,
            **dict(zip(CLUSTERING_CURVES, quality, strict=True)),
            episode_starts=np.array(learner.episode_starts[self.before[0] :], np.int64) - self.offset,
            n_unconverged=learner.n_unconverged - self.before[1],
            gain=gain, agent_name=learner.name, settings=learner.settings.as_dict() if learner.settings else {},
            agent=learner,
        )  # fmt: skip


def _true_classes(mdp: TabularMDP, learner: Agent) -> Partition:
    if not isinstance(learner, OptimisticLearner):
        raise ValueError(f"{learner.name!r} forms no classes; measure_clustering makes no sense for it")
    return equivalence_classes(mdp, rewards=learner.settings.rewards == "per_class")


def checkpoint_times(checkpoints: int | str | Sequence[int] | np.ndarray, horizon: int) -> np.ndarray:
    """Increasing times ending at the horizon: ``n`` evenly spaced, ``"log"`` (200, log-spaced), or as given."""
    horizon = whole_number("horizon", horizon)
    if isinstance(checkpoints, str):
        if checkpoints != "log":
            raise ValueError(f"checkpoints are a number, 'log', or a list of times, not {checkpoints!r}")
        return np.unique(np.rint(np.geomspace(1, horizon, 200)).astype(np.int64))
    times = np.asarray(checkpoints)
    if np.issubdtype(times.dtype, np.integer):
        times = times.astype(np.int64)
    if times.ndim == 0:
        if not np.issubdtype(times.dtype, np.integer) or times < 1:
            raise ValueError(f"checkpoints must be a number of at least 1, not {checkpoints!r}")
        n = min(int(times), horizon)
        return (np.arange(1, n + 1, dtype=np.int64) * horizon) // n
    if times.ndim != 1 or not np.issubdtype(times.dtype, np.integer) or len(times) == 0:
        raise ValueError("checkpoints must be a list of integer times")
    if (np.diff(times) <= 0).any() or times[0] < 1 or times[-1] != horizon:
        raise ValueError(f"checkpoints must increase from at least 1 and end at the horizon {horizon}")
    return times
