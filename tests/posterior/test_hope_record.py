"""What became of hope: promises are counted as a slow reading of the rules counts them, and decide what a draw does."""

import numpy as np
import pytest

import equirl as eq
from equirl.estimation.counts import Counts
from equirl.estimation.given_knowledge import NOTHING
from equirl.learners import make_agent
from equirl.model.pairs import Pairs
from equirl.numerics.random_draws import draw_state
from equirl.posterior import hope_record, row_priors
from equirl.posterior.drawn_rows import DrawnRows
from equirl.posterior.hope import NEVER, Reach, entered_states, n_open, reach_of
from equirl.posterior.hope_record import (
    HELD,
    IN_VAIN,
    KNOWN,
    NEW_STATES,
    NEWS,
    TESTED,
    HopeRecord,
    Promises,
    entries,
    promised,
    surprises,
)
from equirl.posterior.row_priors import ClassRows, GivenClassRows
from equirl.structure.partition import Partition
from equirl.worlds.world_registry import load_world

S, A = 5, 2


def played(steps, seed, counts=None):
    """Counts after random steps among the first states, and a few to the others."""
    rng, counts = np.random.default_rng(seed), counts or Counts(S * A)
    for _ in range(steps):
        s, a = rng.integers(3), rng.integers(A)
        counts.record(int(s * A + a), float(rng.random()), int(rng.choice(S, p=[0.4, 0.3, 0.2, 0.05, 0.05])))
    return counts


def two_moments(seed):
    counts = played(6 + seed % 40, seed)
    last = counts.snapshot()
    return last, played(1 + seed % 9, seed + 1000, counts).snapshot()


def of_pair(seen, k):
    return set(seen.succ[seen.ptr[k] : seen.ptr[k + 1]].tolist())


def slow_entries(promise, entered, last, seen):
    tested = sum((seen.visits[k] - last.visits[k]) * promise[k] for k in range(len(promise)) if last.visits[k] >= KNOWN)
    kept = [
        promise[k]
        for k in range(len(promise))
        if seen.visits[k] > last.visits[k] and any(not entered[x] for x in of_pair(seen, k))
    ]
    return tested, max(kept, default=0.0)


def slow_surprises(exception, last, seen, mean):
    tested, kept = 0.0, 0.0
    for k in np.flatnonzero((exception >= 0) & (seen.visits > last.visits)):
        n, tries = last.visits[k], seen.visits[k] - last.visits[k]
        tested += 1 if n == 0 else min(1, tries / (n + 1))
        right = exception[k] in of_pair(seen, k) - of_pair(last, k)
        pays = seen.r_sum[k] / seen.visits[k] > mean
        kept = 1.0 if right and (n > 0 or pays) else kept
    return tested, kept


@pytest.mark.parametrize("seed", range(60))
def test_promises_of_new_states_are_counted_as_the_rules_say(seed):
    last, seen = two_moments(seed)
    promise = np.random.default_rng(seed).random(S * A)
    entered = entered_states(reach_of(last, np.arange(0, S * A + 1, A)))
    np.testing.assert_allclose(entries(promise, entered, last, seen), slow_entries(promise, entered, last, seen))


@pytest.mark.parametrize("seed", range(60))
def test_exceptions_are_counted_as_the_rules_say(seed):
    last, seen = two_moments(seed)
    rng = np.random.default_rng(seed)
    exception, mean = np.where(rng.random(S * A) < 0.7, rng.integers(S, size=S * A), -1), float(rng.random())
    found = surprises(exception, last, seen, mean)
    np.testing.assert_allclose(found, slow_surprises(exception, last, seen, mean))


def test_the_cases_hold_promises_kept_and_broken():
    outcomes = []
    for seed in range(60):
        last, seen = two_moments(seed)
        entered = entered_states(reach_of(last, np.arange(0, S * A + 1, A)))
        outcomes.append(slow_entries(np.full(S * A, 0.5), entered, last, seen))
    tested, kept = np.array(outcomes).T
    assert (tested > 0).sum() > 10
    assert 5 < (kept > 0).sum() < 55


def test_a_promise_is_the_probability_of_states_never_entered():
    rows = DrawnRows(
        np.array([0, 2, 3]), np.array([0, 3, 4], np.int32), np.array([0.7, 0.3, 0.6]), np.array([0.0, 0.4])
    )
    promise = np.full(2, 9.0)
    promised(rows, np.array([True, True, True, False, False]), np.arange(2), promise)
    np.testing.assert_allclose(promise, [0.3, 0.6 + 0.4 * 2 / 5])


def share_of_hope(kind, draws=4000):
    rng, hopes = draw_state(np.random.SeedSequence(3)), 0
    for _ in range(draws):
        kind.hopeful = False
        hopes += kind.next_draw(rng)
    return hopes / draws


@pytest.mark.parametrize(("broken", "chance"), [(0.0, 1.0), (NEW_STATES, 0.25), (3 * NEW_STATES, 1 / 16)])
def test_hope_fades_with_the_square_of_what_was_broken(broken, chance):
    kind = Promises(NEW_STATES)
    kind.broken = broken
    assert share_of_hope(kind) == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / 4000) + 1e-12)


