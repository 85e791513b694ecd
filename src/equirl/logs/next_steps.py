"""Where more steps are best spent: what a learner that starts from a log does in worlds drawn from its posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from equirl.learners.contract import Learner, pair_played
from equirl.logs.log import Log, from_log
from equirl.logs.log_classes import BURN_IN, posterior_of
from equirl.model.pairs import action_labels, state_labels
from equirl.numerics.seeding import Seed, seed_sequence
from equirl.planning.exact_model import ExactModel
from equirl.words.checking import inside, whole_number
from equirl.words.tables import Table


def next_steps(
    log: Any, steps: int = 1000, *, learner: str = "c-psrl", discount: float | None = None, draws: int = 10,
    seed: Seed = 0,
) -> Table:  # fmt: skip
    """On which pairs the next steps are best spent.

    A world is drawn from the posterior; a learner that starts from the log plays ``steps`` steps in it, learning as it
    goes; once per draw, from the first state. What counts is how often it plays each pair, on average over the worlds:
    ways to get somewhere are counted, and what is known to be of no use is not.

    Parameters
    ----------
    log : Log, or what :func:`equirl.from_log` takes
        The log.
    steps : int
        How many steps can be spent.
    learner : str
        Who spends them.
    discount : float, optional
        In (0, 1): the learner is after discounted rewards. Without: as it is by itself, most after the average.
    draws : int
        Worlds drawn.
    seed : int or SeedSequence
        From which everything follows.

    Returns
    -------
    Table
        A row per pair that is played at all, the most played first: ``state``, ``action``, ``steps`` (expected),
        ``visits`` (in the log).

    Examples
    --------
    >>> rows = [("low", "wait", 0, "low"), ("low", "fill", -1, "high"), ("high", "sell", 3, "low")] * 50
    >>> table = next_steps(rows, steps=100, draws=5)
    >>> round(sum(table["steps"]))
    100
    """
    log = log if isinstance(log, Log) else from_log(log)
    steps, draws = whole_number("steps", steps), whole_number("draws", draws)
    aim = {} if discount is None else {"discount": inside("discount", discount)}
    root = seed_sequence("seed", seed)
    of_worlds, of_play, *of_learners = root.spawn(2 + draws)
    posterior = posterior_of(log, of_worlds)
    posterior.rows.plain()
    first = int(np.argmax(log.initial))
    seen, rng = posterior.counts.snapshot(), np.random.default_rng(of_play)
    spent = np.zeros(log.pairs.n_pairs)
    for k in range(-BURN_IN, draws):
        world, _ = posterior.draw_model(seen)
        if k >= 0:
            spent += play_drawn(log.agent(learner, of_learners[k], **aim), world, steps, first, rng)
    spent /= draws
    order = np.argsort(-spent, kind="stable")[: np.count_nonzero(spent)]
    return Table({
        "state": state_labels(log.pairs, log.pairs.state[order].tolist()),
        "action": action_labels(log.pairs, log.pairs.action[order].tolist()),
        "steps": spent[order],
        "visits": log.seen.visits[order],
    })  # fmt: skip


def play_drawn(agent: Learner, world: ExactModel, steps: int, state: int, rng: np.random.Generator) -> np.ndarray:
    """(M,) how often a learner plays each pair in so many steps of a drawn MDP; rewards are coins with their means."""
    spent, ptr, S = np.zeros(len(world.rest)), np.array(agent.pairs.ptr), agent.pairs.n_states
    for _ in range(steps):
        stretch = agent.decide(state)
        pair = int(pair_played(stretch, ptr, state, 0))
        row = world.rows.row(pair)
        low, high = row.start, row.stop
        along = np.cumsum(world.rows.prob[row])
        place = int(np.searchsorted(along, rng.random() * (along[-1] + world.rest[pair] if high > low else 1.0)))
        after = int(world.rows.succ[low + place]) if place < high - low else int(rng.integers(S))
        agent.record_step(pair, float(rng.random() < world.reward[pair]), after)
        spent[pair] += 1
        state = after
    return spent
