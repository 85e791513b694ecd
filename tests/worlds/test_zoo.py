"""The zoo: every problem is what it says, a few by hand or by another formula."""

import inspect
from itertools import product
from math import factorial, sqrt

import numpy as np
import pytest

from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
from equirl.solving import Policy, diameter, solve
from equirl.worlds import ZOO, find_world, load_world, make
from equirl.worlds.rules import mdp_from_start, mixed, one_event
from worlds_kit import is_communicating

OUT_OF_REACH = {"zoo/courtyard": 39, "zoo/islands": 30}  # states, on purpose
MONEY = ("zoo/press", "zoo/haulage", "zoo/greenhouse")


def uniform(mdp):
    return 1 / np.diff(mdp.pairs.ptr)[mdp.pairs.state]


def always(mdp, action, otherwise=None):
    """(S,) an action wherever it is allowed, else the other one."""
    at, names = mdp.pairs, mdp.pairs.action_names
    allowed = [{names[a] for a in at.action[at.ptr[s] : at.ptr[s + 1]]} for s in range(mdp.n_states)]
    return [action if action in own else otherwise for own in allowed]


# Every problem


@pytest.mark.parametrize("name", ZOO)
def test_every_problem_is_a_small_mdp_described_in_one_line(name):
    mdp, row = make(name), ZOO[name]
    assert mdp.name == name
    assert load_world(mdp.name) == mdp
    assert 4 <= mdp.n_states <= 300
    assert 10 <= mdp.n_pairs <= 1000
    assert 0 < len(row.description) < 80
    assert "\n" not in inspect.getdoc(row.factory)
    assert row.factory.__name__ == name.removeprefix("zoo/").replace("-", "_")


@pytest.mark.parametrize("name", ZOO)
def test_every_problem_can_be_walked_through_and_is_worth_learning(name):
    mdp = make(name)
    reached = mdp.restrict_to_reachable()
    assert mdp.n_states - reached.n_states == OUT_OF_REACH.get(name, 0)
    assert is_communicating(reached)
    assert diameter(reached) < 500
    assert solve(reached).unit_gain > Policy(reached, uniform(reached)).unit_gain + 0.005


def test_a_problem_is_named_like_a_world_and_a_wrong_name_is_met_with_the_nearest():
    assert load_world("zoo/gate:places=4").n_states == 5
    with pytest.raises(ValueError, match=r"unknown world 'zoo/gat'; did you mean 'zoo/gate'"):
        find_world("zoo/gat")
    with pytest.raises(TypeError, match="did you mean 'places'"):
        make("zoo/gate", place=3)
    with pytest.raises(ValueError, match="arrival must be between 0 and 1, not 2"):
        make("zoo/gate", arrival=2)


def test_rewards_are_drawn_as_a_problem_has_it_unless_asked_otherwise():
    assert make("zoo/hands").reward_law == "bernoulli"
    assert make("zoo/hands", reward_law="deterministic").reward_law == "deterministic"
    assert make("zoo/gate").reward_law == "deterministic"
    assert make("zoo/press").concentration == 2100
    assert make("zoo/press").name == "zoo/press"


def test_every_problem_has_a_place_in_the_study():
    assert [entry.world for part in leaderboard_study(suite="zoo").parts for entry in part.worlds] == [*ZOO]


# Rules


def test_what_is_left_over_by_events_stays():
    assert one_event((0,), [((1,), 0.25), ((1,), 0.25)]) == {(1,): 0.5, (0,): 0.5}
    assert one_event((0,), [((1,), 0.5), ((2,), 0.5)]) == {(1,): 0.5, (2,): 0.5}


def test_outcomes_without_probability_are_no_states():
    assert mixed([((0,), 0.0), ((1,), 0.5), ((1,), 0.5)]) == {(1,): 1.0}


def test_a_range_given_for_rewards_is_what_they_are_mapped_from():
    mdp = mdp_from_start(lambda s: {"go": ({(1 - s[0],): 1.0}, 5.0 * s[0])}, (0,), reward_range=(-10, 10))
    assert mdp.r_mean.tolist() == [0.5, 0.75]
    assert mdp.reward_map == (20, -10)


def test_rules_without_end_are_refused():
    with pytest.raises(ValueError, match="more than 20000; lower its sizes"):
        mdp_from_start(lambda s: {"on": ({(s[0] + 1,): 1.0}, 0.0)}, (0,))


# By hand, or by another formula


def test_an_open_gate_is_the_queue_m_m_1_k():
    mdp = make("zoo/gate", places=6, arrival=0.3, service=0.5)
    law = Policy(mdp, always(mdp, "open", "shut")).stationary_distribution()
    weight = 0.6 ** np.arange(7)
    assert law == pytest.approx(weight / weight.sum())


