import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from equirl.learners.learner_registry import agent_for, make_agent
from equirl.model.pairs import Pairs
from equirl.posterior.drawn_rows import DrawnRows
from equirl.posterior.inspection import ClassPosterior, class_posterior, row_spread
from equirl.posterior.row_priors import RowSampler
from equirl.simulation.simulated_runs import simulate
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.partition import Partition
from equirl.worlds.world_registry import make
from oracles_posterior import marginal, posterior, snapshot

WORLD = make("ergodic-riverswim", n_states=5)


@pytest.fixture(scope="module")
def agent():
    return simulate(WORLD, "c-psrl", 4000, seed=1).agent


@pytest.fixture(scope="module")
def found(agent):
    return class_posterior(agent, draws=60, seed=3)


def saved(agent, path):
    agent.save(path)
    with np.load(path, allow_pickle=False) as held:
        return {name: held[name].tobytes() for name in held.files}


def test_looking_changes_nothing(agent, tmp_path):
    before = saved(agent, tmp_path / "before.npz")
    class_posterior(agent, draws=5)
    assert saved(agent, tmp_path / "after.npz") == before


def test_the_same_seed_draws_the_same(agent, found):
    np.testing.assert_array_equal(class_posterior(agent, draws=60, seed=3).labels, found.labels)
    assert (class_posterior(agent, draws=60, seed=4).labels != found.labels).any()


def test_co_membership_is_what_the_draws_say(found):
    labels, matrix = found.labels, found.matrix()
    for k, j in itertools.product(range(10), repeat=2):
        if (labels[:, [k, j]] >= 0).all():
            assert matrix[k, j] == pytest.approx((labels[:, k] == labels[:, j]).mean())
            assert found.alike(k, j) == matrix[k, j]
    np.testing.assert_array_equal(found.matrix([(2, 0), 3]), matrix[np.ix_([4, 3], [4, 3])])
    assert found.alike((2, 0), (3, 1)) == found.alike(4, 7)


def test_labels_are_numbered_as_they_appear_and_counted(found):
    for row, n in zip(found.labels, found.n_classes, strict=True):
        assert n == len(set(row[row >= 0].tolist()))
        Partition(row[row >= 0])
    assert found.expected_classes == pytest.approx(found.n_classes.mean())
    with pytest.raises(ValueError, match="read-only"):
        found.labels[0, 0] = 1


def test_tables_of_rewards_are_told_where_they_are_shared(agent, found):
    assert found.reward_tables.shape == found.labels.shape
    assert ((found.reward_tables >= 0) == (agent.counts.visits > 0)).all()
    alone = simulate(WORLD, "c-psrl", 500, seed=1, rewards="per_pair").agent
    assert class_posterior(alone, draws=2).reward_tables is None


def test_the_point_estimate_is_a_draw_and_the_draw_of_least_loss(found):
    point, matrix = found.partition(), found.matrix()
    assert any(point == Partition.from_labels(row) for row in found.labels)
    losses = [np.nansum(np.abs((row[:, None] == row) - matrix)) for row in found.labels]  # NaN where never visited
    assert np.nansum(np.abs((point.label[:, None] == point.label) - matrix)) == pytest.approx(min(losses))


