"""Learning from logs: published methods and ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from equirl.lab.yardsticks.offline_policies import soft_spibb, spibb, spibb_at_most
from equirl.lab.yardsticks.offline_worlds import (
    DISCOUNT,
    OfflineWorld,
    counting,
    counts_of,
    log_of,
    random_mdp,
    spibb_grid,
    wet_chicken,
)
from equirl.lab.yardsticks.yardstick import Yardstick, stored_table
from equirl.logs.log_policy import Asked, learn, wary_policy
from equirl.words.tables import Table

Method = Callable[[OfflineWorld, np.ndarray, int], np.ndarray]  # world, counts, seed to a policy (S, A)
DRAWS = 20
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
    found = learn(log_of(world, counts), draws=DRAWS, discount=DISCOUNT, seed=seed, baseline=base, safe=0.95)
    return found.policy.reshape(world.reward.shape)


METHODS: dict[str, tuple[Method, int]] = {  # name: function, logs a size
    "counting": (lambda world, counts, _: counting(world, counts), 1000),
    "Pi_b-SPIBB": (lambda world, counts, _: spibb(world, counts), 1000),
    "Pi_<=b-SPIBB": (lambda world, counts, _: spibb_at_most(world, counts), 1000),
    "Soft-SPIBB": (lambda world, counts, _: soft_spibb(world, counts), 1000),
    "learn": (learned, 1000),
    "learn, no classes": (learned_alone, 40),
    "learn, safe=0.95": (learned_safely, 100),
}


def measure_offline(folder: Path) -> Table:
    """Learn from the logs of every world and size; scores kept in the folder, log by log, are not computed again."""
    tables = [measure_world(name, METHODS, folder / f"{name.replace(' ', '-')}.csv") for name in SIZES]
    rows = [row for table in tables for row in table.rows()]
    return Table({key: [row[key] for row in rows] for key in rows[0]})


def measure_world(name: str, methods: dict[str, tuple[Method, int]], kept: Path) -> Table:
    """A row for each size and method: logs, mean and mean of the worst, 0 the behaviour's worth and 1 the best."""
    if not kept.exists():
        kept.write_text("log,size,method,score\n", encoding="utf-8")
    done = {
        (row["log"], row["size"], row["method"]): row["score"] for row in stored_table(kept.stem, kept.parent).rows()
    }
    fixed = {"wet chicken": wet_chicken, "SPIBB's grid": spibb_grid}.get(name)
    world = fixed() if fixed else None
    for k in range(max(most for _, most in methods.values())):
        wanted = [(k, size, method) for size in SIZES[name] for method, (_, most) in methods.items() if k < most]
        if done.keys() >= set(wanted):
            continue
        rng = np.random.default_rng((5, k))
        here = random_mdp(rng) if world is None else world
        before, best = here.worth(here.behaviour), here.best()
        counts = {size: counts_of(here, size, rng) for size in SIZES[name]}
        with kept.open("a", encoding="utf-8") as file:
            for key in wanted:
                if key not in done:
                    policy = methods[key[2]][0](here, counts[key[1]], k)
                    done[key] = (here.worth(policy) - before) / (best - before)
                    file.write(f'{k},{key[1]},"{key[2]}",{done[key]!r}\n')
    rows = []
    for size in SIZES[name]:
        for method, (_, most) in methods.items():
            scores = [done[k, size, method] for k in range(most)]
            rows.append((name, size, method, most, np.mean(scores), _worst(scores)))
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
