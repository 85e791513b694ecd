"""An optimal policy for the problem that a log describes, and how sure one can be of it.

MDPs are drawn from the posterior of C-PSRL, which pools pairs that look alike. Who explores may hope, who deploys must
not: the policy is optimal in a wary view of their mean (``planning.wary_model``), in which what was hardly seen is no
better than the usual, and pairs never played are of no use. Two measures of its uncertainty. *Spread*: in each drawn
MDP the policy has a gain, the best policy has another, and every action a loss. The policy's gain is also taken where
what was seen is drawn again (``posterior.drawn_plan``); its interval holds the middle of both. *Bounds*: certified, on
the event that the truth lies in the sets of UCRL2-B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.logs.log import Log, from_log
from equirl.logs.log_classes import BURN_IN, posterior_of
from equirl.logs.safe_improvement import Question, SafePolicy, behaviour_of, halves, judged_policy, sample_of
from equirl.model.pairs import Name, action_labels, named_policy, state_labels
from equirl.model.reward_distributions import original_values
from equirl.numerics.arrays import owners
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Plan
from equirl.planning.wary_model import WaryModel
from equirl.posterior.bootstrap import resampled_rows
from equirl.posterior.deployment import behaviour_worth, wary_model, wary_plan, wary_worth
from equirl.posterior.drawn_plan import losses, worth_in
from equirl.posterior.reward_priors import DrawnRewards
from equirl.posterior.successor_rewards import SuccessorRewards
from equirl.solving.policies import policy_weights
from equirl.words.answer_units import ByName, ByNumber, InUnits
from equirl.words.checking import between, inside, whole_number
from equirl.words.formatting import counted
from equirl.words.progress_bar import Advance, progress_called
from equirl.words.tables import Table, card

BOUNDS_BY = "ucrl2-b"  # whose sets the bounds come from: element-wise Bernstein intervals
MOST_DOUBLINGS = 30  # of visits that bounds may lack
LEVEL = 0.9  # of the intervals over draws


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """A policy found from a log, with its uncertainty. Make one with :func:`learn`. All in the units of the log.

    What a policy earns is meant per step, on average for ever; with a ``discount`` it is its value where the log
    starts, the discounted sum of all rewards to come.

    Attributes
    ----------
    log : Log
        The counts.
    policy : ndarray of int, shape (S,)
        An action id per state: optimal in a wary view of the MDPs drawn.
    gain : float
        What the policy earns there, less its ``optimism``.
    bounds : tuple of float
        Certified bounds on what it earns in truth, with probability 1 - delta.
    policy_gain : ndarray of float, shape (draws,)
        What the policy earns in each MDP drawn from the posterior.
    best_gain : ndarray of float, shape (draws,)
        What the best policy earns in each.
    seen_gain : ndarray of float, shape (draws,)
        What the policy earns where what was seen of it is drawn again, and no prior has a say.
    chance : ndarray of float, shape (S,)
        In how many draws the action is a best one in its state.
    loss : ndarray of float, shape (S,)
        What playing it once in place of the best action loses, on average over draws.
    optimism : float
        By how much a policy chosen for what it seems to earn earns less.
    behaviour : float
        What going on as in the log earns: playing in each state what was played there, as often.
    behaviour_gain : ndarray of float, shape (draws,)
        The same, where what was seen is drawn again.
    delta : float
        The risk of the bounds.
    discount : float or None
        Of rewards to come; None for the average reward.
    """

    log: Log
    policy: ByNumber[np.ndarray]
    gain: InUnits[float]
    bounds: InUnits[tuple[float, float]]
    policy_gain: InUnits[np.ndarray]
    best_gain: InUnits[np.ndarray]
    seen_gain: InUnits[np.ndarray]
    chance: np.ndarray
    loss: InUnits[np.ndarray]
    optimism: InUnits[float]
    behaviour: InUnits[float]
    behaviour_gain: InUnits[np.ndarray]
    delta: float = 0.05
    discount: float | None = None

    @property
    def interval(self) -> InUnits[tuple[float, float]]:
        """What the policy earns: from the least, less its optimism, to the largest of the middle 90 % of both draws."""
        lows, highs = zip(_middle(self.policy_gain), _middle(self.seen_gain), strict=True)
        low = max(min(lows) - self.optimism, _whole_range(self.log, self.discount)[0])
        return min(low, self.gain), max(*highs, self.gain)

    @property
    def behaviour_interval(self) -> InUnits[tuple[float, float]]:
        """What going on as in the log earns: the middle 90 % of its draws, and what it earned."""
        low, high = _middle(self.behaviour_gain)
        return min(low, self.behaviour), max(high, self.behaviour)

    @property
    def regret(self) -> InUnits[float]:
        """What a better policy would earn more, on average over the draws, pairs never played left aside."""
        return float(np.mean(np.maximum(0.0, self.best_gain - self.policy_gain)))

    @property
    def is_certified(self) -> bool:
        """Whether the bounds say anything: more than the range of rewards does."""
        least, most = _whole_range(self.log, self.discount)
        return self.bounds[0] > least or self.bounds[1] < most

    def lacking(self) -> tuple[int, int] | None:
        """Which pair keeps the bounds from saying anything, and how many visits everything on the way would need.

        The pair is the one of fewest visits that the policy meets. The number is the least power of two for which the
        bounds say something once each pair of the policy that has fewer is taken to have so many, of the same kind.
        None where the bounds do, or where no number of visits helps.
        """
        if self.is_certified:
            return None
        log, by = self.log, 1.0 if self.discount is None else self.discount
        chosen = np.array([log.pairs.find(s, a) for s, a in enumerate(self.policy.tolist())])
        visits = log.seen.visits[chosen]
        met = chosen[visits > 0]
        for needed in 2 ** np.arange(1, MOST_DOUBLINGS):
            times = np.ones(log.pairs.n_pairs, np.int64)
            times[met] = np.maximum(1, -(-needed // log.seen.visits[met]))
            more = replace(log, seen=_repeated(log.seen, times))
            if replace(self, log=more, bounds=_certified(more, self.policy, self.delta, by)).is_certified:
                return int(met[np.argmin(log.seen.visits[met])]), int(needed)
        return None

    def why_uncertified(self) -> ByName[str]:
        """In words, what the bounds lack; empty where they say something."""
        if self.is_certified:
            return ""
        if (found := self.lacking()) is None:
            return "the policy may lead where the log never was"
        (pair, needed), pairs = found, self.log.pairs
        (state,) = state_labels(pairs, [int(pairs.state[pair])])
        (action,) = action_labels(pairs, [int(pairs.action[pair])])
        visits = counted(int(self.log.seen.visits[pair]), "visit")
        return f"{action} in {state} has {visits}, and all on the way would need about {needed:,}"

    def named_policy(self) -> ByName[dict[Name, Name]]:
        """``{state: action}``, by name where there are names."""
        return named_policy(self.log.pairs, self.policy)

    def table(self) -> InUnits[ByName[Table]]:
        """A row per state: the action, how often it was played there, how surely it is best, what it loses."""
        pairs = self.log.pairs
        played = np.array([pairs.find(s, a) for s, a in enumerate(self.policy.tolist())])
        return Table({
            "state": state_labels(pairs),
            "action": action_labels(pairs, self.policy.tolist()),
            "visits": self.log.seen.visits[played],
            "other_actions": np.diff(pairs.ptr) - 1,
            "chance_best": self.chance,
            "expected_loss": self.loss,
        })  # fmt: skip

    def _repr_html_(self) -> str:
        (low, high), (least, most) = self.interval, self.bounds
        facts = {
            "earns per step" if self.discount is None else f"value, discount {self.discount:g}": self.gain,
            f"{LEVEL:.0%} interval": f"{low:.6g} to {high:.6g}", "certified": f"{least:.6g} to {most:.6g}",
            "as in the log": "{:.6g}, {:.6g} to {:.6g}".format(self.behaviour, *self.behaviour_interval),
            "a better policy would earn more by": self.regret,
        }  # fmt: skip
        return card("Learned", facts, {"Policy": self.table()})

    def __repr__(self) -> str:
        low, high = self.interval
        what = f"gain {self.gain:.4g} per step" if self.discount is None else f"value {self.gain:.4g}"
        return f"Learned({what}, {LEVEL:.0%} of draws in [{low:.4g}, {high:.4g}]; as in the log {self.behaviour:.4g})"


@overload
def learn(
    log: Any, *, draws: int = ..., caution: float = ..., discount: float | None = ..., delta: float = ...,
    seed: Seed = ..., progress: bool | Advance = ..., baseline: None = None, safe: None = None, **settings: Any,
) -> Learned: ...  # fmt: skip
@overload
def learn(
    log: Any, *, draws: int = ..., caution: float = ..., discount: float | None = ..., delta: float = ...,
    seed: Seed = ..., progress: bool | Advance = ..., baseline: Any = ..., safe: float, **settings: Any,
) -> SafePolicy: ...  # fmt: skip
def learn(
    log: Any, *, draws: int = 50, caution: float = 0.0, discount: float | None = None, delta: float = 0.05,
    seed: Seed = 0, progress: bool | Advance = False, baseline: Any = None, safe: float | None = None, **settings: Any,
) -> Learned | SafePolicy:  # fmt: skip
    """The optimal policy of the problem that a log describes, and how sure one can be of it.

    Parameters
    ----------
    log : Log, or what :func:`equirl.from_log` takes
        The log.
    draws : int
        MDPs drawn from the posterior.
    caution : float
        In [0, 1]. By default actions are chosen by what they are worth on average over the draws; with a caution by the
        lower end of the interval that holds this part of the draws (0.8: only one draw in ten is worse).
    discount : float, optional
        In (0, 1): of rewards to come, as in :func:`equirl.solve`. By default the average reward is maximised.
    delta : float
        The risk of the certified bounds.
    seed : int or SeedSequence
        From which the draws follow.
    progress : bool or function
        True shows a bar on a terminal or in a notebook; a function is called as ``progress(done, draws)``.
    baseline : array of shape (S,) or (M,), optional
        With ``safe``: the policy in use, an action (id or name) for each state or a probability for each pair. By
        default what was played in the log, as often as it was.
    safe : float, optional
        In (0.5, 1), such as 0.95: the answer is then a :class:`SafePolicy`, better than the baseline with this
        confidence, or the baseline. Half of the log is spent on the test. That the log came from one policy is assumed
        where no baseline is given.
    **settings
        Settings of ``c-psrl``, whose posterior is drawn from.

    Examples
    --------
    >>> rows = [("low", "wait", 0, "low"), ("low", "fill", -1, "high"), ("high", "sell", 3, "low")] * 50
    >>> found = learn(rows, draws=20)
    >>> found.table()["action"], round(found.gain, 1), round(found.behaviour, 1)
    (['sell', 'fill'], 1.0, 0.7)
    >>> found.bounds[0] <= found.gain <= found.bounds[1]
    True
    >>> learn(rows, draws=20, safe=0.95).is_better, learn(rows[:30], draws=20, safe=0.95).is_better
    (True, False)
    """
    log = log if isinstance(log, Log) else from_log(log)
    if safe is not None:
        return _safely(log, (draws, caution, discount, seed, settings), baseline, inside("safe", safe, 0.5, 1.0))
    if baseline is not None:
        raise ValueError("a baseline is what a safe policy is compared with; pass safe=0.95 too")
    with progress_called(progress, "draws") as advanced:
        return _learned(log, draws, caution, discount, delta, seed, advanced, settings)


def _learned(
    log: Log, draws: int, caution: float, discount: float | None, delta: float, seed: Seed, advanced: Advance,
    settings: dict[str, Any],
) -> Learned:  # fmt: skip
    asked, root = _asked(draws, caution, discount, settings), seed_sequence("seed", seed)
    models, mean, best, again = wary_policy(log, asked, root)
    draws, by, seen, S = asked.draws, asked.discount, log.seen, log.pairs.n_states
    policy = log.pairs.action[best.policy]

    gains, chance, loss = np.empty((5, draws)), np.zeros(S), np.zeros(S)
    for k, model in enumerate(models):
        one = wary_model(log.pairs, seen, [model])
        plan = wary_plan(log.pairs.ptr, one, by, again.random(S))
        optimum = wary_worth(one, plan.policy, log.initial, by)
        likewise = resampled_rows(seen, best.policy, model, again, log.unit_paid)
        gains[:, k] = (
            wary_worth(one, best.policy, log.initial, by), optimum, worth_in(likewise, np.arange(S), log.initial, by),
            behaviour_worth(log.pairs, seen, log.initial, by, again, log.unit_paid),
            optimum - wary_worth(mean, plan.policy, log.initial, by),
        )  # fmt: skip
        lost = losses(one, plan, log.pairs.ptr, best.policy, by)
        chance += lost <= 2 * plan.span
        loss += lost
        advanced(k + 1, draws)
    hoped = max(0.0, float(gains[4].mean()))
    own = max(0.0, wary_worth(mean, best.policy, log.initial, by) - hoped)
    before = behaviour_worth(log.pairs, seen, log.initial, by)
    own, before, gains = (_in_units(values, by, log.reward_map) for values in (own, before, gains[:4]))
    scale, (policy_gain, best_gain, seen_gain, behaviour_gain) = log.reward_map[0], gains
    return Learned(
        log, policy, float(own), _certified(log, policy, delta, by), policy_gain, best_gain, seen_gain, chance / draws,
        scale * loss / draws, scale * hoped, float(before), behaviour_gain, delta, discount,
    )  # fmt: skip


class Asked(NamedTuple):
    """How a policy is to be found."""

    draws: int
    caution: float
    discount: float  # 1 for the average reward
    settings: dict[str, Any]


def _asked(draws: int, caution: float, discount: float | None, settings: dict[str, Any]) -> Asked:
    by = 1.0 if discount is None else inside("discount", discount)
    return Asked(whole_number("draws", draws), between("caution", caution), by, settings)


def drawn_problems(
    log: Log, draws: int, root: np.random.SeedSequence, **settings: Any
) -> tuple[Snapshot, list[ExactModel], np.random.SeedSequence]:
    """The counts, MDPs that the log may come from, drawn without a learner's hope, and a seed to go on with.

    Rewards come with successors where the log says so.
    """
    agent = posterior_of(log, root, **settings)
    agent.rows.drop_hope()
    agent.rewards.drop_hope()
    seen, prior = agent.counts.snapshot(), agent.parts.rewards
    rest, of_rewards = root.spawn(2)
    models = [agent.draw_model(seen)[0] for _ in range(BURN_IN + draws)]
    if log.unit_paid is not None and isinstance(prior, DrawnRewards) and prior.rewards != "known":
        paid = SuccessorRewards(prior, seen, log.unit_paid, of_rewards)
        models = [paid.coupled(model) for model in models]
    return seen, models[BURN_IN:], rest


def wary_policy(
    log: Log, asked: Asked, root: np.random.SeedSequence
) -> tuple[list[ExactModel], WaryModel, Plan, np.random.Generator]:
    """The MDPs drawn, the wary view of their mean, what is optimal in it, and the generator that goes on."""
    seen, models, rest = drawn_problems(log, asked.draws, root, **{**asked.settings, "discount": asked.discount})
    again = np.random.default_rng(rest)
    mean = wary_model(log.pairs, seen, models)
    wary = wary_model(log.pairs, seen, models, asked.caution, asked.discount) if asked.caution else mean
    return models, mean, wary_plan(log.pairs.ptr, wary, asked.discount, again.random(log.pairs.n_states)), again


def _safely(
    log: Log, how: tuple[int, float, float | None, Seed, dict[str, Any]], baseline: Any, safe: float
) -> SafePolicy:
    """The policy of one half of a log, if it is better by the other half; else the baseline."""
    draws, caution, discount, seed, settings = how
    asked, root = _asked(draws, caution, discount, settings), seed_sequence("seed", seed)
    given = None if baseline is None else policy_weights(log.pairs, baseline)
    one, other = halves(sample_of(log), np.random.default_rng(root.spawn(1)[0]))
    _, _, best, _ = wary_policy(replace(log, seen=one.seen, unit_paid=(one.paid, one.squares)), asked, root)
    found = judged_policy(Question(log.pairs, log.initial, asked.discount, safe, given), best.policy, one, other)
    base = behaviour_of(log.pairs, log.seen) if given is None else given
    better = found.bound > 0
    worths = (found.worth, found.baseline_worth)
    gain, before = (float(_in_units(worth, asked.discount, log.reward_map)) for worth in worths)
    return SafePolicy(
        log, found.policy if better else base, base, better, safe, gain if better else before, before,
        log.reward_map[0] * found.bound, discount,
    )  # fmt: skip


def _in_units(values: Any, discount: float, reward_map: tuple[float, float]) -> Any:
    """Gains or, with a discount, values of rewards in [0, 1] as the user has them."""
    scale, shift = reward_map
    return scale * values + shift if discount == 1.0 else original_values(values, discount, reward_map)


def _repeated(seen: Snapshot, times: np.ndarray) -> Snapshot:
    """The counts as if each pair had been visited so many times as often."""
    return seen._replace(
        count=seen.count * times[owners(seen.ptr)], visits=seen.visits * times, r_sum=seen.r_sum * times,
        r_squares=seen.r_squares * times,
    )  # fmt: skip


def _whole_range(log: Log, discount: float | None) -> tuple[float, float]:
    """The least and the largest that any policy can earn."""
    steps = 1.0 if discount is None else 1.0 / (1.0 - discount)
    return steps * log.reward_map[1], steps * sum(log.reward_map)


def _certified(log: Log, policy: np.ndarray, delta: float, discount: float) -> tuple[float, float]:
    agent = log.agent(BOUNDS_BY, delta=delta)
    if discount == 1.0:
        low, high = agent.beliefs.gain_bounds(policy)
        return low, high
    low, high = (float(log.initial @ values) for values in agent.beliefs.value_bounds(policy, discount))
    return low, high


def _middle(values: np.ndarray) -> tuple[float, float]:
    """Between which one more draw lies with probability LEVEL."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="weibull")
    return float(low), float(high)
