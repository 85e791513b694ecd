"""An optimal policy for the problem that a log describes, and how sure one can be of it.

MDPs are drawn from the posterior of C-PSRL, which pools pairs that look alike. The policy is optimal in their mean, in
which pairs never played are of no use. Two measures of its uncertainty. *Spread*: in each drawn MDP the policy has a
gain, the best policy has another, and every action a loss. *Bounds*: certified, on the event that the truth lies in the
sets of UCRL2-B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equirl.core.checking import whole_number
from equirl.core.notebook_cards import card
from equirl.core.random_draws import draw_state
from equirl.core.seeding import Seed, seed_sequence
from equirl.core.tables import Table
from equirl.learners.posterior_sampling import PosteriorLearner
from equirl.logs.log import Log, from_log
from equirl.logs.log_classes import BURN_IN, SCANNED
from equirl.model.names import action_labels, state_labels
from equirl.planning.sweeps import Stop
from equirl.posterior.drawn_gains import gain_in, losses, mean_model
from equirl.posterior.drawn_plan import POLICY_SWEEPS, plan_from

BOUNDS_BY = "ucrl2-b"  # whose sets the bounds come from: element-wise Bernstein intervals
PLAN_ACCURACY, PLAN_SWEEPS = 1e-5, 5000
LEVEL = 0.9  # of the intervals over draws


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """A policy found from a log, with its uncertainty. Make one with :func:`learn`. All in the units of the log.

    Attributes
    ----------
    log : Log
        The counts.
    policy : ndarray of int, shape (S,)
        An action id per state: optimal in the mean of the MDPs drawn.
    gain : float
        What the policy earns per step there.
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
    """

    log: Log
    policy: np.ndarray
    gain: float
    bounds: tuple[float, float]
    policy_gain: np.ndarray
    best_gain: np.ndarray
    chance: np.ndarray
    loss: np.ndarray

    @property
    def interval(self) -> tuple[float, float]:
        """The middle 90 % of what the policy earns per step over the draws."""
        return _middle(self.policy_gain)

    @property
    def regret(self) -> float:
        """What a better policy would earn more per step, on average over the draws: what more steps could be worth."""
        return float(np.mean(np.maximum(0.0, self.best_gain - self.policy_gain)))

    def table(self) -> Table:
        """A row per state: the action, how often it was played there, how surely it is best, what it loses.

        Returns
        -------
        Table
        """
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
            "earns per step": self.gain, f"{LEVEL:.0%} interval": f"{low:.6g} to {high:.6g}",
            "certified": f"{least:.6g} to {most:.6g}", "a better policy would earn more by": self.regret,
        }  # fmt: skip
        return card("Learned", facts, {"Policy": self.table()})

    def __repr__(self) -> str:
        low, high = self.interval
        return f"Learned(gain {self.gain:.4g} per step, {LEVEL:.0%} of draws in [{low:.4g}, {high:.4g}])"


def learn(log: Any, *, draws: int = 50, delta: float = 0.05, seed: Seed = 0, **settings: Any) -> Learned:
    """The optimal policy of the problem that a log describes, and how sure one can be of it.

    Parameters
    ----------
    log : Log, or what :func:`equirl.from_log` takes
        The log.
    draws : int
        MDPs drawn from the posterior.
    delta : float
        The risk of the certified bounds.
    seed : int or SeedSequence
        From which the draws follow.
    **settings
        Settings of ``c-psrl``, whose posterior is drawn from.

    Returns
    -------
    Learned

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
    agent = posterior_of(log, root, **settings)
    seen = agent.counts.snapshot()
    models = [agent.draw_model(seen)[0] for _ in range(BURN_IN + draws)][BURN_IN:]
    start, none, rng = int(np.argmax(log.initial)), np.zeros(log.pairs.n_states), draw_state(root)
    stop = Stop(1.0, PLAN_ACCURACY, PLAN_SWEEPS, POLICY_SWEEPS)
    best = plan_from(start, log.pairs.ptr, mean_model(log.pairs, log.seen.visits > 0, models), none, stop, rng)
    policy = log.pairs.action[best.policy]
    bounding: Any = log.agent(BOUNDS_BY, delta=delta)
    bounds = bounding.gain_bounds(policy)

    gains, chance, loss, bias = np.empty((2, draws)), none.copy(), none.copy(), best.bias
    for k, model in enumerate(models):
        plan = plan_from(start, log.pairs.ptr, model, bias, stop, rng)
        bias = plan.bias
        optimum = plan.gain if plan.converged else gain_in(model, plan.policy, log.initial)
        gains[:, k] = gain_in(model, best.policy, log.initial), optimum
        lost = losses(model, plan, log.pairs.ptr, best.policy)
        chance += lost <= 2 * plan.span
        loss += lost
    scale, shift = log.reward_map
    policy_gain, best_gain = scale * gains + shift
    return Learned(
        log, policy, scale * best.gain + shift, bounds, policy_gain, best_gain, chance / draws, scale * loss / draws
    )


def posterior_of(log: Log, seed: np.random.SeedSequence, **settings: Any) -> PosteriorLearner:
    """A learner whose draws are those of the posterior, without the departures that keep it exploring."""
    agent = log.agent("c-psrl", seed, **{"scan": max(1000, log.pairs.n_pairs // SCANNED), **settings})
    assert isinstance(agent, PosteriorLearner)
    agent.rows.plain()
    return agent


def _middle(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