def test_hope_not_tested_goes_on_and_hope_tested_is_drawn_anew():
    rng, kind = draw_state(np.random.SeedSequence(4)), Promises(NEW_STATES, held=HELD)
    kind.broken = 1e9
    went_on = []
    for tested in (0.0, TESTED):
        hopes = 0
        for _ in range(4000):
            kind.hopeful = True
            kind.broken = 1e9
            kind.look_back(tested, 0.0)
            hopes += kind.next_draw(rng)
        went_on.append(hopes / 4000)
    assert went_on[0] == pytest.approx(HELD, abs=0.02)
    assert went_on[1] < 1e-3


def test_an_episode_breaks_one_promise_at_most_and_one_that_is_kept_forgives_all():
    kind = Promises(NEW_STATES)
    kind.look_back(7.5, 0.0)
    kind.look_back(0.25, 0.0)
    assert kind.broken == 1.25
    kind.look_back(0.75, 0.5)
    assert kind.broken == 1.0
    kind.look_back(0.0, 1.0)
    assert kind.broken == 0.0


def test_an_episode_that_hoped_for_exceptions_in_vain_breaks_a_little_and_they_are_not_held():
    kind, rng = HopeRecord(S * A).exceptions, draw_state(np.random.SeedSequence(5))
    for hopeful, tested, broken in ((False, 0.0, 0.0), (True, 0.0, IN_VAIN), (True, 0.05, IN_VAIN), (True, 0.5, 0.5)):
        kind.broken, kind.hopeful = 0.0, hopeful
        kind.look_back(tested, 0.0)
        assert kind.broken == broken
    kind.look_back(0.0, 1.0)
    assert kind.broken == 0.0
    for _ in range(200):
        kind.broken, kind.hopeful = 1e9, True
        kind.look_back(0.0, 0.0)
        assert not kind.next_draw(rng)


def test_new_states_are_not_given_up_while_nothing_was_tested():
    kind = HopeRecord(S * A).new_states
    kind.hopeful = True
    kind.look_back(0.0, 0.0)
    assert (kind.broken, kind.held) == (0.0, HELD)


def test_new_states_are_news_also_where_nobody_promised_them():
    counts = Counts(S * A)
    counts.record(0, 0.0, 1)
    last = counts.snapshot()
    counts.record(0, 0.0, 2)
    seen, ptr, record = counts.snapshot(), np.arange(0, S * A + 1, A), HopeRecord(S * A)
    record.new_states.broken = record.exceptions.broken = 8.0
    record.look_back(last, reach_of(last, ptr), seen, reach_of(seen, ptr))
    assert record.new_states.broken == pytest.approx(8 * (2 / 3) ** NEWS)
    assert record.exceptions.broken == 8.0


def sampler_after(broken, hope=1.0, part=ClassRows):
    pairs = Pairs.uniform(S, A)
    given = NOTHING if part is ClassRows else NOTHING._replace(classes=Partition.from_labels(np.zeros(S * A, int)))
    sampler = part(hope=hope).row_sampler(pairs, given)
    counts = Counts(S * A)
    for _ in range(4):
        for s in range(2):
            for a in range(A):
                counts.record(s * A + a, 0.0, a)
    if sampler.record is not None:
        sampler.record.new_states.broken = sampler.record.exceptions.broken = broken
    return sampler, counts.snapshot()


def test_a_draw_without_hope_leads_to_states_entered_so_far_and_has_no_exceptions():
    rng, led = draw_state(np.random.SeedSequence(5)), {}
    for broken in (0.0, 1e12):
        sampler, seen = sampler_after(broken)
        led[broken] = set()
        for _ in range(60):
            sampler.record.new_states.broken = sampler.record.exceptions.broken = broken
            sampler.record.new_states.hopeful = sampler.record.exceptions.hopeful = False
            rows, _ = sampler.draw(seen, rng)
            led[broken] |= set(rows.succ[: rows.ptr[2 * A]].tolist())  # of the states entered
            if broken > 0:
                assert (sampler.record.exception == -1).all()
                assert sampler.record.arrays()["hope_promise"][: 2 * A].max() == 0.0
    assert led[1e12] == {0, 1}
    assert led[0.0] == set(range(S))


def test_no_pair_leads_to_new_states_where_it_never_may():
    assert [n_open(n, Reach(np.arange(4), 2, NEVER)) for n in (0.0, 1.0)] == [2, 2]


@pytest.mark.parametrize(("hope", "part"), [(0.0, ClassRows), (1.0, GivenClassRows)])
def test_without_the_setting_and_with_classes_given_nothing_is_recorded(hope, part):
    sampler, seen = sampler_after(0.0, hope, part)
    assert sampler.record is None
    assert not any(name.startswith("hope") for name in sampler.arrays())
    sampler.draw(seen, draw_state(np.random.SeedSequence(6)))


def test_a_sampler_without_hope_keeps_no_record():
    sampler, _ = sampler_after(0.0)
    sampler.drop_hope()
    assert sampler.record is None


