"""In large worlds rows without news are drawn anew in turn, and planning goes on from the last values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.given_knowledge import Given
from equirl.learners import posterior_sampling
from equirl.learners.posterior_sampling import FEWEST_SWEEPS, TURN, TURN_STEP, DrawnPlanner
from equirl.model.pairs import Pairs
from equirl.model.rows import Rows
from equirl.numerics.arrays import starts
from equirl.numerics.portions import finished
from equirl.numerics.random_draws import draw_state
from equirl.planning.exact_model import ExactModel
from equirl.planning.optimistic_planning import Stop, extended_value_iteration
from equirl.posterior.drawn_plan import plan_from, plan_portions, sweep_by_sweep
from equirl.posterior.drawn_rows import DrawnRows, put_together
from equirl.posterior.reward_priors import DrawnRewards, KeptRewards
from equirl.posterior.row_priors import LARGE_STATES, ClassRows, DirichletRows, GivenClassRows, Kept, PublishedRows
from equirl.structure.partition import Partition
from oracles_posterior import snapshot

GRID = eq.make("four-room", height=35, width=35)  # 1,028 states


def rng(seed=0):
    return draw_state(np.random.SeedSequence(seed))


def rows_of(model, pair):
    return model.rows.succ[model.rows.row(pair)].tolist(), model.rows.prob[model.rows.row(pair)].tolist()


def same_rows(one, other):
    """(M,) whether pairs have the same row and reward in two drawn MDPs, bit by bit."""
    same = one.rest == other.rest
    return np.array([same[k] and rows_of(one, k) == rows_of(other, k) for k in range(len(same))])


# --- which rows are drawn


def draws_of(name, steps, mdp=GRID, **settings):
    """What was drawn in a run for each episode: the counts, which rows were drawn, the MDP."""
    agent, found, models = eq.agent_for(mdp, name, seed=1, **settings), [], []
    drawn = type(agent)._model_of

    def noted(self, rows, reward):
        found.append(rows.fresh.copy())
        return drawn(self, rows, reward)

    def look(learner):
        models.append((learner.seen, learner.model))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(agent), "_model_of", noted)
        eq.simulate(mdp, agent, steps, seed=2, callback=look)
    return [(seen, fresh, model) for fresh, (seen, model) in zip(found, models, strict=True)]


def successive(draws):
    return itertools.pairwise(draws)


@pytest.mark.parametrize("name", ["c-psrl", "psrl", "c-psrl-c"])
def test_pairs_with_news_are_drawn_anew_and_most_others_kept(name):
    draws = draws_of(name, 60)
    assert len(draws) > 5
    assert draws[0][1].all()
    for (before, _, old), (seen, fresh, new) in successive(draws):
        news = seen.visits != before.visits
        assert news.any()
        assert fresh[news].all()
        assert same_rows(old, new)[~fresh].all()
        often = fresh & (seen.visits > 0) & (np.diff(seen.ptr) > 1)  # two successors: equal by chance never
        assert not same_rows(old, new)[often].any()
        steps = int(seen.visits.sum() - before.visits.sum())
        if name != "c-psrl-c":  # which hopes for most pairs, each time for others
            assert fresh.mean() <= max(TURN, TURN_STEP * steps) / GRID.n_pairs + 0.05


def test_every_row_has_its_turn():
    draws = draws_of("c-psrl", 60)
    times = np.sum([fresh for _, fresh, _ in draws[1:]], axis=0)
    assert times.min() >= (len(draws) - 1) * TURN // GRID.n_pairs
    assert (np.ptp([model.reward for _, _, model in draws], axis=0) > 0).all()


@pytest.mark.parametrize(
    ("name", "size", "partly"),
    [("c-psrl", LARGE_STATES, True), ("c-psrl", LARGE_STATES - 1, False), ("psrl-published", LARGE_STATES, False)],
)
def test_in_small_worlds_and_as_published_all_is_drawn(name, size, partly):
    world = eq.make("random", n_states=size, n_actions=4, branching=2, seed=3)
    draws = draws_of(name, 40, world, episodes="tsde")
    assert len(draws) > 2
    assert (min(fresh.mean() for _, fresh, _ in draws) < 0.5) == partly


def test_beliefs_and_deployment_draw_whole_mdps():
    agent = eq.simulate(GRID, "c-psrl", 30, seed=0).agent
    twin, seen = agent.copy(), agent.counts.snapshot()
    one, other = twin.draw_model(seen)[0], twin.draw_model(seen)[0]
    assert same_rows(one, other).mean() < 0.01


def test_a_large_agent_that_was_saved_goes_on_bit_by_bit(tmp_path):
    agent = eq.simulate(GRID, "c-psrl", 40, seed=0).agent
    agent.save(tmp_path / "agent.npz")
    again = eq.load_agent(tmp_path / "agent.npz")
    assert again.turn[0] == agent.turn[0] > 0
    one, other = (eq.simulate(GRID, a, 40, seed=1).agent for a in (agent, again))
    for name, array in one.state().arrays.items():
        assert array.tobytes() == other.state().arrays[name].tobytes()


# --- what is drawn has the law of a whole draw

PAIRS = Pairs.uniform(4, 2)
COUNTS = [[5, 2], [1], [], [3, 1, 1], [2], [4, 2], [], [1, 1]]
SEEN = snapshot(COUNTS, n_states=4)
CLASSES = Partition([0, 1, 0, 1, 0, 1, 0, 1])


def dense(rows):
    out = np.repeat(rows.rest[:, None] / 4, 4, axis=1)
    for k in range(8):
        np.add.at(out[k], rows.succ[rows.ptr[k] : rows.ptr[k + 1]], rows.prob[rows.ptr[k] : rows.ptr[k + 1]])
    return out


PRIORS = {"classes": ClassRows(), "given classes": GivenClassRows(), "own": DirichletRows()}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_rows_drawn_in_turn_have_the_law_of_a_whole_draw(prior):
    """Means and second moments of every probability, by two samplers that go on for 6,000 draws."""
    whole, partly = (prior.row_sampler(PAIRS, Given(CLASSES)) for _ in range(2))
    one, other, found, expected = rng(1), rng(2), [], []
    rows, _ = partly.draw(SEEN, other)
    for turn in range(6000):
        expected.append(dense(whole.draw(SEEN, one)[0]))
        fresh = np.repeat(np.arange(4) == turn % 4, 2)
        before = rows
        rows, _ = finished(partly.portions(SEEN, other, Kept(Rows(*rows[:3]), rows.rest, fresh)))
        assert (dense(rows)[~rows.fresh] == dense(before)[~rows.fresh]).all()
        assert rows.fresh[fresh].all()
        found.append(dense(rows))
    found, expected = np.array(found), np.array(expected)
    np.testing.assert_allclose(found.sum(axis=2), 1.0)
    for power in (1, 2):
        blocks = [np.array([part.mean(axis=0) for part in np.array_split(x**power, 30)]) for x in (found, expected)]
        gap = blocks[0].mean(axis=0) - blocks[1].mean(axis=0)
        error = np.sqrt(sum(block.var(axis=0, ddof=1) / 30 for block in blocks))
        assert (np.abs(gap) <= 5 * error + 1e-6).all()


def test_as_published_no_row_is_kept():
    sampler = PublishedRows().row_sampler(PAIRS, Given())
    rows, _ = sampler.draw(SEEN, rng())
    again, _ = finished(sampler.portions(SEEN, rng(5), Kept(Rows(*rows[:3]), rows.rest, np.zeros(8, bool))))
    assert again.fresh.all()


def test_portions_of_any_size_draw_the_same_rows():
    for prior in PRIORS.values():
        drawn = []
        for budget in (np.inf, 1, 7, 30):
            sampler, random = prior.row_sampler(PAIRS, Given(CLASSES)), rng(3)
            for _ in range(5):
                rows, work = finished(sampler.portions(SEEN, random, None, budget))
            drawn.append((dense(rows).tolist(), work, int(random[0])))
        assert all(one == drawn[0] for one in drawn)


def test_rows_are_put_together_pair_by_pair():
    random = np.random.default_rng(0)
    for _ in range(30):
        M, fresh = 6, random.random(6) < 0.4
        old, new = (random.integers(0, 4, M) for _ in range(2))
        new = np.where(fresh, new, 0)
        parts = []
        for sizes in (old, new):
            n = int(sizes.sum())
            parts.append((starts(sizes), random.integers(0, 9, n).astype(np.int32), random.random(n)))
        rest = random.random((2, M))
        rows, cells = DrawnRows(*parts[1], rest[1], fresh, np.array([0, M])), len(parts[0][1]) + len(parts[1][1])
        out = DrawnRows(np.empty(M + 1, np.int64), np.empty(cells, np.int32), np.empty(cells), np.empty(M), fresh)
        put_together(Rows(*parts[0]), rest[0], rows, out)
        for k in range(M):
            ptr, succ, prob = parts[int(fresh[k])]
            own, place = slice(ptr[k], ptr[k + 1]), slice(out.ptr[k], out.ptr[k + 1])
            assert out.succ[place].tolist() == succ[own].tolist()
            assert out.prob[place].tolist() == prob[own].tolist()
            assert out.rest[k] == rest[int(fresh[k]), k]


# --- rewards


def paid(visits, r_sum, r_squares):
    empty = np.zeros(0, np.int64)
    none = np.zeros(len(visits) + 1, np.int64)
    return snapshot([[]] * len(visits))._replace(
        ptr=none, succ=empty.astype(np.int32), count=empty, visits=np.array(visits), r_sum=np.array(r_sum, float),
        r_squares=np.array(r_squares, float),
    )  # fmt: skip


REWARDED = paid([3, 5, 0, 4, 2, 0, 6], [1, 2, 0, 2.0, 0.6, 0, 0], [1, 2, 0, 1.3, 0.18, 0, 0])


@pytest.mark.parametrize("rewards", ["shared", "per_pair"])
def test_rewards_drawn_in_turn_have_the_law_of_a_whole_draw(rewards):
    pairs, prior = Pairs.uniform(7, 1), DrawnRewards(rewards=rewards)
    whole, partly = prior.reward_sampler(pairs, Given()), prior.reward_sampler(pairs, Given())
    one, other, found, expected = rng(1), rng(2), [], []
    mean = partly.draw(REWARDED, other)
    for turn in range(8000):
        expected.append(whole.draw(REWARDED, one))
        fresh = np.arange(7) % 3 == turn % 3
        before = mean
        mean = finished(partly.portions(REWARDED, other, KeptRewards(mean, fresh)))
        kept = ~fresh & (REWARDED.visits == 0)
        assert (mean[kept] == before[kept]).all()
        assert (mean[fresh & (REWARDED.visits == 0)] != before[fresh & (REWARDED.visits == 0)]).all()
        found.append(mean)
    found, expected = np.array(found), np.array(expected)
    for power in (1, 2):
        blocks = [np.array([part.mean(axis=0) for part in np.array_split(x**power, 30)]) for x in (found, expected)]
        error = np.sqrt(sum(block.var(axis=0, ddof=1) / 30 for block in blocks))
        assert (np.abs(blocks[0].mean(axis=0) - blocks[1].mean(axis=0)) <= 5 * error + 1e-6).all()


@pytest.mark.parametrize("rewards", ["shared", "per_pair"])
def test_portions_of_any_size_draw_the_same_rewards(rewards):
    drawn = []
    for budget in (np.inf, 1, 5):
        sampler, random = DrawnRewards(rewards=rewards).reward_sampler(Pairs.uniform(7, 1), Given()), rng(4)
        for _ in range(5):
            mean = finished(sampler.portions(REWARDED, random, None, budget))
        drawn.append((mean.tolist(), int(random[0])))
    assert drawn[0] == drawn[1] == drawn[2]


# --- plans


def random_model(seed, S=30, A=3, reward=None):
    random = np.random.default_rng(seed)
    ptr = np.arange(0, 3 * S * A + 1, 3)
    succ = random.integers(0, S, 3 * S * A).astype(np.int32)
    prob = random.dirichlet(np.ones(3), S * A).ravel() * 0.95
    reward = random.random(S * A) if reward is None else reward
    return ExactModel(Rows(ptr, succ, prob), np.full(S * A, 0.05), reward, np.repeat(np.arange(S), A), 0.5)


@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("policy_sweeps", [0, 5])
def test_sweep_by_sweep_plans_are_those_of_extended_value_iteration(discount, policy_sweeps):
    for seed in range(10):
        model, random = random_model(seed), np.random.default_rng(seed)
        ptr, coin, start = np.arange(0, 91, 3), random.random(30), random.random(30)
        for sweeps in (1, 4, 1000):
            stop = Stop(discount, 1e-3, sweeps, policy_sweeps)
            found = finished(sweep_by_sweep(ptr, model, stop, coin, start))
            plan = extended_value_iteration(
                ptr, model, 1e-3, coin=coin, start=start, max_sweeps=sweeps, policy_sweeps=policy_sweeps,
                discount=discount,
            )  # fmt: skip
            assert found.policy.tolist() == plan.policy.tolist()
            assert found.bias.tolist() == plan.bias.tolist()
            assert found[3:] == plan[3:]
            assert found.gain == plan.gain


def test_plans_in_portions_are_those_made_at_once_also_where_not_all_can_be_reached():
    model = random_model(3)
    apart = np.where(np.repeat(model.state, 3) < 10, model.rows.succ % 10, model.rows.succ).astype(np.int32)
    model = model._replace(rows=model.rows._replace(succ=apart), rest=np.zeros(90))
    stop, bias = Stop(1.0, 1e-3, 100, 5), np.arange(30.0)
    for state in (0, 9, 29):
        once = plan_from(state, np.arange(0, 91, 3), model, bias, stop, rng(1))
        found = finished(plan_portions(state, np.arange(0, 91, 3), model, bias, stop, rng(1)))
        assert found.policy.tolist() == once.policy.tolist()
        assert found.bias.tolist() == once.bias.tolist()


def test_a_few_sweeps_from_the_last_values_reach_the_accuracy_of_many_where_the_mdp_stays():
    planner = DrawnPlanner(accuracy=1.0)
    for seed in range(8):
        model, bias, random = random_model(seed), np.zeros(30), rng(seed)
        best = extended_value_iteration(np.arange(0, 91, 3), model, 1e-8)
        for _ in range(60):
            problem = posterior_sampling.DrawnProblem(0, np.arange(0, 91, 3), model, 1e-5, bias, 0.01)
            plan = finished(planner.portions(problem, random, in_portions=False))
            assert plan.n_sweeps <= max(FEWEST_SWEEPS, 10)  # a hundredth of a thousand
            bias = plan.bias
            if plan.converged:
                break
        assert plan.converged
        assert plan.span <= 1e-5
        assert abs(plan.gain - best.gain) <= 1e-5


@pytest.mark.parametrize(("share", "sweeps"), [(1.0, 20), (0.5, 10), (0.24, 5), (0.01, 3), (0.0, 3)])
def test_sweeps_are_allowed_in_proportion_to_what_changed(share, sweeps, monkeypatch):
    stops = []
    monkeypatch.setattr(posterior_sampling, "plan_from", lambda *call: stops.append(call[4]))
    model = random_model(0)._replace(rows=Rows(np.zeros(1), np.zeros(10**6, np.int32), np.zeros(10**6)))
    problem = posterior_sampling.DrawnProblem(0, np.arange(4), model, 0.1, np.zeros(3), share)
    finished(DrawnPlanner().portions(problem, rng(), in_portions=False))
    assert stops[0].max_sweeps == sweeps


# --- nothing is given up


def test_a_way_out_of_a_tempting_corner_is_found_in_a_large_world():
    """A sure 0.4 in state 0; 1.0 at the end of a corridor of 6 steps; a thousand other states pay nothing.

    From the corner one pair enters the corridor, the others stay or lead into the thousand, from where one falls back.
    """
    S, n = 1030, 6
    pairs = []
    for s in range(S):
        if s == 0:
            pairs += [(s, 0, {0: 1.0}, 0.4), (s, 1, {1: 1.0}, 0.0), (s, 2, {n + 1: 0.5, n + 2: 0.5}, 0.0)]
        elif s < n:
            pairs += [(s, 0, {0: 1.0}, 0.0), (s, 1, {s + 1: 1.0}, 0.0), (s, 2, {0: 1.0}, 0.0)]
        elif s == n:
            pairs += [(s, 0, {n: 1.0}, 1.0), (s, 1, {0: 1.0}, 0.0), (s, 2, {0: 1.0}, 0.0)]
        else:
            on = n + 1 + (s - n) % (S - n - 1)
            pairs += [(s, 0, {0: 1.0}, 0.0), (s, 1, {0: 0.5, on: 0.5}, 0.0), (s, 2, {0: 1.0}, 0.0)]
    world = eq.TabularMDP.from_pairs(pairs, S, initial=0)
    for seed in range(3):
        trace = eq.simulate(world, "c-psrl", 12_000, seed=seed, gain=1.0, checkpoints=4)
        assert np.diff(trace.regret)[-1] < 0.3 * 3000
