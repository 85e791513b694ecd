"""Learning from logs: published methods and ours, and how often a safe policy is worse than the behaviour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from equirl.estimation import Snapshot
from equirl.lab.yardsticks.offline_policies import counting, soft_spibb, spibb, spibb_at_most
from equirl.lab.yardsticks.offline_worlds import (
    DISCOUNT,
    OfflineWorld,
    counts_of,
    greedy,
    log_of,
    random_mdp,
    spibb_grid,
    wet_chicken,
)
from equirl.lab.yardsticks.yardstick import Yardstick, stored_table
from equirl.logs.log_policy import Asked, learn, wary_policy
from equirl.logs.safe_improvement import Question, halves, judged_policy, sample_of
from equirl.numerics.arrays import owners
from equirl.words.formatting import number
from equirl.words.tables import Table

Method = Callable[[OfflineWorld, np.ndarray, int], np.ndarray]  # world, counts, seed to a policy (S, A)
CONFIDENCE, DRAWS = 0.95, 20
WORST = 0.01  # part of the logs of which the mean is told
SIZES = {"wet chicken": (200, 1000, 5000), "SPIBB's grid": (20, 100, 500), "random MDPs": (20, 100, 500)}


def learned(world: OfflineWorld, counts: np.ndarray, seed: int) -> np.ndarray:
    """The policy of ``learn``."""
    return _learned(world, counts, seed, {})


def learned_alone(world: OfflineWorld, counts: np.ndarray, seed: int) -> np.ndarray:
    """The same, every pair in a class of its own."""
    return _learned(world, counts, seed, {"alpha": 1e6, "rewards": "per_pair"})


def _learned(world: OfflineWorld, counts: np.ndarray, seed: int, settings: dict[str, Any]) -> np.ndarray:
    log = log_of(world, counts)
    _, _, best, _ = wary_policy(log, Asked(DRAWS, 0.0, DISCOUNT, settings), np.random.SeedSequence(seed))
    return np.eye(world.reward.shape[1])[log.pairs.action[best.policy]]


def learned_safely(world: OfflineWorld, counts: np.ndarray, seed: int) -> np.ndarray:
    """The policy of ``learn`` with the behaviour as its baseline and a confidence of 0.95."""
    base = world.behaviour.ravel()
    found = learn(log_of(world, counts), draws=DRAWS, discount=DISCOUNT, seed=seed, baseline=base, safe=CONFIDENCE)
    return found.policy.reshape(world.reward.shape)


METHODS: dict[str, tuple[Method, int]] = {  # name: function, logs a size
    "counting": (lambda world, counts, _: counting(world, counts), 1000),
    "Pi_b-SPIBB": (lambda world, counts, _: spibb(world, counts), 1000),
    "Pi_<=b-SPIBB": (lambda world, counts, _: spibb_at_most(world, counts), 1000),
    "Soft-SPIBB": (lambda world, counts, _: soft_spibb(world, counts), 1000),
    "learn": (learned, 400),
    "learn, no classes": (learned_alone, 100),
    "learn, safe=0.95": (learned_safely, 400),
}


def measure_offline(folder: Path) -> Table:
    """Learn from the logs of every world and size; a file for each world is kept in the folder."""
    rows = []
    for name in SIZES:
        kept = folder / f"{name.replace(' ', '-')}.csv"
        if not kept.exists():
            measure_world(name, METHODS).to_csv(kept)
        rows += stored_table(kept.stem, folder).rows()
    return Table({key: [row[key] for row in rows] for key in rows[0]})


def measure_world(name: str, methods: dict[str, tuple[Method, int]]) -> Table:
    """A row for each size and method: logs, mean and mean of the worst, 0 the behaviour's worth and 1 the best."""
    sizes, logs = SIZES[name], max(n for _, n in methods.values())
    scores: dict[tuple[int, str], list[float]] = {(size, method): [] for size in sizes for method in methods}
    fixed = {"wet chicken": wet_chicken, "SPIBB's grid": spibb_grid}.get(name)
    world = fixed() if fixed else None
    for k in range(logs):
        rng = np.random.default_rng((5, k))
        here = random_mdp(rng) if world is None else world
        before, best = here.worth(here.behaviour), here.best()
        for size in sizes:
            counts = counts_of(here, size, rng)
            for method, (policy, most) in methods.items():
                if k < most:
                    scores[size, method].append((here.worth(policy(here, counts, k)) - before) / (best - before))
    rows = [(name, size, method, len(found), np.mean(found), _worst(found)) for (size, method), found in scores.items()]
    keys = ("world", "size", "method", "logs", "mean", "worst")
    return Table(dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True)))


def _worst(scores: list[float]) -> float:
    """The mean of the lowest hundredth, of one at least."""
    return float(np.mean(np.sort(scores)[: max(1, round(WORST * len(scores)))]))


def offline_tables(table: Table) -> str:
    """A table for each world: mean and worst of every method by size."""
    parts = []
    for name in SIZES:
        rows = [row for row in table.rows() if row["world"] == name]
        sizes = list(dict.fromkeys(row["size"] for row in rows))
        cell = {(row["size"], row["method"]): f"{row['mean']:.2f} / {row['worst']:.2f}" for row in rows}
        logs = {row["method"]: row["logs"] for row in rows}
        unit = "steps" if name == "wet chicken" else "episodes"
        columns = {
            f"{name}: mean / worst 1 %": list(logs),
            **{f"{size:,} {unit}": [cell[size, method] for method in logs] for size in sizes},
            "logs": list(logs.values()),
        }
        parts.append(Table(columns).to_markdown())
    return "\n\n".join(parts)


OFFLINE_YARDSTICK = Yardstick(offline_tables, measure_offline)


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

    What is tested is optimal by the counts of one half, which is more hopeful than ``learn``; the behaviour is given in
    every other log.
    """
    rows = [(name, logs, *count_violations(world(), size, logs)) for name, (world, size) in CASES.items()]
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
    rows = table.rows()
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
