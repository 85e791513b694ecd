"""What happened in a run, at checkpoints, and how it is written down as the run goes.

Under a discount also how good the policy being played is: with V* the optimal values and V the values of the policy
that the learner plays at time t, both times (1 - discount), the gap in the state where it stands is V*(s_t) - V(s_t).
The *sample complexity of exploration* counts the steps whose gap exceeds epsilon (Kakade 2003); the *value regret*
sums the gaps.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equirl.learners.contract import Learner
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Name, named_policy
from equirl.model.reward_distributions import original_gain
from equirl.numerics.compiling import lean_kernel
from equirl.simulation.curves import CLUSTERING_CURVES, Curves
from equirl.simulation.until import Watch
from equirl.solving.optimal_gain import Criterion, solve
from equirl.solving.policies import chain_of_pairs
from equirl.solving.renewal import discounted_values
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.partition import Partition
from equirl.structure.quality import misclustering_bias, misclustering_ratio
from equirl.words.answer_units import ByName, ByNumber, InUnits, UnitReward
from equirl.words.checking import plain_array, whole_number
from equirl.words.formatting import shown
from equirl.words.tables import Table, card

VALUE_CURVES = ("sample_complexity", "value_regret")
REMEMBERED = 512  # policies whose values are kept


class ValueMeasures:
    """Gaps of policies to the optimum, by state; a policy played again is not evaluated again."""

    def __init__(self, mdp: TabularMDP, discount: float, epsilon: float) -> None:
        self.mdp, self.discount, self.epsilon = mdp, discount, epsilon
        self.optimal = solve(mdp, discount=discount).unit_value
        self._gaps: OrderedDict[bytes, np.ndarray] = OrderedDict()  # of the policies played last

    def gap(self, policy: np.ndarray) -> np.ndarray:
        """(S,) how far the values of a policy (a pair per state) are below the optimum, times (1 - discount)."""
        key = policy.tobytes()
        if key not in self._gaps:
            values = discounted_values(*chain_of_pairs(self.mdp, policy), self.discount)
            self._gaps[key] = (1.0 - self.discount) * np.maximum(0.0, self.optimal - values)
            if len(self._gaps) > REMEMBERED:
                self._gaps.popitem(last=False)
        return self._gaps[key]

    def along(self, policy: np.ndarray, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step by step along a path: whether the gap exceeds epsilon, and the gap."""
        gap = self.gap(policy)[self.mdp.pairs.state[path]]
        return (gap > self.epsilon).astype(float), gap


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in a run, at checkpoints ``t``.

    ``curves`` holds the regret (t g* minus rewards received), the pseudo-regret (with the true means of the pairs
    played), the rewards received so far, and every measure that the learner has, such as the number of classes in
    force. Each is an attribute too: ``trace.regret`` is (K,). All is in the units of the problem's rewards, but what
    begins with ``unit_``, where they are in [0, 1].

    Attributes
    ----------
    curves, unit_curves : Curves
        Of this one run.
    episode_starts : ndarray of int64, shape (E,)
        When the episodes began, of those that began in this run.
    n_unconverged : int
        Episodes whose planning hit its cap.
    gain, unit_gain : float
        The optimal gain g*; NaN where it is not known.
    agent_name : str
        The learner's name.
    settings : dict
        All its settings.
    agent : Learner
        As the run left it.
    stopped : str
        Why the run ended before its horizon; empty where it did not.
    gap : float
        Where ``until`` asked for it: what a better policy could earn more per step than ``policy``, when last looked
        at, in the units of the rewards; NaN otherwise.
    policy : ndarray of int, shape (S,) or (0,)
        The policy recommended then: an action id per state.
    """

    curves: InUnits[Curves]
    unit_curves: UnitReward[Curves]
    episode_starts: np.ndarray
    n_unconverged: int
    unit_gain: UnitReward[float]
    agent_name: str
    settings: dict[str, Any]
    agent: Learner
    stopped: str = ""
    gap: InUnits[float] = math.nan
    policy: ByNumber[np.ndarray] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def gain(self) -> InUnits[float]:
        return original_gain(self.unit_gain, self.agent.reward_map)

    def named_policy(self) -> ByName[dict[Name, Name]]:
        """The policy recommended as ``{state: action}``, by name where there are names; empty where there is none."""
        return named_policy(self.agent.pairs, self.policy) if len(self.policy) else {}

    @property
    def t(self) -> np.ndarray:
        """(K,) the checkpoints; the last is the horizon, or where the run was stopped."""
        return self.curves.t

    @property
    def n_episodes(self) -> int:
        """How many episodes began in this run."""
        return len(self.episode_starts)

    def __getattr__(self, name: str) -> Any:
        """A curve by its name; None for a clustering curve that was not asked for."""
        if name.startswith("__") or name in ("curves", "agent"):
            raise AttributeError(name)
        if name in self.curves:
            return self.curves[name][0]
        if name in CLUSTERING_CURVES:
            return None
        raise AttributeError(f"the trace of {self.agent_name!r} has no {name!r}; its curves: {', '.join(self.curves)}")

    def plot(self, measure: str | None = None) -> Any:
        """A Matplotlib figure of one curve; default ``regret``, or ``reward`` where the regret is not known."""
        from equirl.lab.plots.curve_figures import draw_trace

        if measure is None:
            measure = "regret" if "regret" in self.curves else "reward"
        return draw_trace(self, measure)

    def _repr_html_(self) -> str:
        facts = {
            "steps": f"{int(self.t[-1]):,}", "episodes": f"{self.n_episodes:,}", "stopped": self.stopped or None,
            "plans that hit their cap": self.n_unconverged or None,
        }  # fmt: skip
        last = Table(
            {"curve": list(self.curves), "at the end": [float(self.curves[name][0, -1]) for name in self.curves]}
        )
        return card(f"Trace of {self.agent_name}", facts, {"Curves": last})

    def __repr__(self) -> str:
        regret = f"regret={self.regret[-1]:.4g}, " if "regret" in self.curves else ""
        early = f", stopped: {self.stopped}" if self.stopped else ""
        return (
            f"Trace({self.agent_name}: T={self.t[-1]}, {regret}reward={self.reward[-1]:.6g}, "
            f"{self.n_episodes} episodes{early})"
        )


class Recorder:
    """What a run writes down as it goes: totals and the measures of beliefs, at each checkpoint passed."""

    def __init__(
        self, mdp: TabularMDP, learner: Learner, marks: np.ndarray, measure_clustering: bool, epsilon: float = 0.01
    ) -> None:
        self.mdp, self.learner, self.offset, self.since = mdp, learner, learner.t - 1, done_so_far(learner)
        self.marks, self.mark, self.total = np.append(marks, -1), 0, np.zeros(2)
        self.earned = np.zeros((2, len(marks)))  # rewards received, and means of the pairs played
        self.measured: dict[str, np.ndarray] = {}
        discount = learner.criterion.discount
        self.values = ValueMeasures(mdp, discount, epsilon) if discount < 1.0 else None
        self.value_total, self.value_curves = np.zeros(2), np.zeros((2, len(marks)))
        if measure_clustering and not learner.beliefs.forms_classes:
            raise ValueError(f"{learner.name!r} forms no classes; measure_clustering makes no sense for it")
        self.measure_clustering: bool = measure_clustering
        self.truth: Partition | None = None  # the true classes, computed when first needed
        self.held: dict[str, float] | None = None  # measures at the last step, kept while the next is decided

    def add(self, t: int, policy: np.ndarray, path: np.ndarray, rewards: np.ndarray) -> None:
        """Write down what was played from time t on; call it once the learner has recorded it."""
        first = self.mark
        if self.values is not None and len(policy):
            steps = self.values.along(policy, path)
            tally(*steps, t - self.offset, self.marks, first, self.value_total, self.value_curves)
        self.mark = tally(rewards, self.mdp.r_mean[path], t - self.offset, self.marks, first, self.total, self.earned)
        self.held = None
        if self.mark > first:
            self._note(self._measures(), first, self.mark)

    def steps_to_mark(self) -> int:
        """How many steps are left up to the next checkpoint."""
        return int(self.marks[self.mark]) - (self.learner.t - 1 - self.offset)

    def hold(self) -> None:
        """Keep the measures as they are: should the run end before the next step, they are those of the last one."""
        self.held = self._measures()

    def _measures(self) -> dict[str, float]:
        quality = zip(CLUSTERING_CURVES, self._quality(), strict=True) if self.measure_clustering else ()
        return {**self.learner.beliefs.measures(), **dict(quality)}

    def _note(self, measures: dict[str, float], first: int, last: int) -> None:
        for name, value in measures.items():
            self.measured.setdefault(name, _empty(value, len(self.marks) - 1))[first:last] = value

    def end_early(self) -> bool:
        """Make the last step recorded the last checkpoint; False where there is none."""
        done, n = self.learner.t - 1 - self.offset, self.mark
        if n == len(self.marks) - 1:
            return True
        if done > (self.marks[n - 1] if n else 0):
            self.marks[n], self.earned[:, n], self.value_curves[:, n] = done, self.total, self.value_total
            self._note(self._measures() if self.held is None else self.held, n, n + 1)
            n += 1
        self.mark, self.marks = n, np.append(self.marks[:n], -1)
        self.earned, self.value_curves = self.earned[:, :n], self.value_curves[:, :n]
        self.measured = {name: curve[:n] for name, curve in self.measured.items()}
        return n > 0

    def _quality(self) -> list[float]:
        formed = self.learner.beliefs.classes()
        assert formed is not None
        if self.truth is None:
            self.truth = equivalence_classes(self.mdp, rewards=formed.compares_rewards)
        seen = formed.seen
        found, counts = (formed.partition, self.truth, seen.visits), (seen.ptr, seen.count)
        return [
            misclustering_ratio(*found),
            misclustering_bias(*found, *counts),
            misclustering_bias(*found, *counts, successors=seen.succ),
        ]

    def curves(self, criterion: Criterion, optimum: float) -> Curves:
        n = self.mark
        t, (reward, mean_reward) = self.marks[:n], self.earned[:, :n]
        regret = {
            "regret": criterion.regret(t, optimum, reward),
            "pseudo_regret": criterion.regret(t, optimum, mean_reward),
        }
        measured = {name: curve[:n] for name, curve in self.measured.items()}
        if self.values is not None:
            measured |= dict(zip(VALUE_CURVES, self.value_curves[:, :n], strict=True))
        return Curves.of_run(t, {**regret, "reward": reward, **measured})


def _empty(value: float, n: int) -> np.ndarray:
    return np.zeros(n, np.int64) if isinstance(value, int) else np.full(n, np.nan)


def done_so_far(learner: Learner) -> tuple[int, int, int]:
    """Steps, episodes and plans that hit their cap, before a run: a trace tells of those in it."""
    steps = learner.t - 1
    return steps, learner.n_episodes if steps else 0, learner.n_unconverged


def trace_since(
    since: tuple[int, int, int], learner: Learner, curves: tuple[Curves, Curves], unit_gain: float, watch: Watch
) -> Trace:
    """The trace of a run, given what :func:`done_so_far` said before it, and its curves in both units."""
    steps, episodes, unconverged = since
    return Trace(
        *curves, np.array(learner.episode_starts[episodes:], np.int64) - steps, learner.n_unconverged - unconverged,
        unit_gain, learner.name, learner.settings.as_dict(), learner, watch.reason, watch.gap,
        learner.pairs.action[watch.policy],
    )  # fmt: skip


@lean_kernel
def tally(
    rewards: np.ndarray, means: np.ndarray, t: int, marks: np.ndarray, mark: int, total: np.ndarray, earned: np.ndarray
) -> int:
    """Add rewards and means to the totals, in order; note the totals at each mark passed. Returns the next mark."""
    for i in range(len(rewards)):
        total[0] += rewards[i]
        total[1] += means[i]
        if t + i == marks[mark]:
            earned[0, mark], earned[1, mark] = total[0], total[1]
            mark += 1
    return mark


def checkpoint_times(checkpoints: int | str | Sequence[int] | np.ndarray, horizon: int) -> np.ndarray:
    """Increasing times ending at the horizon."""
    horizon = whole_number("horizon", horizon)
    if isinstance(checkpoints, str):
        if checkpoints != "log":
            raise ValueError(f"checkpoints are a number, 'log', or a list of times, not {shown(checkpoints)}")
        return np.unique(np.rint(np.geomspace(1, horizon, 200)).astype(np.int64))
    times = plain_array("checkpoints", checkpoints)
    if np.issubdtype(times.dtype, np.integer):
        times = times.astype(np.int64)
    if times.ndim == 0:
        if not np.issubdtype(times.dtype, np.integer) or times < 1:
            raise ValueError(f"checkpoints must be a number of at least 1, not {shown(checkpoints)}")
        n = min(int(times), horizon)
        k, (whole, rest) = np.arange(1, n + 1, dtype=np.int64), divmod(horizon, n)
        return k * whole + k * rest // n  # k * horizon could overflow
    if times.ndim != 1 or not np.issubdtype(times.dtype, np.integer) or len(times) == 0:
        raise ValueError("checkpoints must be a list of integer times")
    if (np.diff(times) <= 0).any() or times[0] < 1 or times[-1] != horizon:
        raise ValueError(f"checkpoints must increase from at least 1 and end at the horizon {horizon}")
    return times