def test_a_loss_network_that_takes_all_calls_has_the_product_form():
    mdp = make("zoo/loss-network")
    law = Policy(mdp, always(mdp, "ab2")).stationary_distribution()
    loads = (3.0, 3.0, 2.0)  # arrivals over the rate at which a call ends
    weight = {
        f"{a},{b},{both}": np.prod([load**n / factorial(n) for load, n in zip(loads, (a, b, both), strict=True)])
        for a, b, both in product(range(5), repeat=3)
        if max(a, b) + both <= 4
    }
    total = sum(weight.values())
    assert len(weight) == mdp.n_states
    for name, w in weight.items():
        assert law[mdp.pairs.state_number(name)] == pytest.approx(w / total)


def test_a_lamp_replaced_at_an_age_costs_by_renewal():
    mdp = make("zoo/lamp")
    fails = [0.02 + 0.04 * age for age in range(12)]
    costs = []
    for limit in range(1, 12):
        alive = np.cumprod([1, *(1 - p for p in fails[:limit])])
        cost = 20 * sum(a * p for a, p in zip(alive, fails[:limit], strict=False)) + 5 * alive[limit]
        costs.append(cost / alive.sum())  # a step of each age lived, and one to replace it
    assert solve(mdp).gain == pytest.approx(-min(costs))


def test_a_forest_cut_at_an_age_earns_by_renewal():
    mdp = make("zoo/forest")
    earned = []
    for age in range(1, 15):
        alive = 0.95 ** np.arange(age + 1)
        earned.append(alive[age] * (age**1.5 / 4 - 1) / alive.sum())
    assert solve(mdp).gain == pytest.approx(max(earned))


def test_a_lock_pays_once_in_as_many_steps_as_it_has_digits():
    assert solve(make("zoo/combination-lock", digits=5)).gain == pytest.approx(0.2)


def test_the_treasure_of_the_sea_pays_once_a_dive():
    mdp = make("zoo/deep-sea", depth=4)
    assert solve(mdp).gain == pytest.approx((1 - 4 * 0.1 / 4) / 4)


def test_whoever_knows_the_habit_wins_or_draws_by_it():
    assert solve(make("zoo/hands", habit=0.6)).gain == pytest.approx(0.6 + 0.4 / 3 * 1.5)


def test_three_dice_rolled_again_are_alike_one_time_in_36():
    mdp = make("zoo/three-dice")
    law = mdp.transition_probabilities("1,1,1,1", "rrr")
    alike = [f"{k},{k},{k},0" for k in range(1, 7)]
    assert sum(law[s] for s in alike) == pytest.approx(1 / 36)
    assert mdp.transition_probabilities("1,1,1,1", "kkk") == {"1,1,1,0": 1.0}


def test_pig_is_held_at_the_points_at_which_a_roll_costs_as_much_as_it_brings():
    mdp = make("zoo/pig")
    plan = solve(mdp)
    holds = sorted(
        int(mdp.pairs.state_names[s]) for s, a in enumerate(plan.policy) if mdp.pairs.action_names[a] == "hold"
    )
    gain = plan.gain
    # one roll more and then hold: five times in six four points more, and a step that costs the gain
    assert holds[0] == min(n for n in range(2, 31) if 5 / 6 * (n + 4 - gain) < n)


def test_an_infected_town_of_two_follows_the_coin_of_each():
    mdp = make("zoo/epidemic", people=2)
    law = mdp.transition_probabilities("1", "nothing")
    caught = 1 - 0.995 * (1 - 0.4)
    assert law["2"] == pytest.approx(caught * 0.8)
    assert law["0"] == pytest.approx((1 - caught) * 0.2)


def test_nobody_reaches_the_rich_islands():
    mdp = make("zoo/islands")
    assert mdp.r_mean.max() == 1.0
    assert solve(mdp.restrict_to_reachable()).gain < 0.8


@pytest.mark.parametrize("name", MONEY)
def test_euros_vary_by_about_sixty_where_they_are_earned(name):
    mdp = make(name)
    assert 30 <= mdp.n_pairs <= 60
    scale, _ = mdp.reward_map
    euros = mdp.rewards
    noise = scale * np.sqrt(mdp.r_mean * (1 - mdp.r_mean) / (mdp.concentration + 1))
    earning = (euros > 200) & (euros < 950)
    assert earning.sum() >= 10
    assert ((noise[earning] > 45) & (noise[earning] < 75)).all()
    assert euros.min() <= -4000
    assert scale * sqrt(0.905 * 0.095 / 2101) == pytest.approx(60.8, abs=0.1)


@pytest.mark.parametrize(("name", "gain"), [("zoo/press", 597.57), ("zoo/haulage", 488.49), ("zoo/greenhouse", 546.25)])
def test_the_best_that_a_firm_can_earn_is_as_stored(name, gain):
    mdp = make(name)
    assert solve(mdp).gain == pytest.approx(gain, abs=0.01)
