"""Learners by name: what they are given for a known MDP, by its classes, tolerance and rewards."""

from __future__ import annotations

import numpy as np
import pytest

import equirl as eq
from equirl.learners import learner_registry
from equirl.learners.learner_registry import (
    Registry,
    check_tolerance,
    find_learner,
    given_by,
    given_by_user,
    make_settings,
    outside_modules,
    register_learner,
)
from equirl.learners.recipes import Recipe
from equirl.structure.equivalence import SeparationError

RIVER = eq.make("riverswim", n_states=5)
BOTH, LAWS = (eq.equivalence_classes(RIVER, rewards=rewards) for rewards in (True, False))
NOTHING = given_by_user(None, None, None, RIVER.pairs)


def given(name="c-ucrl-c", tolerance=1e-9, from_user=NOTHING, mdp=RIVER, **settings):
    return given_by(mdp, make_settings(name, **settings), from_user, tolerance)


def test_a_learner_is_given_what_its_parts_need_and_no_more():
    assert (given("ucrl2-l").classes, given("ucrl2-l").profiles, given("ucrl2-l").mean_rewards) == (None, None, None)
    pooled = given(rewards="per_class")
    assert (pooled.classes, pooled.transition_classes, pooled.profiles) == (BOTH, None, None)
    apart = given(rewards="per_pair")
    assert (apart.classes, apart.transition_classes) == (LAWS, LAWS)
    decides = given(rewards="auto")
    assert (decides.classes, decides.transition_classes) == (BOTH, LAWS)
    known = given(rewards="known")
    assert (known.classes, known.mean_rewards.tolist()) == (LAWS, RIVER.r_mean.tolist())
    assert known.mean_rewards.flags.writeable
    assert given("c-ucrl-c-sigma").profiles.succ.tolist() == eq.profiles(RIVER).succ.tolist()


def test_what_a_user_gives_takes_the_place_of_the_mdps_own_and_may_be_refuted():
    assert not NOTHING.refutable
    mine = given_by_user([0] * 10, None, None, RIVER.pairs)
    assert mine.refutable
    found = given(from_user=mine)
    assert (found.classes.n_classes, found.transition_classes) == (1, None)
    table = given_by_user(None, eq.profiles(RIVER), None, RIVER.pairs)
    assert table.refutable
    assert given("c-ucrl-c-sigma", from_user=table).profiles is table.profiles


def blurred(both=True):
    """Laws, or means alone, that a tolerance of 1e-9 does not separate and one of 1e-8 does."""
    step = 0.9e-9 * np.arange(13)
    laws = np.stack([0.6 + (step / 2 if both else 0 * step), 0.4 - (step / 2 if both else 0 * step)], axis=1)
    rows = np.zeros((13, 1, 13))
    rows[:, 0, :2] = laws
    return eq.TabularMDP.from_arrays(rows, (0.3 + step)[:, None])


def test_a_tolerance_that_separates_is_looked_for_where_that_is_asked_and_said():
    for rewards in ("per_class", "per_pair", "auto"):
        found = given(mdp=blurred(), tolerance="auto", rewards=rewards)
        assert found.classes.n_classes == 1
        if rewards != "per_pair":
            assert found.tolerance == pytest.approx(1e-8)
        if rewards != "per_class":
            assert found.transition_tolerance == pytest.approx(1e-8)
        with pytest.raises(SeparationError):
            given(mdp=blurred(), tolerance=1e-9, rewards=rewards)
    means_alone = given(mdp=blurred(both=False), tolerance="auto", rewards="per_pair")
    assert means_alone.transition_tolerance == pytest.approx(1e-9)
    assert given("ucrl2-l", tolerance="auto").tolerance == 1e-9
    assert given("ucrl2-l", tolerance=0.5).tolerance == 0.5


def test_where_laws_alone_are_not_separate_a_learner_that_decides_goes_without_them(monkeypatch):
    real = learner_registry.equivalence_classes

    def not_separate(mdp, rewards=True, tolerance=1e-9):
        if not rewards:
            raise SeparationError("not here")
        return real(mdp, rewards, tolerance)

    monkeypatch.setattr(learner_registry, "equivalence_classes", not_separate)
    found = given(rewards="auto")
    assert (found.classes, found.transition_classes) == (BOTH, None)
    with pytest.raises(SeparationError, match="not here"):
        given(rewards="per_pair")


def test_a_tolerance_is_for_learners_that_are_given_classes():
    told, untold = make_settings("c-ucrl-c"), make_settings("ucrl2-l")
    assert [check_tolerance("x", told, within) for within in (0.0, 0.01, 2, "auto")] == [0.0, 0.01, 2, "auto"]
    assert check_tolerance("x", untold, 1e-9) == check_tolerance("x", None, 1e-9) == 1e-9
    for settings in (untold, None):
        for within in (0.01, "auto"):
            with pytest.raises(ValueError, match="'x' with these settings makes no use of tolerance; leave it out"):
                check_tolerance("x", settings, within)
    for wrong in (2.1, -0.1, "wide"):
        with pytest.raises(ValueError, match="tolerance"):
            check_tolerance("x", told, wrong)


def test_known_means_and_scales_are_those_of_the_range_given():
    agent = eq.make_agent("ucrl2-l", 2, 1, rewards="known", mean_rewards=[-1.0, 2.0], reward_range=(-1.0, 3.0))
    assert (agent.given.mean_rewards.tolist(), agent.reward_map) == ([0.0, 0.75], (4.0, -1.0))
    assert eq.make_agent("ucrl2-l", 2, 1).given.mean_rewards is None
    assert eq.agent_for(RIVER, "ucrl2-l").reward_map == (1.0, 0.0)


def test_a_learner_that_knows_the_mdp_is_made_for_one():
    with pytest.raises(
        ValueError, match=r"'optimal' needs the true MDP: use simulate\(mdp, 'optimal', ...\) or agent_for"
    ):
        eq.make_agent("optimal", 5, 2)
    assert eq.agent_for(RIVER, "optimal").name == "optimal"


def test_learners_are_found_by_name_and_others_named_with_the_nearest():
    with pytest.raises(ValueError, match=r"unknown learner 'c-psrll'; did you mean 'c-psrl"):
        find_learner("c-psrll")
    for wrong in (3, None, ["psrl"]):
        with pytest.raises(ValueError, match="unknown learner"):
            find_learner(wrong)
    assert make_settings("random") is None
    assert outside_modules("psrl") == ()


def test_modules_named_for_it_are_imported_when_learners_are_first_looked_at(monkeypatch):
    imported = []
    monkeypatch.setenv("EQUIRL_LEARNERS", "one, two,,three")
    monkeypatch.setattr(learner_registry.importlib, "import_module", imported.append)
    for look in (lambda found: found["a"], len, list, lambda found: "a" in found):
        imported.clear()
        registry = Registry({"a": 1})
        assert imported == []
        look(registry)
        look(registry)
        assert imported == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("name", "recipe", "error", "message"),
    [
        ("", Recipe("x", len), TypeError, "a learner's name must be a string, not ''"),
        (3, Recipe("x", len), TypeError, "a learner's name must be a string, not 3"),
        ("mine", len, TypeError, "recipe must be a Recipe, not"),
        ("psrl", Recipe("x", len), ValueError, "there is a learner 'psrl' in the package already"),
    ],
)
def test_a_learner_that_cannot_be_registered_is_named(name, recipe, error, message):
    with pytest.raises(error, match=message):
        register_learner(name, recipe)