def test_a_record_goes_on_from_its_arrays():
    record = HopeRecord(3)
    record.new_states.broken, record.exceptions.hopeful = 2.5, True
    record.promise, record.exception = np.array([0.1, 0.0, 1.0]), np.array([-1, 2, 0])
    other = HopeRecord(3)
    other.restore(record.arrays())
    assert (other.new_states.broken, other.exceptions.broken) == (2.5, 0.0)
    assert (other.new_states.hopeful, other.exceptions.hopeful) == (False, True)
    np.testing.assert_array_equal(other.promise, record.promise)
    np.testing.assert_array_equal(other.exception, record.exception)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("numbers", np.zeros(2), "not whole"),
        ("numbers", np.array([[-1.0, 0.0], [0.0, 0.0]]), "not whole"),
        ("numbers", np.array([[0.0, 0.5], [0.0, 0.0]]), "not whole"),
        ("numbers", np.array([[np.inf, 0.0], [0.0, 0.0]]), "not whole"),
        ("promise", np.zeros(2), "not whole"),
        ("promise", np.zeros(3, np.float32), "not whole"),
        ("promise", np.array([0.0, 1.5, 0.0]), "not a probability"),
        ("promise", np.array([0.0, -0.5, 0.0]), "not a probability"),
        ("exception", np.zeros(3), "not whole"),
        ("exception", np.array([0, -2, 1]), "leads to no state"),
    ],
)
def test_a_damaged_record_is_refused(name, value, why):
    arrays = HopeRecord(3).arrays() | {f"hope_{name}": value}
    with pytest.raises(ValueError, match=why):
        HopeRecord(3).restore(arrays)


def test_a_learner_saved_between_episodes_hopes_on_as_it_would_have(tmp_path):
    river = eq.make("riverswim", n_states=6)
    agent = eq.simulate(river, "c-psrl", horizon=3000, seed=2).agent
    agent.save(tmp_path / "agent.npz")
    again = eq.load_agent(tmp_path / "agent.npz")
    assert again.rows.record.new_states.broken == agent.rows.record.new_states.broken
    ahead = [eq.simulate(river, one, horizon=3000, seed=5).pseudo_regret[-1] for one in (agent, again)]
    assert ahead[0] == ahead[1]


def late_regret(world, horizon=30_000, runs=6):
    """Mean regret in the second half."""
    ends = [horizon // 2, horizon]
    curves = [eq.simulate(world, "c-psrl", horizon, seed=s, checkpoints=ends).pseudo_regret for s in range(runs)]
    return np.diff(np.mean(curves, axis=0))[0]


def test_hope_costs_less_the_more_often_it_was_broken(monkeypatch):
    """Four rooms whose walls are states that nobody can enter: without a record, hope costs five times as much."""
    rooms = eq.make("four-room", walls_are_states=True)
    fading = late_regret(rooms)
    monkeypatch.setattr(hope_record, "NEW_STATES", 1e12)
    monkeypatch.setattr(hope_record, "EXCEPTIONS", 1e12)
    assert fading < 0.5 * late_regret(rooms)


def test_what_is_hidden_is_not_hoped_to_last_for_ever(monkeypatch):
    """Regret in the same world where states never entered lead back after 120 steps on average, and where never."""
    islands = eq.make("zoo/islands")

    def regret():
        return np.mean([eq.simulate(islands, "c-psrl", horizon=10_000, seed=s).pseudo_regret[-1] for s in range(24)])

    back = regret()
    monkeypatch.setattr(row_priors, "hidden_length", lambda t: np.inf)
    assert back < 0.9 * regret()


def with_islands(mdp, n):
    """The same MDP beside n states that nobody can enter, in which every step pays most."""
    rows, S = mdp.rows, mdp.n_states
    pairs = [
        (int(s), int(a), dict(zip(rows.succ[rows.row(k)].tolist(), rows.prob[rows.row(k)], strict=True)), mdp.r_mean[k])
        for k, (s, a) in enumerate(zip(mdp.pairs.state, mdp.pairs.action, strict=True))
    ]
    pairs += [(S + i, a, {S + (i + a) % n: 1.0}, 1.0) for i in range(n) for a in range(2)]
    return eq.TabularMDP.from_pairs(pairs, S + n, initial=[*mdp.initial, *[0.0] * n])


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "horizon", "runs"),
    [("four-room", 50_000, 12), ("riverswim:n_states=10", 20_000, 48), ("zoo/fishery", 20_000, 16)],
)
def test_states_out_of_reach_at_most_double_regret(world, horizon, runs):
    """Thirty states that nobody can enter, more than there are others; states and actions renumbered."""
    plain = load_world(world)

    def regret(mdp):
        runs_of = (eq.simulate(mdp.shuffled(s), "c-psrl", horizon, seed=s) for s in range(runs))
        return np.mean([trace.unit_curves["pseudo_regret"][..., -1] for trace in runs_of])

    assert regret(with_islands(plain, 30)) < 2 * regret(plain)


def test_make_agent_starts_with_nothing_broken():
    record = make_agent("c-psrl", 3, 2).rows.record
    assert (record.new_states.broken, record.exceptions.broken) == (0.0, 0.0)
    assert (record.exception == -1).all()