def test_with_much_data_pairs_alike_are_found_alike():
    agent = make_agent("c-psrl", 5, 2, seed=0, rewards="per_pair")
    rng, truth = np.random.default_rng(0), equivalence_classes(WORLD).label
    for state, action in itertools.product(range(5), range(2)):
        law = WORLD.transition_probabilities(state, action)
        for successor in rng.choice(list(law), p=list(law.values()), size=3000):
            agent.observe(state, action, 0.0, int(successor))
    matrix = class_posterior(agent, draws=60, passes=3).matrix()
    profiles = [
        tuple(sorted(np.round(list(WORLD.transition_probabilities(k // 2, k % 2).values()), 9))) for k in range(10)
    ]
    same = np.array([[p == q for q in profiles] for p in profiles])
    assert matrix[same].mean() > 0.9
    assert matrix[~same].mean() < 0.1
    assert (same | (truth[:, None] != truth)).all()


def test_the_draws_have_the_exact_posterior_of_partitions():
    agent = make_agent("c-psrl", 3, 1, seed=0, alpha=1.0, gamma=0.7, rewards="per_pair")
    counts = [[2, 1], [3, 1], [1]]
    for state, row in enumerate(counts):
        for successor, n in enumerate(row):
            for _ in range(n):
                agent.observe(state, 0, 0.0, successor)
    found, law = class_posterior(agent, draws=6000, passes=4), marginal(posterior(counts, 1.0, 0.7))
    for k, j in ((0, 1), (0, 2), (1, 2)):
        exact = sum(p for classes, p in law.items() if any({k, j} <= members for members in classes))
        assert found.alike(k, j) == pytest.approx(exact, abs=4.5 * np.sqrt(exact * (1 - exact) / 3000))
    exact = sum(p * len(classes) for classes, p in law.items())
    assert found.expected_classes == pytest.approx(exact, abs=0.05)
    assert snapshot(counts).visits.tolist() == agent.counts.visits.tolist()


def test_a_pair_never_visited_has_no_class():
    agent = make_agent("c-psrl", 3, 2, seed=0)
    agent.observe(0, 0, 0.0, 1)
    agent.observe(1, 0, 0.0, 1)
    found = class_posterior(agent, draws=3)
    assert (found.labels[:, [0, 2]] >= 0).all()
    assert (found.labels[:, [1, 3, 4, 5]] == -1).all()
    assert np.isnan(found.alike(0, 1))
    assert 0 <= found.alike(0, 2) <= 1
    assert np.isnan(found.matrix()).sum() == 36 - 4
    assert found.partition().n_classes in (5, 6)


def test_a_learner_that_has_seen_nothing_can_be_looked_at():
    found = class_posterior(make_agent("c-psrl", 3, 2), draws=2)
    assert found.expected_classes == 0
    assert found.partition() == Partition.singletons(6)


@pytest.mark.parametrize("name", ["c-psrl-c", "c-psrl-c-sigma"])
def test_given_classes_are_certain(name):
    agent = agent_for(WORLD, name)
    for state in range(5):
        agent.observe(state, 0, 0.0, min(4, state + 1))
    found = class_posterior(agent, draws=3)
    assert found.partition() == equivalence_classes(WORLD)
    assert set(np.unique(found.matrix())) == {0.0, 1.0}


@pytest.mark.parametrize("name", ["psrl", "ucrl2-l", "random"])
def test_learners_without_a_posterior_of_classes_say_so(name):
    with pytest.raises(ValueError, match="no posterior of classes"):
        class_posterior(make_agent(name, 3, 2))


def test_wrong_pairs_are_named():
    found = ClassPosterior(Pairs.uniform(2, 2), [[0, 0, 1, -1]])
    with pytest.raises(ValueError, match="there is no pair 4: pairs are 0 to 3"):
        found.alike(0, 4)
    with pytest.raises(ValueError, match="state"):
        found.alike((5, 0), 1)
    with pytest.raises(TypeError, match=r"\(state, action\)"):
        found.alike((0, 0, 0), 1)
    assert repr(found) == "<ClassPosterior: 1 draws, M=4, 2 classes expected>"


class Scripted(RowSampler):
    """Rows drawn in the order given: a dense law and a rest by pair."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def portions(self, seen, rng, kept=None, budget=0.0):
        yield 1
        laws, rest = self.draws.pop(0)
        laws = np.asarray(laws, float)
        pair, succ = np.nonzero(laws)
        ptr = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=len(laws)))])
        room = np.zeros(3)  # arrays may be longer than what was drawn
        prob, state = np.concatenate([laws[pair, succ], room]), np.concatenate([succ, room]).astype(np.int32)
        return DrawnRows(ptr, state, prob, np.asarray(rest, float)), 1


def test_the_spread_of_rows_is_the_mean_distance_of_neighbouring_draws_and_at_most_two():
    agent = SimpleNamespace(pairs=Pairs.uniform(2, 1), counts=make_agent("psrl", 2, 1).counts)
    draws = [([[1.0, 0.0], [0.5, 0.5]], [0.0, 0.0]), ([[0.5, 0.0], [0.5, 0.5]], [0.5, 0.0]),
             ([[0.0, 1.0], [0.5, 0.3]], [0.0, 0.2])]  # fmt: skip
    agent.rows = Scripted(*draws)
    np.testing.assert_allclose(row_spread(agent, draws=3), [(0.5 + 0.5 + 1.5 + 0.5) / 2, 0.4 / 2])
    agent.rows = Scripted(*draws[:2])
    np.testing.assert_allclose(row_spread(agent, draws=2), [1.0, 0.0])
    assert len(agent.rows.draws) == 2  # a copy is drawn from
    agent.rows = Scripted(([[1.0, 0.0], [1.0, 0.0]], [0.0, 1.0]), ([[0.0, 1.0], [0.0, 1.0]], [0.0, 0.0]))
    np.testing.assert_allclose(row_spread(agent, draws=2), [2.0, 2.0])
    with pytest.raises(ValueError, match="draws"):
        row_spread(agent, draws=1)


@pytest.mark.parametrize(
    ("draws", "passes", "burn_in", "made"), [(3, 2, 0, 6), (3, 2, 4, 10), (1, 1, 0, 1), (2, 1, 1, 3)]
)
def test_draws_are_made_for_every_pass_and_some_thrown_away_first(agent, draws, passes, burn_in, made, monkeypatch):
    rows = type(agent.rows)
    calls, draw = [], rows.draw
    monkeypatch.setattr(rows, "draw", lambda self, seen, rng: calls.append(1) or draw(self, seen, rng))
    found = class_posterior(agent, draws, passes, burn_in=burn_in)
    assert (len(calls), len(found.labels)) == (made, draws)


def test_the_draw_that_agrees_best_is_that_of_least_loss_by_all_pairs():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = np.array([Partition.from_labels(rng.integers(0, 3, 6)).label for _ in range(7)])
        together = np.mean([row[:, None] == row for row in labels], axis=0)
        losses = [np.abs((row[:, None] == row) - together).sum() for row in labels]
        point = ClassPosterior(Pairs.uniform(3, 2), labels).partition()
        loss = np.abs((point.label[:, None] == point.label) - together).sum()
        assert loss == pytest.approx(min(losses))


def test_pairs_without_a_class_are_left_out_and_stand_alone():
    labels = np.array([[0, 0, -1, 1], [0, 0, 1, 1], [0, 1, -1, 2]])
    found = ClassPosterior(Pairs.uniform(2, 2), labels)
    assert found.alike(0, 1) == pytest.approx(2 / 3)
    assert np.isnan(found.alike(0, 2))
    assert found.n_classes.tolist() == [2, 2, 3]
    assert found.partition().label.tolist() == [0, 0, 1, 2]
    assert repr(found) == "<ClassPosterior: 3 draws, M=4, 2.33 classes expected>"
    nothing = ClassPosterior(Pairs.uniform(2, 2), np.full((2, 4), -1))
    assert nothing.n_classes.tolist() == [0, 0]
    assert nothing.partition().n_classes == 4


@pytest.mark.parametrize("labels", [np.zeros(4, int), np.zeros((0, 4), int), np.zeros((2, 3), int)])
def test_draws_of_another_shape_are_refused(labels):
    with pytest.raises(ValueError, match=r"labels has shape .*; one row per draw would be \(draws, 4\)"):
        ClassPosterior(Pairs.uniform(2, 2), labels)
    with pytest.raises(ValueError, match="reward_tables has shape"):
        ClassPosterior(Pairs.uniform(2, 2), np.zeros((2, 4), int), labels)
