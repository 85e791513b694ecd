"""Planning: a sweep of extended value iteration against what a sweep must cost at least, and against others' sweeps.

Then whole plans to the accuracy 1/sqrt(t): plain EVI from 0 against cheap sweeps along a policy, and a warm start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from equirl.interop.convert import to_quantecon
from equirl.lab.benchmarks.measurement import Finding, Measure, Sizes, Skipped, power, seconds_of, side_by_side
from equirl.learners import POLICY_SWEEPS
from equirl.model import TabularMDP
from equirl.planning import ConfidenceSet, extended_value_iteration, single_sweep
from equirl.worlds import make

N_ACTIONS, BRANCHING = 4, 5
MANY_SWEEPS = 100
ACCURACY = 1e-3  # 1 / sqrt(t) after a million steps
RADII = {"early": 0.5, "late": 0.02}  # largest L1 radius: while learning, and when nearly all is known
Sweep = Callable[[], object]


def measure_planning(sizes: Sizes) -> Iterator[Finding]:
    mdp = random_mdp(sizes.sweep_states)
    yield from _against_the_product(mdp, sizes.seconds)
    yield from _while_values_move(sizes)
    yield from _against_dense(sizes)
    yield from _against_quantecon(mdp, sizes.seconds)
    yield from _against_mdpsolver(mdp, sizes.seconds)
    states = sizes.growth_states
    growth = power(states, [seconds_of(settled_sweep(random_mdp(S)), sizes.seconds / 3) for S in states])
    yield Measure("growth of a sweep with S", growth, "power", f"S = {states[0]} to {states[-1]}")


def random_mdp(n_states: int) -> TabularMDP:
    """A random MDP with 4 actions and 5 successors per pair."""
    return make("random", n_states=n_states, n_actions=N_ACTIONS, branching=BRANCHING, seed=0)


def balls(mdp: TabularMDP, largest: float = 0.5) -> ConfidenceSet:
    """Plausible models around the true transition probabilities."""
    radius = largest * np.random.default_rng(0).random(mdp.n_pairs)
    return ConfidenceSet(mdp.rows, radius, mdp.r_mean, mdp.r_mean)


def settled_sweep(mdp: TabularMDP, largest: float = 0.5) -> Sweep:
    """One optimistic sweep, over and over from the same u, so that rows are in order."""
    models = balls(mdp, largest)
    u = extended_value_iteration(mdp.pairs.ptr, models, ACCURACY).bias
    return single_sweep(mdp.pairs.ptr, models, u)


def _matrix(mdp: TabularMDP) -> Any:
    return csr_matrix((mdp.rows.prob, mdp.rows.succ, mdp.rows.ptr), shape=(mdp.n_pairs, mdp.n_states))


def value_sweep(mdp: TabularMDP) -> Callable[[np.ndarray], np.ndarray]:
    """A plain value-iteration sweep: one CSR product and NumPy's maximum over actions."""
    matrix, shape = _matrix(mdp), (mdp.n_states, -1)
    return lambda u: (matrix @ u + mdp.r_mean).reshape(shape).max(axis=1)


def _against_the_product(mdp: TabularMDP, seconds: float) -> Iterator[Finding]:
    u = np.random.default_rng(1).random(mdp.n_states)
    matrix, plain = _matrix(mdp), value_sweep(mdp)
    times = side_by_side(
        {"optimistic": settled_sweep(mdp), "product": lambda: matrix @ u, "plain": lambda: plain(u)}, seconds
    )
    note = f"S = {mdp.n_states}, A = {N_ACTIONS}, {BRANCHING} successors, rows settled"
    optimistic = times["optimistic"]
    yield Measure("a sweep of EVI", 1e3 * optimistic, "ms", note)
    yield Measure("... against the bare CSR product", optimistic / times["product"], "times", note)
    yield Measure("... against a plain value-iteration sweep", optimistic / times["plain"], "times", note)


def _while_values_move(sizes: Sizes) -> Iterator[Finding]:
    side = max(7, round(sizes.sweep_states**0.5))
    for mdp, what in (
        (random_mdp(sizes.sweep_states), "random MDP"),
        (make("four-room", height=side, width=side), "four-room grid"),
    ):
        models, plain = balls(mdp), value_sweep(mdp)
        n = extended_value_iteration(mdp.pairs.ptr, models, ACCURACY).n_sweeps

        cases: dict[str, Sweep] = {
            "extended": partial(extended_value_iteration, mdp.pairs.ptr, models, ACCURACY),
            "value": partial(_repeat, plain, n, np.zeros(mdp.n_states)),
        }
        times = side_by_side(cases, sizes.seconds)
        note = f"{what}, S = {mdp.n_states}, {n} sweeps from u = 0 to span {ACCURACY:g}"
        ratio = times["extended"] / times["value"]
        yield Measure("a whole EVI against as many value-iteration sweeps", ratio, "times", note)


def _repeat(plain: Callable[[np.ndarray], np.ndarray], n: int, u: np.ndarray) -> None:
    for _ in range(n):
        u = plain(u)


