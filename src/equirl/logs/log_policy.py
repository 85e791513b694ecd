"""An optimal policy for the problem that a log describes, and how sure one can be of it.

MDPs are drawn from the posterior of C-PSRL, which pools pairs that look alike. The policy is optimal in their mean, in
which pairs never played are of no use. Two measures of its uncertainty. *Spread*: in each drawn MDP the policy has a
gain, the best policy has another, and every action a loss. The policy's gain is also taken where what was seen is
drawn again (``posterior.drawn_plan``); its interval holds the middle of both. *Bounds*: certified, on the event that
the truth lies in the sets of UCRL2-B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.logs.log import Log, from_log
from equirl.logs.log_classes import BURN_IN, posterior_of
from equirl.model.pairs import action_labels, state_labels
from equirl.numerics.random_draws import draw_state
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.planning.optimistic_planning import Stop
from equirl.posterior.drawn_plan import (
    POLICY_SWEEPS,
    best_worth,
    losses,
    mean_model,
    plan_from,
    resampled_rows,
    worth_in,
)
from equirl.solving.discounted import in_units
from equirl.words.checking import inside, whole_number
from equirl.words.tables import Table, card

BOUNDS_BY = "ucrl2-b"  # whose sets the bounds come from: element-wise Bernstein intervals
PLAN_ACCURACY, PLAN_SWEEPS = 1e-5, 5000
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
        An action id per state: optimal in the mean of the MDPs drawn.
    gain : float
        What the policy earns there.
    bounds : tuple of float
        Certified bounds on what it earns in truth, with probability 1 - delta.
    policy_gain : ndarray of float, shape (draws,)
        What the policy earns in each MDP drawn from the posterior.
    best_gain : ndarray of float, shape (draws,)
        What the best policy earns in each.
    chance : ndarray of float, shape (S,)
        In how many draws the action is a best one in its state.
    loss : ndarray of float, shape (S,)
        What playing it once in place of the best action loses, on average over draws.
    seen_gain : ndarray of float, shape (draws,)
        What the policy earns where what was seen of it is drawn again, and no prior has a say.
    discount : float or None
        Of rewards to come; None for the average reward.
    """

    log: Log
    policy: np.ndarray
    gain: float
    bounds: tuple[float, float]
    policy_gain: np.ndarray
    best_gain: np.ndarray
    chance: np.ndarray
    loss: np.ndarray
    seen_gain: np.ndarray
    discount: float | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """What the policy earns: from the least to the largest of the middle 90 % of both kinds of draws."""
        lows, highs = zip(_middle(self.policy_gain), _middle(self.seen_gain), strict=True)
        return min(lows), max(highs)

    @property
    def regret(self) -> float:
        """What a better policy would earn more, on average over the draws: what more steps could be worth."""
        return float(np.mean(np.maximum(0.0, self.best_gain - self.policy_gain)))

    def table(self) -> Table:
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
            "a better policy would earn more by": self.regret,
        }  # fmt: skip
        return card("Learned", facts, {"Policy": self.table()})

    def __repr__(self) -> str:
        low, high = self.interval
        what = f"gain {self.gain:.4g} per step" if self.discount is None else f"value {self.gain:.4g}"
        return f"Learned({what}, {LEVEL:.0%} of draws in [{low:.4g}, {high:.4g}])"


def learn(
    log: Any, *, draws: int = 50, discount: float | None = None, delta: float = 0.05, seed: Seed = 0, **settings: Any
) -> Learned:
    """The optimal policy of the problem that a log describes, and how sure one can be of it.

    Parameters
    ----------
    log : Log, or what :func:`equirl.from_log` takes
        The log.
    draws : int
        MDPs drawn from the posterior.
    discount : float, optional
        In (0, 1): of rewards to come, as in :func:`equirl.solve`. By default the average reward is maximised.
    delta : float
        The risk of the certified bounds.
    seed : int or SeedSequence
        From which the draws follow.
    **settings
        Settings of ``c-psrl``, whose posterior is drawn from.

    Examples
    --------
    >>> rows = [("low", "wait", 0, "low"), ("low", "fill", -1, "high"), ("high", "sell", 3, "low")] * 50
    >>> found = learn(rows, draws=20)
    >>> found.table()["action"], round(found.gain, 1)
    (['sell', 'fill'], 1.0)
    >>> found.bounds[0] <= found.gain <= found.bounds[1]
    True
    """
    log = log if isinstance(log, Log) else from_log(log)
    draws, root = whole_number("draws", draws), seed_sequence("seed", seed)
    by = 1.0 if discount is None else inside("discount", discount)
    agent = posterior_of(log, root, **{**settings, "discount": by})
    agent.rows.plain()
    seen = agent.counts.snapshot()
    models = [agent.draw_model(seen)[0] for _ in range(BURN_IN + draws)][BURN_IN:]
    start, none, rng = int(np.argmax(log.initial)), np.zeros(log.pairs.n_states), draw_state(root)
    stop = Stop(by, PLAN_ACCURACY * (1.0 if discount is None else 1.0 - by), PLAN_SWEEPS, POLICY_SWEEPS)
    mean = mean_model(log.pairs, log.seen.visits > 0, models)
    best = plan_from(start, log.pairs.ptr, mean, none, stop, rng)
    policy = log.pairs.action[best.policy]

    gains, chance, loss, bias = np.empty((3, draws)), none.copy(), none.copy(), best.bias
    again, every = np.random.default_rng(root.spawn(1)[0]), np.arange(log.pairs.n_states)
    for k, model in enumerate(models):
        plan = plan_from(start, log.pairs.ptr, model, bias, stop, rng)
        bias = plan.bias
        optimum = best_worth(model, plan, log.initial, by)
        likewise = resampled_rows(seen, best.policy, model, again)
        gains[:, k] = (
            worth_in(model, best.policy, log.initial, by), optimum, worth_in(likewise, every, log.initial, by)
        )  # fmt: skip
        lost = losses(model, plan, log.pairs.ptr, best.policy, by)
        chance += lost <= 2 * plan.span
        loss += lost
    own = best_worth(mean, best, log.initial, by)
    own, policy_gain, best_gain, seen_gain = (_in_units(values, by, log.reward_map) for values in (own, *gains))
    bounds, loss = _certified(log, policy, delta, by), log.reward_map[0] * loss / draws
    return Learned(log, policy, float(own), bounds, policy_gain, best_gain, chance / draws, loss, seen_gain, discount)


def _in_units(values: Any, discount: float, reward_map: tuple[float, float]) -> Any:
    """Gains or, with a discount, values of rewards in [0, 1] as the user has them."""
    scale, shift = reward_map
    return scale * values + shift if discount == 1.0 else in_units(values, discount, reward_map)


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
