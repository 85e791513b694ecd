"""Draws of a seed are what they were: classes, rows, mean rewards, drawn MDPs and plans in them (``same_draws.json``).

A change that alters them on purpose says so in the changelog; ``python tests/posterior/test_same_draws.py`` stores them
anew.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import equirl as eq
from equirl.estimation.counts import Counts
from equirl.estimation.given_knowledge import Given
from equirl.model.pairs import Pairs
from equirl.numerics.arrays import owners
from equirl.numerics.random_draws import (
    below,
    beta_draw,
    draw_state,
    gamma_shares,
    log_gamma_draw,
    log_rising,
    normal,
    pick,
    uniform,
)
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Stop
from equirl.posterior import drawn_rows, reward_priors
from equirl.posterior.bootstrap import resampled_means, resampled_rows
from equirl.posterior.class_sampler import (
    class_weights,
    draw_alpha,
    draw_gamma,
    draw_injection,
    make_scratch,
    own_weight,
    resample_range,
)
from equirl.posterior.class_state import (
    carry_over,
    check_classes,
    empty_state,
    install,
    is_placed,
    move_counts,
    reserve,
)
from equirl.posterior.deployment import behaviour_worth, wary_model, wary_plan, wary_worth
from equirl.posterior.drawn_plan import (
    chain_of,
    gain_in,
    losses,
    mean_model,
    plan_from,
    worth_in,
)
from equirl.posterior.drawn_rows import ClassDraw, Placing, draw_class_rows, draw_masses, draw_own_rows, make_rows
from equirl.posterior.hope import (
    Hope,
    count_near,
    draw_exceptions,
    everywhere,
    fading,
    n_open,
    near_state,
    reach_of,
    stay_length,
)
from equirl.posterior.hope_record import HopeRecord
from equirl.posterior.inspection import ClassPosterior, class_posterior, row_spread
from equirl.posterior.neighbouring_classes import count_all, has_room, make_neighbours, neighbour_factor
from equirl.posterior.reward_priors import (
    ClassRewards,
    DrawnRewards,
    base_of,
    draw_constant,
    empty_tables,
    log_marginal,
    normal_within,
    only_coins,
    paid_the_same,
    recount_tables,
    resample_tables,
    scatter,
    table_weights,
)
from equirl.posterior.row_priors import ClassRows, DirichletRows, GivenClassRows, GivenProfileRows, PublishedRows
from equirl.structure.partition import Partition
from equirl.structure.similarity import Profiles
from stored_kit import answers, check, store


def rng(seed):
    return draw_state(np.random.SeedSequence(seed))


def after(random):
    """Where a generator stands, in numbers that a float holds."""
    return [int(random[0]) >> 32, int(random[0]) & 0xFFFFFFFF]


def problem(S, most_actions, seed):
    """Pairs of states with 1 to ``most_actions`` actions each."""
    return _pairs(np.random.default_rng(seed).integers(1, most_actions + 1, S))


def _pairs(sizes):
    return Pairs.uniform(len(sizes), sizes)


def played(pairs, steps, seed, width=3, left_out=()):
    """Counts of a walk: pairs of a kind lead near, pay coins, sure amounts or amounts that scatter."""
    chance, counts, S = np.random.default_rng(seed), Counts(pairs.n_pairs, room=2), pairs.n_states
    open_states = np.array([s for s in range(S) if s not in left_out])
    shape = np.array([0.6, 0.25, 0.1, *[0.05 / max(1, width - 3)] * (width - 3)][:width])
    s = int(open_states[0])
    for _ in range(steps):
        k = int(pairs.ptr[s] + chance.integers(pairs.ptr[s + 1] - pairs.ptr[s]))
        kind = k % 4
        jump = int(chance.choice(width, p=shape / shape.sum())) * (1 + k % 2) + k
        x = int(open_states[jump % len(open_states)])
        reward = (float(chance.random() < 0.3), 0.25 + 0.125 * (k % 3), 0.5 * chance.random(), float(kind == 3))[kind]
        counts.record(k, reward, x)
        s = x
    return counts


def classes_of(pairs, seen, alpha, gamma, beside, passes, seed, fixed=False):
    """State, scratch and generator after passes of the sampler."""
    random, state = rng(seed), empty_state(np.array(pairs.ptr), alpha, gamma, beside)
    if fixed:
        state.label[:] = np.arange(pairs.n_pairs) % 3
    state, work = carry_over(state, None, seen), []
    longest = int(np.diff(seen.ptr).max())
    for turn in range(passes):
        first = 0
        while first < pairs.n_pairs:
            scratch = make_scratch(pairs.n_pairs, longest, 2 * int(state.width.max()) + 4 * longest + 8)
            first, more = resample_range(random, first, pairs.n_pairs, turn == 1, fixed, seen, state, scratch)
            work.append(more)
            if first < pairs.n_pairs:
                state = carry_over(state, seen, seen)
    return state, scratch, random, work


def shown(state, random, work=()):
    used = int(state.used[1])
    return {
        "state": state._replace(pooled=state.pooled[:used], neighbours=state.neighbours._asdict() | {"eta": 0.0}),
        "cells": [len(state.pooled)], "work": list(work), "rng": after(random),
    }  # fmt: skip


def sampled(S, actions, steps, alpha, gamma, beside, fixed=False, left_out=()):
    def case():
        pairs = problem(S, actions, S)
        counts = played(pairs, steps, 3, left_out=left_out)
        seen = counts.snapshot()
        state, scratch, random, work = classes_of(pairs, seen, alpha, gamma, beside, 4, 5, fixed)
        found = shown(state, random, work)

        # What one step weighs, with the pair taken out.
        k = int(seen.visits.argmax())
        found["placed"] = [is_placed(j, seen, state) for j in range(pairs.n_pairs)]
        old = int(state.label[k])
        move_counts(k, old, -1, seen, state)
        weights = class_weights(random, k, seen, state, scratch, old, True)
        found["weights"] = [weights, *scratch.log_weight[: int(state.used[0])], own_weight(k, seen, gamma)]
        kept = [draw_injection(random, k, old, keep, seen, state, scratch) for keep in (True, False)]
        found["injection"] = [*kept, *scratch.place[: int(np.diff(seen.ptr)[k])]]
        found["reserved"] = [reserve(old, n, state) for n in (0, 1, 50, 10**6)]
        install(k, old, seen, state, scratch.place)
        found["installed"] = shown(state, random)["state"]

        # More is seen: positions follow their successors, what is new has none.
        more = played(pairs, steps // 2, 4, width=4, left_out=left_out).snapshot()
        for j in range(pairs.n_pairs):
            for i in range(more.ptr[j], more.ptr[j + 1]):
                for _ in range(int(more.count[i])):
                    counts.record(j, 0.5, int(more.succ[i]))
        later = counts.snapshot()
        state = carry_over(state, seen, later)
        found["later"] = shown(state, random)
        draw_alpha(random, state, np.geomspace(0.1, 10, 7), np.empty(7))
        draw_gamma(random, state, np.geomspace(0.05, 1, 5), np.empty(5))
        return found | {"hyper": state.hyper, "rng after": after(random)}

    return case


def rows_of_classes(S, actions, steps, *, local, outward, sticks, apart, leave, width=3, left_out=(), far=False):
    def case():
        pairs = problem(S, actions, S)
        seen = played(pairs, steps, 3, width, left_out).snapshot()
        state, _, random, _ = classes_of(pairs, seen, 1.0, 0.5, 0.3, 3, 6)
        reach = reach_of(seen, np.array(pairs.ptr)) if far else everywhere(S)
        never_left = np.flatnonzero(np.add.reduceat(seen.visits, pairs.ptr[:-1]) == 0)
        ptr, owner, M = np.array(pairs.ptr), np.array(pairs.state), pairs.n_pairs
        placing = Placing(ptr, owner, sticks, local, outward, never_left, reach)
        rows, found = make_rows(M, len(seen.succ), sticks), {}
        for turn in range(4):
            draw = ClassDraw(
                np.full(len(state.pooled), 0.5), np.full(M + 1, 0.5), np.empty(M, np.int64), leave, apart,
                np.empty(int(state.width.max()) + 1, np.int64), np.empty(M, np.int64),
            )  # fmt: skip
            draw_masses(random, state, draw.w, draw.w_new)
            draw_exceptions(random, 3.0, 4.0, reach, seen, ptr, draw.exception, np.empty(S, np.int64))
            draw_class_rows(random, seen, state, placing, draw, rows)
            used = int(rows.ptr[-1])
            found[f"rows {turn}"] = rows._replace(succ=rows.succ[:used], prob=rows.prob[:used])
            found[f"draw {turn}"] = {"w": draw.w, "new": draw.w_new, "odd": draw.exception, "label": draw.label}
        found["rng"] = after(random)
        return found

    return case


def own_rows(S, actions, steps, strength, sticks, far, left_out=()):
    def case():
        pairs = problem(S, actions, S)
        seen, random, found = played(pairs, steps, 3, left_out=left_out).snapshot(), rng(7), {}
        reach = reach_of(seen, np.array(pairs.ptr)) if far else everywhere(S)
        none = np.zeros(0, np.int64)
        placing = Placing(np.array(pairs.ptr), np.array(pairs.state), sticks, 0.0, 0.0, none, reach)
        for turn in range(4):
            rows = make_rows(pairs.n_pairs, len(seen.succ), sticks)
            draw_own_rows(random, strength, seen, placing, rows)
            used = int(rows.ptr[-1])
            found[f"rows {turn}"] = rows._replace(succ=rows.succ[:used], prob=rows.prob[:used])
        return found | {"rng": after(random)}

    return case


def given_of(pairs, seen):
    """Classes by number, profiles that hold all that was seen, with ties."""
    width, S = int(np.diff(seen.ptr).max()) + 1, pairs.n_states
    succ = []
    for k in range(pairs.n_pairs):
        own = seen.succ[seen.ptr[k] : seen.ptr[k + 1]].tolist()
        succ += (own + [x for x in range(S) if x not in own])[:width]
    prob = np.tile([0.4, *[0.6 / (width - 1)] * (width - 1)], pairs.n_pairs)
    profiles = Profiles(np.arange(pairs.n_pairs + 1) * width, np.array(succ, np.int32), prob)
    tie = np.tile([0, *[1] * (width - 1)], pairs.n_pairs)
    return Given(classes=Partition.from_labels(np.arange(pairs.n_pairs) % 3), profiles=profiles, tie=tie,
                 mean_rewards=np.linspace(0, 1, pairs.n_pairs))  # fmt: skip


def row_sampler(part, steps=120, left_out=(6,)):
    def case():
        pairs, random, found = problem(7, 3, 2), rng(8), {}
        whole = played(pairs, 4 * steps, 3, left_out=left_out).snapshot()
        sampler = part.row_sampler(pairs, given_of(pairs, whole))
        for turn in range(4):
            if turn == 3:
                sampler.drop_hope()
            seen = played(pairs, (turn + 1) * steps, 3, left_out=left_out).snapshot()
            rows, work = sampler.draw(seen, random)
            used = int(rows.ptr[-1])
            found[f"rows {turn}"] = rows._replace(succ=rows.succ[:used], prob=rows.prob[:used])
            found[f"kept {turn}"] = sampler.arrays() | {"work": [work], "rng": after(random)}
            found[f"measures {turn}"] = list(sampler.measures().values())
        kept, other = sampler.arrays(), part.row_sampler(pairs, given_of(pairs, whole))
        other.drop_hope()  # as the one that it goes on from
        other.restore({name: array.copy() for name, array in kept.items()}, seen)
        rows, work = other.draw(seen, random)
        return found | {"restored": rows.prob[: int(rows.ptr[-1])], "work": [work], "rng": after(random)}

    return case


def rewards_of(part):
    def case():
        pairs, random, found = problem(7, 3, 2), rng(9), {}
        given = given_of(pairs, played(pairs, 300, 3).snapshot())
        sampler = part.reward_sampler(pairs, given)
        for turn, steps in enumerate((0, 6, 40, 200, 200)):
            if turn == 4:
                sampler.drop_hope()
            seen = played(pairs, steps, 3, left_out=(6,)).snapshot()
            found[f"means {turn}"] = sampler.draw(seen, random)
            found[f"kept {turn}"] = sampler.arrays() | {"rng": after(random), "tables": sampler.tables()}
        other = part.reward_sampler(pairs, given)
        other.restore({name: array.copy() for name, array in sampler.arrays().items()})
        return found | {"restored": other.draw(seen, random), "rng": after(random)}

    return case


def tables():
    pairs = problem(9, 3, 4)
    seen = played(pairs, 150, 3, left_out=(8,)).snapshot()
    random, state, found = rng(10), empty_tables(pairs.n_pairs), {}
    state.base[:] = 0.7, 0.3
    scratch = np.zeros(pairs.n_pairs + 2)
    for turn in range(3):
        recount_tables(seen, state)
        found[f"recounted {turn}"] = state._asdict()
        resample_tables(random, 0.8, seen, state, scratch)
        found[f"tables {turn}"] = state._asdict()
        means, out = np.full(pairs.n_pairs + 1, 0.5), np.empty(pairs.n_pairs)
        reward_priors.draw_means(random, seen, state, means, out)
        found[f"means {turn}"] = {"mean": means, "out": out, "noise": state.noise.copy()}
    new = table_weights(0, 0.8, seen, state, scratch)
    found["weights"] = [new, *scratch[: int(state.used[0]) + 1]]
    for name, base in (("hope", np.ones(2)), ("none", np.array([0.2, 0.8]))):
        mean, sure = np.empty(pairs.n_pairs), np.empty(pairs.n_pairs, bool)
        draw_constant(random, seen, base, mean, sure)
        found[f"constant {name}"] = {"mean": mean, "sure": sure}
    found["same"] = [paid_the_same(k, seen) for k in range(pairs.n_pairs)]
    found["base"] = [*base_of(seen, False), *base_of(seen, True)]
    return found | {"rng": after(random)}


def formulas_of_rewards():
    cases = [(1, 0, 0), (1, 1, 1), (1, 0.5, 0.25), (4, 2, 2), (4, 2, 1.0), (4, 2, 1.2), (9, 5.5, 4.1), (3, -1e-12, 0)]
    cases += [(4, 2, 2 - 3e-9), (4, 2, 2 - 5e-9), (5, 5 + 1e-12, 5)]
    coins = [only_coins(*map(float, case)) for case in cases]
    spread = [scatter(*map(float, case)) for case in cases] + [scatter(0.0, 0.0, 0.1)]
    marginal = [log_marginal(*map(float, case), 0.1, np.array([0.4, 0.6])) for case in cases]
    random = rng(11)
    within = [normal_within(random, c, s) for c in (0.0, 0.02, 0.5, 1.0) for s in (0.0, 0.1, 5.0, 1e4)]
    return {"coins": coins, "spread": spread, "marginal": marginal, "within": within, "rng": after(random)}


def plain_draws():
    random, found = rng(12), {}
    found["uniform"] = [uniform(random) for _ in range(20)]
    found["below"] = [below(random, n) for n in (1, 2, 3, 10, 1000) for _ in range(6)]
    found["normal"] = [normal(random) for _ in range(20)]
    found["gamma"] = [log_gamma_draw(random, shape) for shape in (1e-3, 0.2, 0.999, 1.0, 1.5, 30.0, 1e6) * 4]
    found["beta"] = [beta_draw(random, a, b) for a, b in ((1, 1), (0.01, 3), (3, 0.01), (50, 2), (1e-4, 1e-4)) * 4]
    weights = np.array([-math.inf, -3.0, 0.5, -math.inf, 0.4, -1.0, -math.inf])
    found["pick"] = [pick(random, weights, n) for n in (2, 3, 5, 7) * 8]
    shares = np.array([9.0, 1.0, -2.0, -math.inf, 0.5, 9.0])
    found["rest"] = [gamma_shares(shares, 1, 5, 0.2), gamma_shares(np.array([5.0]), 1, 1, 3.0)]
    found["shares"] = shares
    cases = [(a, n) for a in (0.3, 1.0, 7.5, 1e5) for n in (0.0, 1.0, 2.5, 11.0, 12.0, 12.5, 13.0, 400.0)]
    found["rising"] = [log_rising(*case) for case in cases]
    return found | {"rng": after(random)}


def neighbours():
    ptr = np.array([0, 1, 3, 6, 10, 12])
    found, label = {}, np.array([0, 1, 0, 2, 2, 1, -1, 0, 0, 3, 1, 1])
    for eta in (0.3, 2.0, math.inf):
        ring = make_neighbours(ptr, eta)
        count_all(label, ring)
        factors = [neighbour_factor(k, c, label, ring) for k in range(12) for c in range(4) if eta < math.inf or c == 0]
        found[f"eta {eta}"] = {"factor": factors, "room": [has_room(ring)], **ring._asdict()}
    full = make_neighbours(ptr, 0.3)
    for used in (len(full.key) // 2 - 3, len(full.key) // 2 - 2, len(full.key) // 2 - 1):
        full.used[0] = used
        found[f"room {used}"] = [has_room(full)]
    return found


def hopes():
    pairs = problem(8, 3, 3)
    ptr, found, random = np.array(pairs.ptr), {}, rng(13)
    for steps in (0, 1, 30, 400):
        seen = played(pairs, steps, 3, left_out=(2, 7)).snapshot()
        reach = reach_of(seen, ptr)
        found[f"reach {steps}"] = reach
        found[f"open {steps}"] = [n_open(v, reach) for v in (0.0, reach.often, reach.often + 1e-9, 1e9)]
        found[f"near {steps}"] = count_near(seen, ptr, np.zeros(8, np.int64))
        found[f"state {steps}"] = [near_state(random, s, ptr, seen) for s in range(8) for _ in range(4)]
        for lonely, bridge in ((0.0, 0.0), (2.0, 0.0), (0.0, 3.0), (5.0, 9.0)):
            odd, unknown = np.empty(pairs.n_pairs, np.int64), np.full(8, -5)
            draw_exceptions(random, lonely, bridge, reach, seen, ptr, odd, unknown)
            found[f"odd {steps} {lonely} {bridge}"] = {"odd": odd, "unknown": unknown}
    found["fading"] = [fading(t) for t in (0, 1, 899, 900, 901, 10**6)]
    found["stay"] = [stay_length(t) for t in (0, 1, 9999, 10001, 10**8)]
    for by in (0.0, 0.5, 1.0):
        found[f"scaled {by}"] = Hope(2.0, 3.0, 0.7, 0.5).scaled(by)
    return found | {"rng": after(random)}


def drawn_models(seen, pairs, n=3):
    random, given = rng(14), given_of(pairs, seen)
    rows, rewards = DirichletRows().row_sampler(pairs, given), DrawnRewards().reward_sampler(pairs, given)
    models = []
    for _ in range(n):
        drawn, _ = rows.draw(seen, random)
        used = int(drawn.ptr[-1])
        rows_of_it = drawn_rows_as_rows(drawn, used)
        models.append(ExactModel(rows_of_it, drawn.rest, rewards.draw(seen, random), np.array(pairs.state), 0.05))
    return models, random


def drawn_rows_as_rows(drawn, used):
    from equirl.model.rows import Rows

    return Rows(drawn.ptr.copy(), drawn.succ[:used].copy(), drawn.prob[:used].copy())


def plans(discount, left_out=()):
    def case():
        pairs, found = problem(7, 3, 2), {}
        seen = played(pairs, 250, 3, left_out=left_out).snapshot()
        models, random = drawn_models(seen, pairs)
        ptr, bias, first = np.array(pairs.ptr), np.linspace(0, 2, 7) ** 2, np.eye(7)[0]
        for i, model in enumerate(models):
            model = model._replace(rest=0 * model.rest) if i == 2 else model
            plan = plan_from(i, ptr, model, bias, Stop(1e-6, 3000, 5, discount), random)
            found[f"plan {i}"] = {"policy": plan.policy, "bias": plan.bias, "gain": [plan.gain]}
            chain, reward = chain_of(model, plan.policy)
            found[f"chain {i}"] = {"chain": chain.toarray(), "reward": reward}
            pieces = [gain_in(model, plan.policy, first), worth_in(model, plan.policy, first, 0.9)]
            found[f"worth {i}"] = pieces
            found[f"loss {i}"] = losses(model, plan, ptr, ptr[:-1], discount)
            again = resampled_rows(seen, plan.policy, model, np.random.default_rng(i))
            found[f"again {i}"] = {"rows": again.rows, "rest": again.rest, "reward": again.reward}
        mean = mean_model(pairs, seen.visits > 0, models)
        found["mean"] = {"rows": mean.rows, "reward": mean.reward}
        found["means"] = resampled_means(seen.visits, seen.r_sum, seen.r_squares, np.random.default_rng(9))
        for caution in (0.0, 0.5):
            wary = wary_model(pairs, seen, models, caution, discount)
            plan = wary_plan(ptr, wary, discount, np.linspace(0, 0.9, 7))
            found[f"wary {caution}"] = {"policy": plan.policy, "bias": plan.bias, "gain": [plan.gain]}
        found["wary worth"] = [wary_worth(wary_model(pairs, seen, models), plan.policy, first, discount)]
        found["behaviour"] = [
            behaviour_worth(pairs, seen, first, discount, r) for r in (None, np.random.default_rng(1))
        ]
        return found

    return case


def profile_rows():
    pairs, random = problem(7, 3, 2), rng(15)
    seen = played(pairs, 300, 3).snapshot()
    given = given_of(pairs, seen)
    draws = [
        drawn_rows.draw_profile_rows(random, seen, given.classes, given.profiles, given.tie, prior)
        for prior in (0.1, 1.0, 20.0)
    ]
    return {"prob": draws, "owner": owners(given.profiles.ptr), "rng": after(random)}


def last_states():
    """Where a row holds nearly all states, one of the others is counted off."""
    place, found = getattr(drawn_rows._place, "py_func", drawn_rows._place), []
    pairs = _pairs([1] * 7)
    seen, random = Counts(7).snapshot(), rng(16)
    none, order = np.zeros(0, np.int64), np.array([6, 0, 3, 5, 1, 4, 2])
    for tries in (0, 2):
        with mock.patch.object(drawn_rows, "TRIES", tries):
            for held in ([], [3], [0, 3, 5], [6, 0, 3, 5, 1, 4], [6, 0, 3, 5, 1, 4, 2], [2, 4, 1, 5]):
                for inside in (3, 7):
                    placing = Placing(
                        np.array(pairs.ptr), np.array(pairs.state), 2, 0.3, 0.5, np.array([1, 4]),
                        everywhere(7)._replace(order=order, n_entered=inside, often=-1.0),
                    )  # fmt: skip
                    rows = make_rows(7, 9, 2)
                    rows.succ[:], rows.prob[:] = 0, 0.0
                    rows.succ[: len(held)] = held
                    if inside == 7 or len(held) < 3:
                        end = place(random, 0.25, 0, len(held), seen, placing, rows)
                        found += [end, *rows.succ[:8], *rows.prob[:8]]
    return {"found": found, "none": none, "rng": after(random)}


def looked_at():
    """The posterior of classes as users see it."""
    found, mdp = {}, eq.make("riverswim", n_states=5)
    agent = eq.simulate(mdp, "c-psrl", 150, seed=2).agent
    posterior = class_posterior(agent, 5, 2, 3, burn_in=1)
    found["drawn"] = {"labels": posterior.labels, "tables": posterior.reward_tables, "n": posterior.n_classes}
    found["matrix"] = {"all": posterior.matrix(), "some": posterior.matrix([0, (1, 1), 4])}
    found["spread"] = row_spread(agent, 3, 1)
    pairs = _pairs([2, 2])
    labels = np.array([[0, 0, 1, -1], [0, 1, 1, 0], [0, 1, 1, 2], [0, 1, 1, 2]])
    small = ClassPosterior(pairs, labels)
    found["small"] = {
        "n": small.n_classes, "mean": [small.expected_classes], "best": small.partition().label,
        "matrix": small.matrix(), "alike": [small.alike(0, 1), small.alike((1, 0), 1), small.alike(0, 3)],
    }  # fmt: skip
    calls = [
        lambda: ClassPosterior(3, labels), lambda: ClassPosterior(pairs, labels[:, :3]),
        lambda: ClassPosterior(pairs, labels[0]),
        lambda: ClassPosterior(pairs, labels[:0]), lambda: ClassPosterior(pairs, labels, labels[:, :3]),
        lambda: ClassPosterior(pairs, labels, labels).reward_tables,
        lambda: ClassPosterior(pairs, labels.tolist()).labels,
        lambda: small.alike(0, 4), lambda: small.alike(-1, 0), lambda: small.alike((0, 0, 0), 1),
        lambda: small.alike((0, 2), 1),
        lambda: class_posterior(agent, 0), lambda: class_posterior(agent, 1, 0),
        lambda: class_posterior(agent, burn_in=-1),
        lambda: class_posterior(eq.agent_for(mdp, "psrl", 1)), lambda: class_posterior(eq.agent_for(mdp, "ucrl2-l", 1)),
        lambda: row_spread(agent, 1), lambda: row_spread(agent, 2).sum(),
    ]  # fmt: skip
    return found | {"calls": answers(calls)}


def refused():
    """What was kept and does not fit, and its neighbours that do."""
    seen = played(_pairs([2, 2, 2]), 60, 3).snapshot()
    M, nnz = 6, len(seen.succ)
    label, position, hyper = np.zeros(M, np.int64), np.full(nnz, -1), np.array([1.0, 0.5])
    own = np.arange(nnz)

    def structure(**change):
        return check_classes(**({"label": label, "position": position, "hyper": hyper, "seen": seen} | change))

    def tables(table, noise):
        sampler = DrawnRewards("coin").reward_sampler(_pairs([2, 2, 2]), Given())
        sampler.restore({"reward_table": np.array(table), "reward_noise": np.array(noise)})
        return sampler.arrays()

    def classes(part, **change):
        sampler = part.row_sampler(_pairs([2, 2, 2]), Given(classes=Partition.from_labels([0, 1, 0, 1, 0, 1])))
        kept = {"class_label": np.array([0, 1, 0, 1, 0, 1]), "class_position": position, "class_hyper": hyper}
        sampler.restore(kept | HopeRecord(6).arrays() | {"class_next": np.array([2])} | change, seen)
        return sampler.arrays()

    calls = [
        structure, lambda: structure(label=label[:5]), lambda: structure(label=label.astype(float)),
        lambda: structure(label=label + M - 1),
        lambda: structure(label=label + M), lambda: structure(label=label - 1), lambda: structure(label=label - 2),
        lambda: structure(position=own),
        lambda: structure(position=position[1:]), lambda: structure(position=own + 1),
        lambda: structure(position=np.where(own == 0, nnz - 1, -1)),
        lambda: structure(position=position - 1), lambda: structure(position=0 * own),
        lambda: structure(hyper=hyper[:1]),
        lambda: structure(hyper=np.array([0.0, 1])), lambda: structure(hyper=np.array([1.0, np.inf])),
        lambda: structure(hyper=np.array([1, 2])),
        lambda: tables([0, 1, 2, 3, 4, 5], [0.1]), lambda: tables([-1] * 6, [0.1]), lambda: tables([6] * 6, [0.1]),
        lambda: tables([-2] * 6, [0.1]),
        lambda: tables([0] * 5, [0.1]), lambda: tables([0.0] * 6, [0.1]), lambda: tables([0] * 6, [0.0]),
        lambda: tables([0] * 6, [np.inf]),
        lambda: tables([0] * 6, [1]), lambda: tables([0] * 6, [0.1, 0.2]), lambda: classes(ClassRows()),
        lambda: classes(GivenClassRows()),
        lambda: classes(GivenClassRows(), class_label=label), lambda: classes(ClassRows(), class_next=np.array([5])),
        lambda: classes(ClassRows(), class_next=np.array([6])), lambda: ClassRows(alpha=0.0),
        lambda: ClassRows(gamma=-1.0),
        lambda: ClassRows(scan=0), lambda: ClassRows(hope=-0.1), lambda: ClassRows(hope=1e9).hope,
        lambda: ClassRows(hope=1.1e9), lambda: DirichletRows(0.0),
        lambda: DirichletRows(1e9).prior, lambda: DirichletRows(1.1e9), lambda: GivenProfileRows(0.0),
        lambda: GivenClassRows(gamma=0.0),
        lambda: DrawnRewards("dice"), lambda: DrawnRewards(rewards="some"), lambda: ClassRewards(rewards="shared"),
        lambda: DrawnRewards(rewards="known").needs,
        lambda: [DrawnRewards().needs, ClassRewards().needs], lambda: ClassRewards(rewards="known").needs,
    ]  # fmt: skip
    many = empty_tables(40)
    once = Counts(40)
    for k in range(40):
        once.record(k, 0.02 * k + 0.01, 0)
    resample_tables(rng(17), 1e9, once.snapshot(), many, np.empty(42))
    sampler = DrawnRewards("coin").reward_sampler(_pairs([2] * 20), Given())
    apart = sampler.draw(once.snapshot(), rng(18))
    return answers(calls) | {"all apart": many._asdict(), "drawn": apart, "tables": sampler.tables()}


CASES = {
    "plain draws": plain_draws,
    "last states": last_states,
    "looked at": looked_at,
    "refused": refused,
    "neighbours": neighbours,
    "hopes": hopes,
    "classes": sampled(8, 3, 300, 1.0, 0.5, math.inf),
    "classes beside": sampled(9, 4, 400, 0.4, 0.2, 0.3),
    "many classes": sampled(5, 4, 90, 8.0, 2.0, 1.0, left_out=(4,)),
    "given classes": sampled(7, 3, 250, 1.0, 0.7, math.inf, fixed=True),
    "rows": rows_of_classes(8, 3, 60, local=0.0, outward=0.0, sticks=2, apart=0.0, leave=0.0),
    "rows near": rows_of_classes(9, 3, 60, local=0.5, outward=0.6, sticks=3, apart=1.5, leave=0.2, left_out=(8, 3)),
    "rows of few states": rows_of_classes(4, 4, 200, local=0.3, outward=0.0, sticks=4, apart=3.0, leave=0.1, width=4),
    "rows in reach": rows_of_classes(
        9, 2, 300, local=0.2, outward=0.5, sticks=2, apart=1.0, leave=0.3, left_out=(5, 6), far=True
    ),
    "wide rows": rows_of_classes(40, 2, 600, local=0.1, outward=0.3, sticks=2, apart=0.5, leave=0.1, width=24),
    "wide rows in reach": rows_of_classes(
        40, 2, 900, local=0.1, outward=0.3, sticks=2, apart=0.5, leave=0.1, width=24, far=True, left_out=(7, 8, 9)
    ),
    "own rows": own_rows(7, 3, 60, 0.2, 4, far=False),
    "own rows in reach": own_rows(9, 2, 400, 0.5, 3, far=True, left_out=(4, 5, 6)),
    "own rows of a dense prior": own_rows(40, 2, 100, 2.0, 2, far=False),
    "own rows of a dense prior in reach": own_rows(40, 2, 500, 2.0, 2, far=True, left_out=(3, 4)),
    "profile rows": profile_rows,
    "prior of pairs": row_sampler(DirichletRows(2.0)),
    "published prior": row_sampler(PublishedRows(0.5)),
    "prior of classes": row_sampler(ClassRows()),
    "prior of classes, few in turn": row_sampler(ClassRows(alpha=2.0, gamma=0.3, scan=4, hope=2.0)),
    "prior of given classes": row_sampler(GivenClassRows()),
    "prior of given profiles": row_sampler(GivenProfileRows(3.0), left_out=()),
    "tables": tables,
    "formulas of rewards": formulas_of_rewards,
    "rewards shared": rewards_of(DrawnRewards()),
    "rewards per pair": rewards_of(DrawnRewards("drawn", "per_pair")),
    "rewards of coins": rewards_of(DrawnRewards("coin")),
    "rewards per class": rewards_of(ClassRewards()),
    "rewards per pair of classes": rewards_of(ClassRewards("coin", "per_pair")),
    "known rewards": rewards_of(DrawnRewards(rewards="known")),
    "plans": plans(1.0),
    "plans in parts": plans(1.0, left_out=(5, 6)),
    "discounted plans": plans(0.9),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_of_a_seed_are_what_they_were(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