def dense_sweep(probabilities: np.ndarray, radius: np.ndarray, reward: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A sweep of extended value iteration as usually written with NumPy, O(S^2 A)."""
    order = np.argsort(u)
    p = probabilities[:, order]
    p[:, -1] = np.minimum(1.0, p[:, -1] + radius / 2)
    excess = p.sum(axis=1) - 1
    below = np.cumsum(p, axis=1) - p
    p -= np.clip(excess[:, None] - below, 0.0, p)
    return (reward + p @ u[order]).reshape(len(u), -1).max(axis=1)


def _against_dense(sizes: Sizes) -> Iterator[Finding]:
    mdp = random_mdp(sizes.dense_states)
    models, probabilities = balls(mdp), _matrix(mdp).toarray()
    u = extended_value_iteration(mdp.pairs.ptr, models, ACCURACY).bias
    many = partial(extended_value_iteration, mdp.pairs.ptr, models, -1.0, start=u, max_sweeps=MANY_SWEEPS)
    cases: dict[str, Sweep] = {
        "optimistic": many,  # in one call, as learners sweep: a call alone costs as much as so small a sweep
        "dense": lambda: dense_sweep(probabilities, models.p_radius, models.r_upper, u),
    }
    times = side_by_side(cases, sizes.seconds)
    ratio, note = MANY_SWEEPS * times["dense"] / times["optimistic"], f"S = {mdp.n_states}, A = {N_ACTIONS}"
    yield Measure("dense NumPy EVI sweep against ours", ratio, "times", note)


def _against_quantecon(mdp: TabularMDP, seconds: float) -> Iterator[Finding]:
    name = "QuantEcon's Bellman operator against our sweep, no radii"
    try:
        problem = to_quantecon(mdp, discount=0.99)
    except ImportError:
        yield Skipped(name, "quantecon is not installed")
        return
    u, out = np.random.default_rng(1).random(mdp.n_states), np.empty(mdp.n_states)
    cases: dict[str, Sweep] = {
        "optimistic": settled_sweep(mdp, largest=0.0),
        "quantecon": lambda: problem.bellman_operator(u, Tv=out),
    }
    times = side_by_side(cases, seconds)
    yield Measure(name, times["quantecon"] / times["optimistic"], "times", f"S = {mdp.n_states}")


def _against_mdpsolver(mdp: TabularMDP, seconds: float) -> Iterator[Finding]:
    name = "mdpsolver's value iteration against ours, no radii"
    try:
        solver = lists_for_mdpsolver(mdp)
    except ImportError:
        yield Skipped(name, "mdpsolver is not installed")
        return
    models = balls(mdp, largest=0.0)
    cases: dict[str, Sweep] = {
        "ours": partial(extended_value_iteration, mdp.pairs.ptr, models, ACCURACY),
        "mdpsolver": partial(
            solver.solve, algorithm="vi", criterion="average", tolerance=ACCURACY, parallel=False,
            postProcessing=False, makeFinalCheck=False, initValueVector=[0.0] * mdp.n_states,
        ),
    }  # fmt: skip
    times = side_by_side(cases, seconds)
    note = f"S = {mdp.n_states}, whole runs from 0 to span {ACCURACY:g}, average reward, one thread"
    yield Measure(name, times["mdpsolver"] / times["ours"], "times", note)


def lists_for_mdpsolver(mdp: TabularMDP) -> Any:
    """The MDP as mdpsolver keeps it."""
    import mdpsolver  # type: ignore[import-not-found,import-untyped]

    solver = mdpsolver.model()
    solver.mdp(
        rewards=mdp.r_mean.reshape(mdp.n_states, -1).tolist(),
        tranMatColumns=_by_state(mdp, mdp.rows.succ),
        tranMatProbs=_by_state(mdp, mdp.rows.prob),
    )
    return solver


def _by_state(mdp: TabularMDP, values: np.ndarray) -> list[list[list[float]]]:
    """Values by successor as lists, by state, action and successor."""
    rows, ptr = [row.tolist() for row in np.split(values, mdp.rows.ptr[1:-1])], mdp.pairs.ptr
    return [rows[ptr[s] : ptr[s + 1]] for s in range(mdp.n_states)]


def measure_acceleration(sizes: Sizes) -> Iterator[Finding]:
    """Full sweeps and time of plain and of accelerated planning, in rivers, grids and a random MDP."""
    side = max(9, round(sizes.sweep_states**0.5) + 2)
    for mdp, what in (
        (make("ergodic-riverswim", n_states=50), "river of 50"),
        (make("four-room", height=22, width=22), "20x20 grid"),
        (make("four-room", height=side, width=side), f"{side - 2}x{side - 2} grid"),
        (random_mdp(sizes.sweep_states), f"random, S = {sizes.sweep_states}"),
    ):
        for stage, largest in RADII.items():
            yield from _against_plain(mdp, f"{what}, {stage}", largest, sizes.seconds)


def _against_plain(mdp: TabularMDP, where: str, largest: float, seconds: float) -> Iterator[Finding]:
    models = balls(mdp, largest)
    before = extended_value_iteration(mdp.pairs.ptr, models._replace(p_radius=1.05 * models.p_radius), ACCURACY)
    plan = partial(extended_value_iteration, mdp.pairs.ptr, models, ACCURACY)
    cases = {
        "plain": plan,
        "cheap": partial(plan, policy_sweeps=POLICY_SWEEPS),
        "warm": partial(plan, policy_sweeps=POLICY_SWEEPS, start=before.bias),
    }
    sweeps = {name: case().n_sweeps for name, case in cases.items()}
    times = side_by_side(cases, seconds)
    for name, what in (("cheap", "cheap sweeps between"), ("warm", "a warm start, and cheap sweeps")):
        note = f"{where}: {sweeps['plain']} full sweeps plain, {sweeps[name]} so"
        yield Measure(f"plain EVI against EVI with {what}", times["plain"] / times[name], "times", note)
