"""Posterior sampling: each episode draws one MDP from the posterior and plays its best policy.

What may be drawn is a choice of parts: rows of transition probabilities each on its own (PSRL) or through classes
that are drawn as well (C-PSRL), mean rewards by pair or shared, and how long an episode lasts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.learners.beliefs import (
    ActionValues,
    AgentPlan,
    CountedBeliefs,
    FormedClasses,
    PairBelief,
    PolicyGap,
    plan_values,
    shown_plan,
)
from equirl.learners.contract import (
    UNLIMITED,
    CountingLearner,
    Limits,
    State,
    Stretch,
    is_over,
    prefixed,
    step_limits,
    unprefixed,
)
from equirl.learners.parts import DrawnPlanning, DrawnProblem, Lengths, RewardPrior, RowPrior
from equirl.learners.planners import discount_up_to_one
from equirl.learners.recipes import Blueprint
from equirl.model.pairs import Pairs
from equirl.model.rows import Rows
from equirl.numerics.portions import Portions, finished
from equirl.numerics.random_draws import draw_state
from equirl.planning.exact_model import STAY, ExactModel
from equirl.planning.optimistic_planning import Plan, Stop
from equirl.posterior.drawn_plan import POLICY_SWEEPS, gain_in, mean_model, plan_from, plan_portions
from equirl.posterior.drawn_rows import DrawnRows
from equirl.posterior.inspection import class_posterior, row_spread
from equirl.posterior.reward_priors import KeptRewards
from equirl.posterior.row_priors import LARGE_STATES, Kept
from equirl.solving.optimal_gain import Criterion
from equirl.structure.partition import Partition
from equirl.words.checking import above, choice, whole_number

LEAST_SWEEPS, MOST_SWEEPS = 20, 1000  # full ones of a plan
FEWEST_SWEEPS = 3  # of one in a large MDP that hardly changed
MOST_LOOKUPS = 1e6  # successors looked at in all full sweeps of a plan, though LEAST_SWEEPS are always allowed
EPISODES = ("steady", "doubling", "tsde")
LEAST_NEW, USUAL_NEW, NEW_VISITS, SHORTEST, GROWTH = 2, 10, 0.05, 50, 1.4  # of "steady" episodes
TURN = 1000  # pairs whose rows are drawn anew in each draw of a large MDP, in turn
TURN_STEP = 300  # and so many for each step played, if that is more: all, where episodes last
LEAST_DRAWS = 40  # from which the gap of a policy is told
SPREAD = (0.05, 0.95)  # quantiles of draws between which their middle lies


@dataclass(frozen=True)
class DrawnPlanner(DrawnPlanning):
    """Value iteration in the drawn MDP, to ``accuracy / sqrt(t)`` of the gain; every pair stays put half of the time.

    With a ``discount`` rewards to come are discounted, and nothing stays put for planning's sake.
    """

    accuracy: float = 0.1
    discount: float = 1.0

    def __post_init__(self) -> None:
        discount_up_to_one(self.discount)
        above("accuracy", self.accuracy, 0, "does not plan")

    @property
    def staying(self) -> float:
        return STAY if self.discount == 1.0 else 0.0

    def portions(self, problem: DrawnProblem, rng: np.ndarray, in_portions: bool) -> Portions[Plan]:
        """Where little changed the last values nearly hold: fewer sweeps, and later plans go on from there."""
        state, pair_ptr, model, accuracy, bias, share = problem
        sweeps = int(min(MOST_SWEEPS, max(LEAST_SWEEPS, MOST_LOOKUPS / model.n_entries)))
        sweeps = max(FEWEST_SWEEPS, math.ceil(share * sweeps))
        stop = Stop(self.discount, self.accuracy * accuracy, sweeps, POLICY_SWEEPS)
        if in_portions:
            return (yield from plan_portions(state, pair_ptr, model, bias, stop, rng))
        return plan_from(state, pair_ptr, model, bias, stop, rng)


@dataclass(frozen=True)
class EpisodeLengths(Lengths):
    """How long an episode lasts.

    "steady": until the visits of a pair that had up to USUAL_NEW double, or those of another grow by USUAL_NEW or
    NEW_VISITS of them, whichever is more; a pair never tried has USUAL_NEW, since what begins there is to be followed.
    Or for max(SHORTEST, GROWTH sqrt(t)) steps: long enough to get somewhere, over when what was learned matters, and
    draws enough for ever. "doubling": until a pair's visits double. "tsde": that, or one step longer than the episode
    before (Ouyang et al. 2017). With a finite ``effort`` an episode lasts at least as many steps as its drawing and
    planning took look-ups, over ``effort``. With a finite ``budget`` a step does at most so many look-ups, or one pass
    over all pairs where that is more: the old plan is played on while the new one is made.
    """

    episodes: str = "steady"
    effort: float = math.inf
    budget: float = math.inf

    def __post_init__(self) -> None:
        choice("episodes", self.episodes, EPISODES)
        above("effort", self.effort, 0, "plans whenever the rule fires")
        above("budget", self.budget, 0, "draws and plans at once")

    def limits(self, visits: np.ndarray, t: int, last_length: int, work: float) -> Limits:
        pair_left, steps = np.maximum(1, visits), UNLIMITED
        if self.episodes == "steady":
            pair_left = news_of(visits, t)
            steps = int(min(max(SHORTEST, GROWTH * math.sqrt(t)), UNLIMITED))
        elif self.episodes == "tsde":
            steps = last_length + 1
        grace = np.array([int(min(work / self.effort, UNLIMITED)), 0], np.int64)
        label, group_left = np.zeros(len(visits), np.int64), np.array([UNLIMITED], np.int64)
        return Limits(label, pair_left, group_left, grace, np.array([steps], np.int64))


def news_of(visits: np.ndarray, t: int) -> np.ndarray:
    """(M,) after how many visits more a "steady" episode that starts at t has news of each pair."""
    usual = min(USUAL_NEW, max(1, t // len(visits)))  # at first, while most pairs are unknown, less is news
    few = np.where(visits == 0, usual, np.minimum(usual, np.maximum(LEAST_NEW, visits)))
    return np.maximum(few, (NEW_VISITS * visits).astype(np.int64))


class PosteriorParts(NamedTuple):
    rows: RowPrior
    rewards: RewardPrior
    planner: DrawnPlanning
    lengths: Lengths


class Underway:
    """A plan being made: from where, what was done of it, and what is needed to do it again."""

    def __init__(
        self, state: int, t: int, seen: Snapshot, before: dict[str, np.ndarray], done: int = 0, t_worked: int = 0
    ) -> None:
        self.state, self.t, self.seen, self.before = state, t, seen, before
        self.done, self.t_worked = done, t_worked  # portions begun, and the last step at which
        self.cost = 0.0  # look-ups of the portion that is next
        self.work: Portions[tuple[ExactModel, int, Plan]] | None = None  # None: to be done again

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"work": None}  # a copy does it again


class PosteriorLearner(CountingLearner):
    """An agent that plays the best policy of an MDP drawn from its posterior. Make one with ``equirl.make_agent``."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        part = self.settings.part
        self.parts = PosteriorParts(part(RowPrior), part(RewardPrior), part(DrawnPlanning), part(Lengths))
        self.criterion = Criterion(self.parts.planner.discount)
        self.rng = draw_state(blueprint.seed)
        self.rows = self.parts.rows.row_sampler(self.pairs, self.given)
        self.rewards = self.parts.rewards.reward_sampler(self.pairs, self.given)
        self.seen: Snapshot | None = None  # the counts of the last draw
        self.model: ExactModel | None = None  # the MDP drawn
        self.drawn_plan: Plan | None = None
        self.turn = np.zeros(1, np.int64)  # the state whose pairs are drawn anew next, without news
        self.budget = self.parts.lengths.budget
        self.underway: Underway | None = None  # the plan being made, where a budget spreads it over steps

    # --- deciding

    def decide(self, state: int) -> Stretch:
        """The policy of the MDP drawn last, or of a new one where the episode ends."""
        self.test_structure()
        if self.underway is not None:
            self._go_on()
        elif self._is_over(state):
            self._start_episode(state)
        assert self.limits is not None
        if self.drawn_plan is None:  # the first is not made yet
            return Stretch(self.pairs.ptr[:-1].copy(), self.limits)
        return Stretch(self.drawn_plan.policy, self.limits)

    def _is_over(self, state: int) -> bool:
        plan, limits = self.drawn_plan, self.limits
        return plan is None or limits is None or is_over(plan.policy[state], limits)

    def _start_episode(self, state: int) -> None:
        seen = self.counts.snapshot()
        if self.budget < math.inf:
            before = {name: array.copy() for name, array in self._samplers().items()}
            self.underway = Underway(state, self.t, seen, before)
            self.underway.work = self._episode(state, self.t, seen)
            self._go_on(spent=len(seen.visits) + len(seen.succ))
        else:
            self._play(seen, *finished(self._episode(state, self.t, seen)))

    def _episode(self, state: int, t: int, seen: Snapshot) -> Portions[tuple[ExactModel, int, Plan]]:
        """Draw an MDP and plan in it, in portions; of a large one what has news is drawn anew, the rest in turn."""
        rng, kept, kept_rewards, share = self.rng, None, None, 1.0
        if self.model is not None and self.seen is not None and self.pairs.n_states >= LARGE_STATES:
            kept = Kept(self.model.rows, self.model.rest, self._fresh(seen, self.seen))
        rows, work = yield from self.rows.portions(seen, rng, kept, self.budget)
        if self.model is not None and kept is not None and len(rows.fresh):
            kept_rewards, share = KeptRewards(self.model.reward, rows.fresh), float(rows.fresh.mean())
        reward = yield from self.rewards.portions(seen, rng, kept_rewards, self.budget)
        model, accuracy = self._model_of(rows, reward), self.criterion.accuracy(t)
        problem = DrawnProblem(state, self.pairs.ptr, model, accuracy, self._last_bias(), share)
        plan = yield from self.parts.planner.portions(problem, rng, in_portions=self.budget < math.inf)
        yield len(seen.visits)
        return model, work, plan

    def _fresh(self, seen: Snapshot, before: Snapshot) -> np.ndarray:
        """(M,) pairs to draw anew: all of a state where one has news, and of the states whose turn it is."""
        S, M = self.pairs.n_states, self.pairs.n_pairs
        fresh = np.zeros(S, bool)
        fresh[self.pairs.state[seen.visits != before.visits]] = True
        steps = int(seen.visits.sum() - before.visits.sum())
        n = min(S, -(-max(TURN, TURN_STEP * steps) * S // M))
        fresh[(self.turn[0] + np.arange(n)) % S] = True
        self.turn[0] = (self.turn[0] + n) % S
        return fresh[self.pairs.state]

    def _last_bias(self) -> np.ndarray:
        return np.zeros(self.pairs.n_states) if self.drawn_plan is None else self.drawn_plan.bias

    def _go_on(self, spent: float = 0.0) -> None:
        """Do what the budget of a step allows of the plan under way; where it is made, it is played."""
        underway = self.underway
        assert underway is not None
        if underway.t_worked == self.t:
            return
        work = underway.work or self._again(underway)
        while spent == 0 or spent + underway.cost <= self.budget:
            spent += underway.cost
            try:
                underway.cost = next(work)
            except StopIteration as end:
                self.underway = None
                self._play(underway.seen, *end.value)
                return
            underway.done += 1
        underway.t_worked, underway.work = self.t, work
        self.limits = step_limits(1)

    def _again(self, underway: Underway) -> Portions[tuple[ExactModel, int, Plan]]:
        """What was done of a plan under way, done again from where it began."""
        self._restore_samplers(underway.before)
        work = self._episode(underway.state, underway.t, underway.seen)
        try:
            for _ in range(underway.done):
                underway.cost = next(work)
        except StopIteration:
            raise ValueError("more was done of the plan under way than there is to do") from None
        return work

    def _play(self, seen: Snapshot, model: ExactModel, work: float, plan: Plan) -> None:
        """Begin an episode with a new plan."""
        self.n_unconverged += not plan.converged
        last = self.t - self.episode_starts[-1] if self.episode_starts else 0
        work += plan.n_sweeps * model.n_entries
        self.limits = self.parts.lengths.limits(self.counts.visits.copy(), self.t, last, work)
        self.episode_starts.append(self.t)
        self.seen, self.model, self.drawn_plan = seen, model, plan

    def draw_model(self, seen: Snapshot) -> tuple[ExactModel, int]:
        """An MDP drawn from the posterior of these counts, and the work it took in look-ups."""
        rows, work = self.rows.draw(seen, self.rng)
        return self._model_of(rows, self.rewards.draw(seen, self.rng)), work

    def _model_of(self, rows: DrawnRows, reward: np.ndarray) -> ExactModel:
        end = int(rows.ptr[-1])
        owner, stay = np.array(self.pairs.state), self.parts.planner.staying
        return ExactModel(Rows(rows.ptr, rows.succ[:end], rows.prob[:end]), rows.rest, reward, owner, stay)

    @property
    def beliefs(self) -> PosteriorBeliefs:
        return PosteriorBeliefs(self)

    # --- saving

    def state(self) -> State:
        arrays, values = super().state()
        underway = self.underway
        if underway is None:
            arrays |= self._samplers()
        else:
            arrays |= underway.before | prefixed("underway", underway.seen)
            values["underway"] = [underway.state, underway.t, underway.done, underway.t_worked]
        if self.seen is not None and self.drawn_plan is not None and self.model is not None:
            plan = self.drawn_plan
            arrays |= prefixed("then", self.seen) | {"policy": plan.policy, "bias": plan.bias}
            arrays |= prefixed("drawn", self.model.rows)
            arrays |= {f"drawn_{name}": np.asarray(getattr(self.model, name)) for name in ExactModel._fields[1:]}
            values["plan"] = [plan.gain, plan.n_sweeps, plan.span, plan.converged]
        return State(arrays, values)

    def restore(self, state: State) -> None:
        super().restore(state)
        arrays, values = state
        if "plan" in values:
            self.seen = unprefixed("then", Snapshot, arrays)
            rest, reward, owner, stay = (arrays[f"drawn_{name}"] for name in ExactModel._fields[1:])
            drawn = ExactModel(unprefixed("drawn", Rows, arrays), rest, reward, owner, float(stay))
            self.model = checked_model(drawn, self.pairs)
            gain, n_sweeps, span, converged = values["plan"]
            self.drawn_plan = Plan(arrays["policy"], gain, arrays["bias"], n_sweeps, span, converged)
        self._restore_samplers(arrays)
        if "underway" in values:
            at, t, done, t_worked = values["underway"]
            at, t = whole_number("the state", at, 0, self.pairs.n_states - 1), whole_number("the time", t)
            done, t_worked = (whole_number("what was done", number, 0) for number in (done, t_worked))
            before = {name: arrays[name].copy() for name in self._samplers()}
            self.underway = Underway(at, t, unprefixed("underway", Snapshot, arrays), before, done, t_worked)
            self.underway.work = self._again(self.underway)

    def _samplers(self) -> dict[str, np.ndarray]:
        """What drawing goes on from."""
        turn = {"turn": self.turn} if self.pairs.n_states >= LARGE_STATES else {}
        return {"rng": self.rng, **turn, **self.rows.arrays(), **self.rewards.arrays()}

    def _restore_samplers(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on drawing from what was kept."""
        if arrays["rng"].dtype != np.uint64 or arrays["rng"].shape != (1,):
            raise ValueError("the generator's state is not whole")
        self.rng, self.turn = arrays["rng"].copy(), arrays.get("turn", self.turn).copy()
        if self.turn.dtype != np.int64 or self.turn.shape != (1,) or not 0 <= self.turn[0] < self.pairs.n_states:
            raise ValueError("the state whose turn it is, is none")
        self.rewards.restore(arrays)
        if self.seen is None:
            self.rows = self.parts.rows.row_sampler(self.pairs, self.given)
        else:
            self.rows.restore(arrays, self.seen)


class PosteriorBeliefs(CountedBeliefs):
    """The classes and the plan of the last draw; everything else from draws made in a copy."""

    agent: PosteriorLearner
    forms_classes: ClassVar[bool] = True
    has_policy: ClassVar[bool] = True
    has_gap: ClassVar[bool] = True
    unsure_by: ClassVar[str] = "spread of its draws"

    def measures(self) -> Mapping[str, float]:
        label = self.agent.rows.labels()
        if self.agent.seen is None or label is None:
            n_classes = self.classes().partition.n_classes
        else:  # as many as they have, told without forming them
            pairs_of = np.bincount(label + 1, minlength=1)
            n_classes = int(pairs_of[0] + np.count_nonzero(pairs_of[1:]))
        return {"n_classes": n_classes, **self.agent.rows.measures()}

    def classes(self) -> FormedClasses:
        """The classes of the last draw, or before the first of one made in a copy; pairs without one stand alone."""
        M, drawn, seen = self.agent.pairs.n_pairs, self.agent, self.agent.seen
        if seen is None:
            drawn, seen = self.agent.copy(), self.counts.snapshot()
            drawn.rows.draw(seen, drawn.rng)
        label = drawn.rows.labels()
        label = np.arange(M) if label is None else np.where(label < 0, M + np.arange(M), label)
        return FormedClasses(Partition.from_labels(label), seen, False)

    def alike_by(self) -> str:
        return super().alike_by() or ("" if self.agent.rows.labels() is None else "drawn")

    def alike_to(self, pair: int) -> np.ndarray:
        if self.alike_by() != "drawn":
            return super().alike_to(pair)
        labels = class_posterior(self.agent, LEAST_DRAWS, passes=1).labels
        return np.asarray(((labels == labels[:, [pair]]) & (labels >= 0)).mean(axis=0))

    def uncertainty(self) -> np.ndarray:
        return row_spread(self.agent)

    def pair_belief(self, pair: int) -> PairBelief:
        """The mean and the middle 90 % of draws of a pair's row and mean reward, given all that was seen."""
        twin, seen, S = self.agent.copy(), self.counts.snapshot(), self.agent.pairs.n_states
        twin.rows.drop_hope()
        models = [twin.draw_model(seen)[0] for _ in range(LEAST_DRAWS)]
        succ = np.unique(np.concatenate([model.rows.succ[model.rows.row(pair)] for model in models]))
        prob = np.zeros((len(models), len(succ)))
        for k, model in enumerate(models):
            row = model.rows.row(pair)
            np.add.at(prob[k], np.searchsorted(succ, model.rows.succ[row]), model.rows.prob[row])
            prob[k] += model.rest[pair] / S
        order = np.argsort(-prob.mean(axis=0), kind="stable")
        low, high = np.quantile(prob[:, order], SPREAD, axis=0)
        unseen = float(np.quantile([model.rest[pair] / S for model in models], SPREAD[1]))
        means = [model.reward[pair] for model in models]
        r_low, r_high = np.quantile(means, SPREAD)
        return PairBelief(
            succ[order], prob.mean(axis=0)[order], low, high, unseen, float(np.mean(means)), float(r_low),
            float(r_high), int(seen.visits[pair]), "middle 90 % of draws",
        )  # fmt: skip

    def action_values(self, state: int) -> ActionValues | None:
        agent = self.agent
        if agent.drawn_plan is None or agent.model is None:
            return None
        value = plan_values(agent.model, agent.drawn_plan, agent.pairs, state, agent.criterion.discount)
        return ActionValues(value, "value in the MDP drawn")

    @property
    def plan(self) -> AgentPlan:
        """The plan being played: optimal in the MDP drawn, where it can be reached from where the episode began."""
        if self.agent.drawn_plan is None:
            raise ValueError("the learner has not decided anything yet; call act(state) first")
        return shown_plan(self.agent.drawn_plan, self.agent)

    def policy_gap(self, state: int, delta: float) -> PolicyGap | None:
        """Of the best policy in the mean of drawn MDPs: the (1 - delta)-quantile of what it loses in them."""
        agent, pairs = self.agent, self.agent.pairs
        if agent.criterion.discount < 1.0:
            return None
        twin, seen = agent.copy(), self.counts.snapshot()
        twin.rows.drop_hope()
        draws = max(LEAST_DRAWS, math.ceil(2 / delta))
        models = [twin.draw_model(seen)[0] for _ in range(draws)]
        accuracy, here = agent.criterion.accuracy(agent.t) / 10, np.eye(1, pairs.n_states, state)[0]
        stop = Stop(1.0, accuracy, MOST_SWEEPS, POLICY_SWEEPS)
        mean = mean_model(pairs, seen.visits > 0, models)
        best = plan_from(state, pairs.ptr, mean, np.zeros(pairs.n_states), stop, twin.rng)
        lost, bias = [], best.bias
        for model in models:
            plan = plan_from(state, pairs.ptr, model, bias, stop, twin.rng)
            bias = plan.bias
            lost.append(gain_in(model, plan.policy, here) - gain_in(model, best.policy, here))
        return PolicyGap(best.policy, max(0.0, float(np.quantile(lost, 1 - delta, method="higher"))), False)


def checked_model(model: ExactModel, pairs: Pairs) -> ExactModel:
    """The model, or an error where arrays from outside do not fit the pairs."""
    ptr, succ, prob = model.rows
    M, nnz = pairs.n_pairs, len(succ)
    fields = {"ptr": ptr, "succ": succ, "prob": prob, "rest": model.rest, "reward": model.reward, "state": model.state}
    sizes = {"ptr": M + 1, "succ": nnz, "prob": nnz, "rest": M, "reward": M, "state": M}
    for name, size in sizes.items():
        if fields[name].shape != (size,):
            raise ValueError(f"the {name} drawn does not fit the pairs")
    if ptr[0] != 0 or ptr[-1] != nnz or (np.diff(ptr) < 0).any() or not np.array_equal(model.state, pairs.state):
        raise ValueError("the rows drawn do not fit the pairs")
    if nnz and (succ.min() < 0 or succ.max() >= pairs.n_states):
        raise ValueError("a successor drawn is out of range")
    for name in ("prob", "rest", "reward"):
        if not ((fields[name] >= 0) & (fields[name] <= 1 + 1e-9)).all():
            raise ValueError(f"the {name} drawn is not between 0 and 1")
    return model
