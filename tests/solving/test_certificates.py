"""What is printed as certified holds, exactly: tiny MDPs with rare exits and near-equal gains against fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.simulation.simulated_runs import simulate
from equirl.solving.chains import whole
from equirl.solving.multichain import NoConstantGain
from equirl.solving.optimal_gain import solve
from equirl.solving.policies import Policy
from equirl.solving.renewal import IllConditioned
from equirl.solving.value_iteration import bellman
from oracles_exact import best_gain_exactly, best_value_exactly, solve_within, treacherous_mdp

DISCOUNTS = (0.0, 0.5, 0.9, 0.999, 1 - 1e-6, 1 - 1e-9)


def attacked(first: int, n: int) -> Iterator[tuple[int, TabularMDP]]:
    for seed in range(first, first + n):
        yield seed, treacherous_mdp(np.random.default_rng(seed))


def check_gains(seed: int, mdp: TabularMDP) -> bool:
    """Whether the answer was certified to what was asked; that it holds as far as it says is asserted."""
    truth, part = best_gain_exactly(mdp), np.flatnonzero(mdp.reachable())
    answer = solve(mdp, multichain=True)
    assert solve_within(mdp, answer.gain_by_state[part], [truth[s] for s in part], answer.accuracy), seed
    start = sum(Fraction(float(mass)) * gain for mass, gain in zip(mdp.initial, truth, strict=True))
    assert solve_within(mdp, np.array([answer.gain]), [start], answer.accuracy), seed
    return answer.converged


def check_one_gain(seed: int, mdp: TabularMDP, method: str) -> bool:
    truth, part = best_gain_exactly(mdp), np.flatnonzero(mdp.reachable())
    try:
        answer = solve(mdp, method=method, max_sweeps=2000)
    except NoConstantGain:
        assert len({truth[s] for s in part}) > 1, seed
        return True
    assert solve_within(mdp, np.full(len(part), answer.gain), [truth[s] for s in part], answer.accuracy), (seed, method)
    return answer.converged


def check_values(seed: int, mdp: TabularMDP, method: str) -> bool:
    discount = DISCOUNTS[seed % len(DISCOUNTS)]
    answer = solve(mdp, discount=discount, method=method, max_sweeps=2000)
    assert solve_within(mdp, answer.value, best_value_exactly(mdp, discount), answer.accuracy), (seed, method)
    return answer.converged


def test_certified_gains_from_each_state_hold_exactly() -> None:
    converged = [check_gains(*case) for case in attacked(0, 400)]
    assert np.mean(converged) > 0.95  # and most of them are as close as was asked


@pytest.mark.parametrize("method", ["auto", "policy", "value"])
def test_a_certified_gain_holds_exactly_by_every_method(method: str) -> None:
    converged = [check_one_gain(*case, method) for case in attacked(0, 100)]
    assert np.mean(converged) > 0.7


@pytest.mark.parametrize("method", ["auto", "modified", "policy", "value"])
def test_certified_discounted_values_hold_exactly_by_every_method(method: str) -> None:
    converged = [check_values(*case, method) for case in attacked(0, 100)]
    assert np.mean(converged) > 0.5  # near a discount of 1 double precision cannot hold what is asked


@pytest.mark.long
def test_certificates_hold_in_two_thousand_more_mdps_by_the_methods_taken_by_default() -> None:
    for seed, mdp in attacked(400, 2000):
        check_gains(seed, mdp)
        check_one_gain(seed, mdp, "auto")
        check_values(seed, mdp, "auto")


def rare_exit(p: float, inside: float, beyond: float) -> TabularMDP:
    """A place to stay, left for a better one with probability p, or never."""
    hall = [(0, 0, {0: 1.0}, inside), (0, 1, {0: 1 - p, 1: p}, 0.0), (1, 0, {1: 1.0}, beyond)]
    return TabularMDP.from_pairs([*hall, (2, 0, {2: 1.0}, 0.25), (3, 0, {0: 0.5, 2: 0.5}, 0.0)], 4, initial=3)


@pytest.mark.parametrize(("p", "inside", "beyond"), [(1e-12, 0.0, 1.0), (1e-6, 0.5, 0.5 + 1e-7), (1e-15, 0.5, 0.75)])
def test_an_exit_is_taken_however_rare_it_is(p: float, inside: float, beyond: float) -> None:
    answer = solve(rare_exit(p, inside, beyond), multichain=True)
    assert answer.gain == pytest.approx(beyond / 2 + 0.125, abs=1e-15)
    assert answer.converged
    assert answer.policy[0] == 1


def test_gains_that_no_improvement_tells_apart_are_within_the_accuracy() -> None:
    answer = solve(rare_exit(1e-6, 0.5, 0.5 + 1e-15), multichain=True)
    truth = Fraction(0.5 + 1e-15) / 2 + Fraction(1, 8)
    assert abs(Fraction(answer.gain) - truth) <= Fraction(answer.accuracy)


def back_and_forth(p: float) -> TabularMDP:
    """Two states that lead to each other, left once in a long while for an end that pays 1, or 0: gain 1 / 4."""
    walk = [(0, 0, {1: 1.0 - p, 2: p}, 0.0), (1, 0, {0: 1.0 - 3 * p, 3: 3 * p}, 0.0)]
    return TabularMDP.from_pairs([*walk, (2, 0, {2: 1.0}, 1.0), (3, 0, {3: 1.0}, 0.0)], 4)


def test_more_moves_than_double_precision_can_count_are_told_as_uncertain() -> None:
    answer = solve(back_and_forth(2.0**-45), multichain=True)
    assert abs(answer.gain - 0.25) <= answer.accuracy
    assert not answer.converged
    with pytest.raises(IllConditioned, match="beyond double precision"):
        solve(back_and_forth(2.0**-60), multichain=True)


def test_a_gain_is_never_above_the_largest_reward() -> None:
    mdp = slippery_grid(10)
    assert solve(mdp).gain == 1.0
    assert simulate(mdp, "random", horizon=10, seed=0, gain=solve(mdp).gain).t[-1] == 10
    assert Policy(mdp, solve(mdp).policy).gain <= 1.0
    assert Policy(mdp, solve(mdp).policy).evaluate().gain.max() <= 1.0


def slippery_grid(n: int) -> TabularMDP:
    """n by n cells, the last of which pays 1 for ever; a step goes astray to either side with probability 0.1."""
    pairs = []
    for s in range(n * n - 1):
        y, x = divmod(s, n)
        for a, (dy, dx) in enumerate([(-1, 0), (1, 0), (0, -1), (0, 1)]):
            row: dict[int, float] = {}
            for (ey, ex), mass in (((dy, dx), 0.8), ((dx, dy), 0.1), ((-dx, -dy), 0.1)):
                inside = 0 <= y + ey < n and 0 <= x + ex < n
                target = (y + ey) * n + x + ex if inside else s
                row[target] = row.get(target, 0.0) + mass
            pairs.append((s, a, row, 0.0))
    return TabularMDP.from_pairs([*pairs, (n * n - 1, 0, {n * n - 1: 1.0}, 1.0)], n * n)


def test_the_error_of_a_sweep_is_bounded_for_wide_rows() -> None:
    rng = np.random.default_rng(3)
    n = 3000
    u, row = rng.normal(size=n) * 1e6, rng.dirichlet(np.ones(n))
    mdp = TabularMDP.from_pairs(
        [(0, 0, dict(enumerate(row.tolist())), 0.5)] + [(s, 0, {0: 1.0}, 0.0) for s in range(1, n)]
    )
    part, out = whole(mdp), np.empty(n)
    bellman(part.model, 1.0, u, out)
    masses = [Fraction(mass) for mass in mdp.rows.prob[:n].tolist()]
    exact = Fraction(1, 2) + sum(m * Fraction(x) for m, x in zip(masses, u.tolist(), strict=True)) / sum(masses)
    assert abs(Fraction(out[0]) - exact) <= Fraction(part.rounding) * Fraction(1 + float(np.abs(u).max()))
