"""How often a policy that passed as better than the behaviour is worse than it, in problems whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from equirl.estimation import Snapshot
from equirl.lab.yardsticks.offline_worlds import (
    DISCOUNT,
    OfflineWorld,
    counting,
    counts_of,
    greedy,
    log_of,
    spibb_grid,
    wet_chicken,
)
from equirl.lab.yardsticks.safety_aside import ASIDE, CONFIDENCE, count_aside
from equirl.lab.yardsticks.yardstick import Yardstick
from equirl.logs.safe_improvement import Question, halves, judged_policy, sample_of
from equirl.numerics.arrays import owners
from equirl.words.formatting import number
from equirl.words.tables import Table


def _bandit() -> OfflineWorld:
    laws = np.tile(np.array([[p, 1 - p] for p in (0.5, 0.49, 0.48)]), (2, 1, 1))
    return _arriving(laws, np.array([1.0, 0.0]), np.tile([0.8, 0.1, 0.1], (2, 1)))


def _rare_fall(chance: float) -> OfflineWorld:
    """One way round pays 0.5, another 0.52 but for a rare fall, from which one returns in 20 steps on average."""
    laws = np.zeros((4, 2, 4))
    laws[0, 0, 1], laws[0, 1, 2], laws[0, 1, 3] = 1.0, 1 - chance, chance
    laws[1:3, :, 0], laws[3, :, 3], laws[3, :, 0] = 1.0, 0.95, 0.05
    return _arriving(laws, np.array([0.5, 0.5, 0.52, 0.0]), np.tile([0.7, 0.3], (4, 1)))


def _small(seed: int, soft: bool) -> OfflineWorld:
    """A random MDP of 5 states and 3 actions; the behaviour is at random, or mostly the best."""
    rng = np.random.default_rng(seed)
    laws, pays = rng.dirichlet(np.full(5, 0.3), size=(5, 3)), rng.random(5)
    world = _arriving(laws, pays, rng.dirichlet(np.ones(3), size=5))
    return world._replace(behaviour=0.1 + 0.7 * greedy(world.laws, world.reward)) if soft else world


def _arriving(laws: np.ndarray, pays: np.ndarray, behaviour: np.ndarray) -> OfflineWorld:
    return OfflineWorld(laws, laws @ pays, np.tile(pays, (len(laws), 1)), behaviour, -1)


CASES: dict[str, tuple[Callable[[], OfflineWorld], int]] = {  # name: world, size of a log
    "three coins, 0.5 (played mostly), 0.49, 0.48; 100 steps": (_bandit, 100),
    "three coins, 1,000 steps": (_bandit, 1000),
    "a fall in 33, 300 steps": (lambda: _rare_fall(0.03), 300),
    "a fall in 33, 1,000 steps": (lambda: _rare_fall(0.03), 1000),
    "a fall in 100, 1,000 steps": (lambda: _rare_fall(0.01), 1000),
    "a random MDP, mostly the best action, 200 steps": (lambda: _small(1, True), 200),
    "a random MDP, mostly the best action, 1,000 steps": (lambda: _small(1, True), 1000),
    "a random MDP, random behaviour, 200 steps": (lambda: _small(2, False), 200),
    "wet chicken, 5,000 steps": (wet_chicken, 5000),
    "SPIBB's grid, 100 episodes": (spibb_grid, 100),
}


def measure_safety(folder: Path, logs: int = 1000) -> Table:
    """How often the test lets a policy pass, and how often such a one is worse than the behaviour in truth.

    What is tested is optimal by the counts of one half, which is more hopeful than ``learn``, or in problems set aside
    the policy of ``learn`` in half of the logs; the behaviour is given in every other log.
    """
    rows = [(name, logs, *count_violations(world(), size, logs)) for name, (world, size) in CASES.items()]
    rows += [(name, logs, *count_aside(case, logs)) for name, case in ASIDE.items()]
    keys = ("case", "logs", "better", "worse", "gain")
    return Table(dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True)))


def count_violations(
    world: OfflineWorld, size: int, logs: int, confidence: float = CONFIDENCE
) -> tuple[int, int, float]:
    """Policies that passed, those of them that are worse, and the part of what can be gained that was, on average."""
    before, best = world.worth(world.behaviour), world.best()
    scores = []
    for k in range(logs):
        rng = np.random.default_rng((7, k))
        log = log_of(world, counts_of(world, size, rng))
        one, other = halves(sample_of(log), rng)
        asked = Question(log.pairs, log.initial, DISCOUNT, confidence, None if k % 2 else world.behaviour.ravel())
        played = np.arange(0, log.pairs.n_pairs, world.reward.shape[1]) + counting(
            world, _dense(world, one.seen)
        ).argmax(axis=1)
        found = judged_policy(asked, played, one, other)
        if found.bound > 0:
            scores.append((world.worth(found.policy.reshape(world.reward.shape)) - before) / (best - before))
    return len(scores), sum(score < -1e-9 for score in scores), float(np.sum(scores) / logs)


def _dense(world: OfflineWorld, seen: Snapshot) -> np.ndarray:
    counts = np.zeros((len(seen.visits), len(world.laws)), np.int64)
    counts[owners(seen.ptr), seen.succ] = seen.count
    return counts.reshape(world.laws.shape)


def safety_tables(table: Table) -> str:
    """A table of the cases by which the test was made, and one of those set aside."""
    rows = table.rows()
    seen, aside = ([row for row in rows if (row["case"] in ASIDE) == apart] for apart in (False, True))
    return f"{_violations(seen)}\n\nProblems set aside:\n\n{_violations(aside)}"


def _violations(rows: list[dict[str, Any]]) -> str:
    columns = {
        "logs of": [row["case"] for row in rows],
        "logs": [row["logs"] for row in rows],
        "better, by the test": [row["better"] for row in rows],
        "worse in truth": [row["worse"] for row in rows],
        "gained, of what can be": [number(row["gain"], 2) for row in rows],
    }
    total, worse, most = sum(columns["logs"]), sum(columns["worse in truth"]), max(r["worse"] / r["logs"] for r in rows)
    verdict = (
        f"Of {total:,} logs {worse:,} gave a policy that is worse, {100 * most:.1f} % in the case with most; "
        f"{100 * (1 - CONFIDENCE):.0f} % are allowed."
    )
    return f"{Table(columns).to_markdown()}\n\n{verdict}"


SAFETY_YARDSTICK = Yardstick(safety_tables, measure_safety)
