"""Sweeps of large blocks: full ones, and between them cheap ones that follow the best pairs found.

A full sweep computes T u, the least and the largest of T u - u (the bracket, a certificate for whatever u is) and the
pair of each state that attains T u. The rows of these pairs are gathered once, and u is swept along them, which costs
a fraction of a full sweep, until the policy's own changes are a small part of the bracket or all that was asked for.

An *engine* makes the sweeps; the loop above is the same for all of them. The one here is compiled for the processor;
:mod:`equirl.solving.gpu_engine` has the same sweeps on a GPU.

Where values travel far (a goal a thousand steps away, a discount near 1), sweeps in which all states wait for their
neighbours' last values need as many sweeps as there are steps. There states are swept *in order*, each with the newest
values of its successors: from where most is paid outwards, then from the largest value to the smallest, so that what a
state's policy leads to is known before the state is looked at (Gauss-Seidel; steps from s to s are summed up).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from equirl.model.rows import Rows
from equirl.numerics.compiling import kernel
from equirl.solving.chains import Block, Model, incoming, steps_to
from equirl.solving.value_iteration import Aim, bellman, best_sweep

LARGE = 5 * 10**5  # successors of a block from which on sweeps are made so
EVALUATIONS = 20  # cheap sweeps after a full one, at most
FRACTION = 0.05  # of the bracket: cheap sweeps end where their own is smaller
STRETCH = 2**14  # states swept together in order: their rows stay in the processor's cache
TURNS, SETTLED = 20, 0.01  # most sweeps of a stretch, and the part of the first change that ends them
PATIENCE = 10  # rounds in order that do not halve the bracket, before other methods are tried


class Engine(Protocol):
    """A value function u with the sweeps that change it."""

    def sweep(self, discount: float) -> tuple[float, float]:
        """Find T u and the pairs that attain it; returns the smallest and the largest of T u - u."""
        ...

    def step(self, damping: float, centre: float) -> None:
        """u <- u + damping (T u - u - centre)."""
        ...

    def follow(self, aim: Aim, most: int, enough: float) -> int:
        """Up to ``most`` damped sweeps of u along the pairs found, until their bracket is ``enough``; how many."""
        ...

    def size(self, shift: float) -> float:
        """The largest of |u + shift|."""
        ...


def modified_sweeps(
    engine: Engine, aim: Aim, done: int = 0, evaluations: int = EVALUATIONS
) -> tuple[int, float, float]:
    """Sweep until the bracket is narrow enough, or rounding is all that is left of it, or sweeps run out.

    Returns the number of sweeps, with those ``done`` before, and the bracket of the u that the engine then holds. (In
    plain Python, for any engine; small blocks are swept in compiled loops.)
    """
    while True:
        low, high = engine.sweep(aim.discount)
        done += 1
        half, centre = (high - low) / 2, (low + high) / 2
        noise = aim.rounding * (1 + engine.size(aim.shift * centre) + half)
        if aim.weight * half + noise <= aim.accuracy or aim.weight * half <= noise or done >= aim.max_sweeps:
            return done, low, high
        engine.step(aim.damping, centre)
        enough = max(FRACTION * (high - low), aim.accuracy / aim.weight if aim.weight else np.inf)
        done += engine.follow(aim, min(evaluations, aim.max_sweeps - done - 1), enough)


def swept(
    part: Block, u: np.ndarray, aim: Aim, done: int = 0, evaluations: int = EVALUATIONS, device: str = "cpu"
) -> tuple[CompiledEngine, int, float, float]:
    """Sweep ``u`` in place; the engine at the end, with T u and its pairs, the number of sweeps and the bracket.

    After a GPU the processor sweeps on: it alone certifies.
    """
    if device == "gpu":
        from equirl.solving.gpu_engine import GpuEngine, swept_on_gpu

        done = swept_on_gpu(GpuEngine(part.pair_ptr, part.rows, part.reward, u), u, aim, done, evaluations)
    engine = CompiledEngine(part, u)
    return engine, *modified_sweeps(engine, aim, done, evaluations)


class CompiledEngine:
    """Sweeps compiled for the processor; ``u`` is changed in place."""

    def __init__(self, part: Block, u: np.ndarray) -> None:
        self.model, self.u, self.out = part.model, u, np.empty(part.n_states)
        self.pair = np.zeros(part.n_states, np.int64)
        self._chain: Chain | None = None  # of the pairs, once it is needed
        self._gathered = False

    def sweep(self, discount: float) -> tuple[float, float]:
        low, high, changed = best_sweep(self.model, discount, self.u, self.out, self.pair)
        self._gathered &= not changed
        return low, high

    def step(self, damping: float, centre: float) -> None:
        damped_step(self.u, self.out, damping, centre)

    def follow(self, aim: Aim, most: int, enough: float) -> int:
        if most <= 0:
            return 0
        if self._chain is None:
            self._chain = chain_space(self.model)
        if not self._gathered:
            gather(self.model, self.pair, self._chain)
            self._gathered = True
        return follow_pairs(self._chain, aim, self.u, self.out, most, enough)

    def size(self, shift: float) -> float:
        return max(abs(float(self.u.max()) + shift), abs(float(self.u.min()) + shift))


class Chain(NamedTuple):
    """The rows of one pair per state."""

    rows: Rows
    reward: np.ndarray  # (n,)


def chain_space(model: Model) -> Chain:
    """Room for the rows of any one pair per state."""
    n = len(model.pair_ptr) - 1
    widest = np.maximum.reduceat(np.diff(model.rows.ptr), model.pair_ptr[:-1].astype(np.int64))
    entries = int(widest.sum())
    return Chain(Rows(np.zeros(n + 1, np.uint64), np.empty(entries, np.uint32), np.empty(entries)), np.empty(n))


@kernel
def damped_step(u: np.ndarray, out: np.ndarray, damping: float, centre: float) -> None:
    for s in range(len(u)):
        u[s] += damping * (out[s] - u[s] - centre)


@kernel
def gather(model: Model, pair: np.ndarray, chain: Chain) -> None:
    """Write the rows and rewards of these pairs, in their order."""
    one, n = np.uint64(1), np.uint64(0)
    rows, (ptr, succ, prob) = model.rows, chain.rows
    for i in range(len(pair)):
        k = np.uint64(pair[i])
        chain.reward[i] = model.reward[k]
        for j in range(rows.ptr[k], rows.ptr[k + one]):
            succ[n], prob[n] = rows.succ[j], rows.prob[j]
            n += one
        ptr[i + 1] = n


@kernel
def follow_pairs(chain: Chain, aim: Aim, u: np.ndarray, out: np.ndarray, most: int, enough: float) -> int:
    """Damped sweeps of ``u`` under one policy until the spread of its changes is ``enough``; how many."""
    (ptr, succ, prob), reward = chain
    one = np.uint64(1)
    for n in range(most):
        low, high, j = np.inf, -np.inf, np.uint64(0)
        for s in range(np.uint64(len(u))):
            total, end = 0.0, ptr[s + one]
            while j < end:
                total += prob[j] * u[succ[j]]
                j += one
            out[s] = reward[s] + aim.discount * total
            low, high = min(low, out[s] - u[s]), max(high, out[s] - u[s])
        damped_step(u, out, aim.damping, (low + high) / 2)
        if high - low <= enough:
            return n + 1
    return most


def first_order(part: Block) -> np.ndarray:
    """(n,) the states from where most is paid outwards: by the least number of steps to there, then by number."""
    best = np.zeros(part.n_states, bool)
    best[part.owner[part.reward == part.reward.max()]] = True
    distance = steps_to(incoming(part), best)
    distance[distance < 0] = part.n_states
    return np.argsort(distance, kind="stable")


def rounds_in_order(part: Block, discount: float, v: np.ndarray) -> Iterator[tuple[int, float, float, np.ndarray]]:
    """Rounds of sweeps in order from ``v``, changed in place: their number of sweeps, and the bracket of v with T v.

    A round takes the best pair of each state in turn, evaluates the policy so found, and sweeps once in full.
    """
    model, n = part.model, part.n_states
    pair, out, chain, order = np.zeros(n, np.int64), np.empty(n), chain_space(model), first_order(part)
    while True:
        sweep_in_order(model, discount, order, v, pair)
        gather(model, pair[order], chain)
        visits = follow_in_order(chain, discount, order, v, STRETCH, TURNS, SETTLED)
        low, high = bellman(model, discount, v, out)
        yield 2 + -(-visits // n), low, high, out
        v[:] = out
        order = np.argsort(-v, kind="stable")


@kernel
def sweep_in_order(model: Model, discount: float, order: np.ndarray, u: np.ndarray, pair: np.ndarray) -> None:
    """The best value of each state in turn, and the first ``pair`` that attains it, given the newest of the others."""
    rows, one = model.rows, np.uint64(1)
    for i in range(len(order)):
        s = np.uint64(order[i])
        top = -np.inf
        for k in range(model.pair_ptr[s], model.pair_ptr[s + one]):
            total, stays = 0.0, 0.0
            for j in range(rows.ptr[k], rows.ptr[k + one]):
                if rows.succ[j] == s:
                    stays += rows.prob[j]
                else:
                    total += rows.prob[j] * u[rows.succ[j]]
            q = (model.reward[k] + discount * total) / (1.0 - discount * stays)
            if q > top:
                top, pair[s] = q, k
        u[s] = top


@kernel
def follow_in_order(
    chain: Chain, discount: float, order: np.ndarray, u: np.ndarray, width: int, most: int, fraction: float
) -> int:
    """The value of each state in turn under one policy, whose rows are in this order; returns the visits to states.

    Stretches of ``width`` states, each half in the one before, are swept up to ``most`` times, or until the largest
    change is at most a ``fraction`` of that of the first time: what a state passes back to those before it, which a
    single sweep leaves for the next, is settled on the way.
    """
    (ptr, succ, prob), reward = chain
    n, start, visits = len(order), 0, 0
    while True:
        end, first = min(start + width, n), 0.0
        for turn in range(most):
            change = 0.0
            for i in range(start, end):
                s = np.uint64(order[i])
                total, stays = 0.0, 0.0
                for j in range(ptr[i], ptr[i + 1]):
                    if succ[j] == s:
                        stays += prob[j]
                    else:
                        total += prob[j] * u[succ[j]]
                new = (reward[i] + discount * total) / (1.0 - discount * stays)
                change = max(change, abs(new - u[s]))
                u[s] = new
            visits += end - start
            if turn == 0:
                first = change
            if change <= fraction * first:
                break
        if end == n:
            return visits
        start += max(width // 2, 1)
