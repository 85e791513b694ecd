"""Problems that a log may come from, drawn from the posterior of C-PSRL without the hope of one who explores."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.estimation.counts import Snapshot
from equirl.logs.log import Log
from equirl.logs.log_classes import BURN_IN, posterior_of
from equirl.planning.exact_model import ExactModel
from equirl.posterior.reward_priors import DrawnRewards
from equirl.posterior.successor_rewards import SuccessorRewards


def drawn_problems(
    log: Log, draws: int, root: np.random.SeedSequence, **settings: Any
) -> tuple[Snapshot, list[ExactModel], np.random.SeedSequence]:
    """The counts, drawn MDPs in which rewards come with successors where the log says so, and a seed to go on with."""
    agent = posterior_of(log, root, **settings)
    agent.rows.plain()
    agent.rewards.plain()
    seen, prior = agent.counts.snapshot(), agent.parts.rewards
    rest, of_rewards = root.spawn(2)
    models = [agent.draw_model(seen)[0] for _ in range(BURN_IN + draws)]
    if log.unit_paid is not None and isinstance(prior, DrawnRewards) and prior.rewards != "known":
        paid = SuccessorRewards(prior, seen, log.unit_paid, of_rewards)
        models = [paid.coupled(model) for model in models]
    return seen, models[BURN_IN:], rest
