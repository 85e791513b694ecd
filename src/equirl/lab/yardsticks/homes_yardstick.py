"""Other learners' homes: their own worlds and protocols, with our learners beside what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from equirl.lab.yardsticks.yardstick import Yardstick
from equirl.model import TabularMDP
from equirl.simulation import half_width, simulate
from equirl.words.formatting import mean_with_interval
from equirl.words.tables import Table
from equirl.worlds import load_world

PSRL_RIVER = "riverswim:n_states=6,forward=0.35,first_forward=0.6,last_back=0.4"
UCRL3_RIVER = "riverswim:n_states=6"
IMED_RIVER = "ergodic-riverswim:n_states=6,slip=0.0005,first_slip=0.0005,last_left=0.999,large_reward=0.99"
OPTIMISM = {"delta": 0.05}


@dataclass(frozen=True)
class Home:
    """A world of a paper, how long it is played there and here, and the regret at the end by learner of ours."""

    title: str
    world: str
    horizon: int
    runs: int
    published: Mapping[str, float | None]  # None: in a figure alone
    reset: int | None = None  # the state is reset after so many steps
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def mdp(self) -> TabularMDP:
        mdp = load_world(self.world)
        return mdp if self.reset is None else with_resets(mdp, self.reset)


HOMES = {
    "psrl": Home(
        "PSRL: RiverSwim without end", PSRL_RIVER, 10_000, 20,
        {"psrl-published": 106.0, "ucrl2": 3640.0, "psrl": None, "c-psrl": None}, settings={"ucrl2": OPTIMISM},
    ),
    "psrl-episodes": Home(
        "PSRL: RiverSwim, reset every 20 steps", PSRL_RIVER, 10_000, 20,
        {"psrl-published": 68.8, "ucrl2": 1260.0, "psrl": None, "c-psrl": None}, 20, {"ucrl2": OPTIMISM},
    ),
    "ucrl3": Home(
        "UCRL3: RiverSwim, 6 states", UCRL3_RIVER, 100_000, 40,
        dict.fromkeys(("ucrl3", "ucrl2", "ucrl2-b", "kl-ucrl", "psrl-published", "psrl", "c-psrl")),
        settings=dict.fromkeys(("ucrl3", "ucrl2", "ucrl2-b", "kl-ucrl"), OPTIMISM),
    ),
    "imed-rl": Home(
        "IMED-RL: ergodic RiverSwim, 6 states", IMED_RIVER, 100_000, 10,
        dict.fromkeys(("imed-rl", "ucrl3", "psrl-published", "psrl", "c-psrl")), settings={"ucrl3": OPTIMISM},
    ),
}  # fmt: skip


def with_resets(mdp: TabularMDP, length: int) -> TabularMDP:
    """The MDP whose state is its first one again after every ``length`` steps; the step is part of the state."""
    start = int(mdp.initial.argmax())
    pairs = []
    for step in range(length):
        for k, (s, a) in enumerate(zip(mdp.pairs.state.tolist(), mdp.pairs.action.tolist(), strict=True)):
            law = mdp.transition_probabilities(s, a) if step + 1 < length else {start: 1.0}
            later = (step + 1) % length * mdp.n_states
            pairs.append((step * mdp.n_states + s, a, {later + x: p for x, p in law.items()}, float(mdp.r_mean[k])))
    return TabularMDP.from_pairs(pairs, length * mdp.n_states, start).restrict_to_reachable()


def measure_homes(folder: Path) -> Table:
    """Every home and learner; about two minutes."""
    rows: list[tuple[str, str, float, float]] = []
    for name, home in HOMES.items():
        mdp = home.mdp()
        for learner in home.published:
            settings = home.settings.get(learner, {})
            runs = (simulate(mdp.shuffled(seed), learner, home.horizon, seed, **settings) for seed in range(home.runs))
            regret = np.array([trace.regret[-1] for trace in runs])
            rows.append((name, learner, float(regret.mean()), float(half_width(regret))))
    columns = ("home", "learner", "mean", "half")
    return Table({column: [row[k] for row in rows] for k, column in enumerate(columns)})


def homes_tables(table: Table) -> str:
    """Regret at the end, home by home."""
    found = {(row["home"], row["learner"]): mean_with_interval(row["mean"], row["half"]) for row in table}
    parts = []
    for name, home in HOMES.items():
        listed = Table(
            {
                "learner": [f"`{learner}`" for learner in home.published],
                "published": ["-" if value is None else f"{value:,.4g}" for value in home.published.values()],
                "ours": [found[name, learner] for learner in home.published],
            }
        )
        lead = f"**{home.title}**: regret at T = {home.horizon:,}, {home.runs} runs, in `{home.world}`."
        parts += [lead, listed.to_markdown()]
    return "\n\n".join(parts)


HOMES_YARDSTICK = Yardstick(homes_tables, measure_homes)
