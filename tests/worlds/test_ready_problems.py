"""Cycles, the access-control queue and Gymnasium's toy text: sizes, classes and gains; all by another solver."""

import numpy as np
import pytest
from scipy.stats import binom

from equirl.interop.convert import to_quantecon
from equirl.solving.optimal_gain import solve
from equirl.structure.equivalence import equivalence_classes
from equirl.worlds.world_registry import make


def laws(mdp):
    return equivalence_classes(mdp, rewards=False).n_classes


# Cycles


def test_going_round_a_cycle_pays_once_a_turn():
    mdp = make("cycle", n_states=7, reward=0.7)
    assert solve(mdp).gain == pytest.approx(0.1)
    assert solve(mdp).policy.tolist() == [0] * 7


def test_all_pairs_of_a_cycle_have_the_same_law():
    assert laws(make("cycle")) == 1


def test_a_reward_for_staying_above_that_of_going_round_keeps_one_there():
    assert solve(make("cycle", n_states=5, stay_reward=0.3)).gain == pytest.approx(0.3)


# Access control


def gain_by_hand(n_servers=10, payments=(1, 2, 4, 8), free=0.06, sweeps=3000):
    """The gain by relative value iteration over the number of free servers, written from the rules of the task."""
    servers = range(n_servers + 1)
    leave = [binom.pmf(np.arange(n_servers - k + 1), n_servers - k, free) for k in servers]
    h = np.zeros(n_servers + 1)  # mean over the payment of the customer at the head
    for _ in range(sweeps):
        after = [float(leave[k] @ h[k:]) for k in servers]
        choices = [[max(after[k], pay + after[k - 1]) if k else after[k] for pay in payments] for k in servers]
        new = np.mean(choices, axis=1)
        gain, h = new[0] - h[0], new - new[0]
    return gain


def test_the_gain_of_access_control_is_that_of_the_books_rules():
    assert solve(make("access-control")).gain == pytest.approx(gain_by_hand(), abs=1e-6)
    assert solve(make("access-control")).gain == pytest.approx(2.7476, abs=1e-4)


def estimates_of_the_books_learner(n_runs=100, steps=20_000, alpha=0.01, beta=0.01, explore=0.1):
    """Differential Sarsa with the book's settings, many runs at once: its last estimates of the average reward."""
    rng, run = np.random.default_rng(0), np.arange(n_runs)
    q, estimate = np.zeros((n_runs, 11, 4, 2)), np.zeros(n_runs)

    def choose(free, pay):
        greedy, chance = q[run, free, pay].argmax(axis=1), rng.integers(2, size=n_runs)
        return np.where(free == 0, 1, np.where(rng.random(n_runs) < explore, chance, greedy))

    free, pay = np.full(n_runs, 10), rng.integers(4, size=n_runs)
    reject = choose(free, pay)
    for _ in range(steps):
        left = free - (reject == 0)
        after, next_pay = left + rng.binomial(10 - left, 0.06), rng.integers(4, size=n_runs)
        next_reject = choose(after, next_pay)
        reward = np.where(reject == 0, 2.0**pay, 0.0)
        error = reward - estimate + q[run, after, next_pay, next_reject] - q[run, free, pay, reject]
        estimate = estimate + beta * error
        q[run, free, pay, reject] += alpha * error
        free, pay, reject = after, next_pay, next_reject
    return estimate


def test_the_value_printed_in_the_book_is_within_the_noise_of_its_learner():
    estimate = estimates_of_the_books_learner()
    assert estimate.mean() == pytest.approx(2.6, abs=0.1)
    assert 0.15 < estimate.std() < 0.3
    assert (estimate <= 2.31).mean() > 0.03


def test_what_follows_in_access_control_depends_on_the_free_servers_alone():
    mdp = make("access-control")
    assert (mdp.n_states, mdp.n_pairs, laws(mdp)) == (44, 84, 11)
    assert mdp.transition_probabilities("3,1", "accept") == mdp.transition_probabilities("2,8", "reject")


def test_without_a_free_server_a_customer_can_only_be_rejected():
    mdp = make("access-control", n_servers=2, payments="1/5")
    with pytest.raises(ValueError, match="accept"):
        mdp.transition_probabilities("0,5", "accept")


def test_the_rewards_of_access_control_are_the_payments():
    mdp = make("access-control", payments=[2, 3])
    assert mdp.mean_reward("4,3", "accept") == 3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"payments": "1/x"}, "payments must be numbers, such as 1/2/4/8"),
        ({"payments": "-1/2"}, "payments must be at least 0"),
        ({"payments": [0, 0]}, "and one of them more"),
        ({"n_servers": 0}, "n_servers must be at least 1"),
        ({"free": 2}, "free must be between 0 and 1"),
    ],
)
def test_a_wrong_queue_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        make("access-control", **params)


# Toy text


@pytest.mark.parametrize(
    ("text", "params", "sizes"),
    [
        ("frozen-lake", {}, (53, 212, 2)),
        ("frozen-lake", {"size": "4x4"}, (11, 44, 2)),
        ("frozen-lake", {"size": "4x4", "slippery": False}, (11, 44, 1)),
        ("cliff-walking", {}, (37, 148, 1)),
        ("taxi", {}, (400, 2400, 4)),
        ("taxi", {"rainy": False}, (400, 2400, 2)),
    ],
)
def test_states_pairs_and_classes_of_toy_text(text, params, sizes):
    mdp = make(text, **params)
    assert (mdp.n_states, mdp.n_pairs, laws(mdp)) == sizes


def test_the_shortest_way_over_firm_ice_takes_six_steps():
    assert solve(make("frozen-lake", size="4x4", slippery=False)).gain == pytest.approx(1 / 6)


def test_keeping_off_the_cliff_costs_one_a_step():
    assert solve(make("cliff-walking")).gain == pytest.approx(-1)


def test_actions_of_toy_text_have_the_names_of_gymnasium():
    lake = make("frozen-lake", size="4x4", slippery=False)
    assert lake.transition_probabilities("0", "right") == {"1": 1.0}
    cliff = make("cliff-walking")
    assert cliff.transition_probabilities("36", "up") == {"24": 1.0}
    taxi = make("taxi", rainy=False)
    assert taxi.transition_probabilities("1", "down") == {"101": 1.0}


READY = ["admission", "lost-sales", "perishable", "sites", "machines", "delivery", "pendulum", "toymaker", "taxicab"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["access-control", *READY])
def test_quantecon_finds_the_same_discounted_values(name):
    pytest.importorskip("quantecon")
    mdp = make(name)
    theirs = to_quantecon(mdp, 0.95).solve(method="policy_iteration").v
    np.testing.assert_allclose(solve(mdp, accuracy=1e-10, discount=0.95).value, theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["cycle", "access-control", "frozen-lake", "cliff-walking", "taxi", *READY])
def test_ready_problems_are_renumbered_at_random(name):
    mdp = make(name, shuffle=3)
    assert mdp != make(name)
    assert solve(mdp).gain == pytest.approx(solve(make(name)).gain)


def test_a_lake_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="did you mean '8x8'"):
        make("frozen-lake", size="8X8")
