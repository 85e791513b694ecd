"""Safe improvement in problems of the zoo's half set aside, which had no part in choosing its constant.

The problems, behaviours and lengths below were written down before any of them was played for this.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equirl.logs.log import Log, count_transitions
from equirl.logs.log_policy import Asked, wary_policy
from equirl.logs.safe_improvement import Question, halves, judged_policy, sample_of
from equirl.model import TabularMDP, draw_rewards
from equirl.solving import Policy, solve
from equirl.worlds import make

CONFIDENCE = 0.95
USUAL = 0.8  # how often the usual action is played; else any
DRAWS = 20


class AsideCase(NamedTuple):
    world: str
    usual: str  # "best": the optimal action; "habit": any, the same each time
    steps: int
    discount: float  # 1: the average reward


ASIDE: dict[str, AsideCase] = {
    f"{world}, {'mostly the best action' if usual == 'best' else 'a habit'}, {steps:,} steps": AsideCase(
        f"zoo/{world}", usual, steps, discount
    )
    for world, discount in (
        ("gearbox", 1.0), ("treatment", 1.0), ("epidemic", 1.0), ("close-call", 0.95), ("greenhouse", 0.95),
    )
    for usual, steps in (("best", 500), ("habit", 2000))
}  # fmt: skip


class Played(NamedTuple):
    """A problem with the policy in use."""

    world: TabularMDP
    behaviour: np.ndarray  # (M,)
    discount: float

    def worth(self, weights: np.ndarray) -> float:
        policy = Policy(self.world, weights)
        return policy.gain if self.discount == 1.0 else float(self.world.initial @ policy.values(self.discount))

    def best(self) -> float:
        return self.worth(np.eye(self.world.n_pairs)[optimal_pairs(self.world, self.discount)].sum(axis=0))


def optimal_pairs(world: TabularMDP, discount: float) -> np.ndarray:
    """(S,) the pair that is best in each state."""
    found = solve(world, multichain=True) if discount == 1.0 else solve(world, discount=discount)
    return np.array([world.pairs.find(s, a) for s, a in enumerate(found.policy.tolist())])


def played_in(case: AsideCase) -> Played:
    world = make(case.world)
    ptr, size = world.pairs.ptr[:-1], np.diff(world.pairs.ptr)
    habit = ptr + np.random.default_rng(0).integers(size)
    behaviour = (1 - USUAL) / size[world.pairs.state]
    behaviour[optimal_pairs(world, case.discount) if case.usual == "best" else habit] += USUAL
    return Played(world, behaviour, case.discount)


def log_played(played: Played, steps: int, rng: np.random.Generator) -> Log:
    """A log of the behaviour from where the problem starts."""
    world, behaviour, _ = played
    ptr, rows = world.pairs.ptr.tolist(), world.rows
    choice = [np.cumsum(behaviour[ptr[s] : ptr[s + 1]])[:-1].tolist() for s in range(world.n_states)]
    moves = [np.cumsum(rows.prob[rows.row(k)])[:-1].tolist() for k in range(world.n_pairs)]
    first, succ = rows.ptr.tolist(), rows.succ.tolist()
    state, pairs, after = int(rng.choice(world.n_states, p=world.initial)), [], []
    for chosen, moved in rng.random((steps, 2)).tolist():
        k = ptr[state] + bisect_right(choice[state], chosen)
        state = succ[first[k] + bisect_right(moves[k], moved)]
        pairs.append(k)
        after.append(state)
    pair = np.array(pairs)
    reward = draw_rewards(world.reward_law, world.r_mean[pair], world.concentration, rng)
    seen, paid = count_transitions(world.pairs, pair, np.array(after), reward, np.ones(steps, np.int64))
    return Log(world.pairs, seen, world.reward_map, world.initial, steps, 0, False, paid)


def improvement(played: Played, steps: int, k: int) -> float | None:
    """What the policy that passed the test in log k earns more than the behaviour; None where none passed.

    In every other log the behaviour is given, and in every other pair of logs what is tested is the policy of ``learn``
    in place of the one that is optimal by counts.
    """
    rng = np.random.default_rng((9, k))
    log = log_played(played, steps, rng)
    one, other = halves(sample_of(log), rng)
    half = replace(log, seen=one.seen, unit_paid=(one.paid, one.squares))
    if k % 4 < 2:
        pairs = optimal_pairs(half.mdp(), played.discount)
    else:
        pairs = wary_policy(half, Asked(DRAWS, 0.0, played.discount, {}), np.random.SeedSequence(k))[2].policy
    given = None if k % 2 else played.behaviour
    found = judged_policy(Question(log.pairs, log.initial, played.discount, CONFIDENCE, given), pairs, one, other)
    return played.worth(found.policy) - played.worth(played.behaviour) if found.bound > 0 else None


def count_aside(case: AsideCase, logs: int) -> tuple[int, int, float]:
    """Policies that passed, those of them that are worse, and the part of what can be gained that was, on average."""
    played = played_in(case)
    gained = [more for k in range(logs) if (more := improvement(played, case.steps, k)) is not None]
    worse = sum(more < -1e-9 for more in gained)
    return len(gained), worse, sum(gained) / logs / (played.best() - played.worth(played.behaviour))
