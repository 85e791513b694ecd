"""Recipes and settings: their parts by kind, their names, and the mistakes that are named."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from equirl.learners import make_settings
from equirl.learners.catalogue import ROWS
from equirl.learners.parts import Indices, Models, Structure
from equirl.learners.recipes import Recipe, Settings, needs_of_parts


@dataclass(frozen=True)
class Plain:
    size: int = 3
    rate: float = 0.5


@dataclass(frozen=True)
class Other:
    size: int = 4


def test_a_part_is_found_by_its_kind_and_one_that_is_missing_is_named():
    settings = make_settings("c-ucrl")
    assert isinstance(settings.part(Structure), Structure)
    assert settings.part(Models).delta == settings.delta == 0.05
    with pytest.raises(TypeError, match="a learner of this family needs a part that is a Indices; it has"):
        settings.part(Indices)


def test_settings_are_equal_where_their_parts_are_and_a_wrong_name_is_met_with_the_nearest():
    one, two = (Recipe("some", len, (Plain(),)).settings("some", {"size": size}) for size in (3, 5))
    assert one == Settings((Plain(),))
    assert hash(one) == hash(Settings((Plain(),)))
    assert one != two
    assert one != "settings"
    assert (two.size, two.rate, two.as_dict()) == (5, 0.5, {"size": 5, "rate": 0.5})
    with pytest.raises(AttributeError, match="unknown setting 'siez'; did you mean 'size'"):
        _ = one.siez
    assert repr(two) == "Settings(size=5, rate=0.5)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("some", len, (Plain,)), "parts must be dataclasses, not"),
        (("some", len, ("x",)), "parts must be dataclasses, not 'x'"),
        (("some", 3), "build must be a function that makes a learner, not 3"),
        ((3, len), "description must be a str, not 3"),
        (("some", len, (), 1), "knows_mdp"),
        (("some", len, (Plain(), Other())), "size"),
    ],
)
def test_a_recipe_that_makes_no_learner_is_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Recipe(*arguments)


def test_settings_that_a_learner_does_not_have_are_named():
    with pytest.raises(TypeError, match="learner 'none' has no settings; 'size' was given"):
        Recipe("nothing to set", len).settings("none", {"size": 3})
    with pytest.raises(TypeError, match="for 'some': unknown setting 'siez'; did you mean 'size'"):
        Recipe("some", len, (Plain(),)).settings("some", {"siez": 3})


def test_foreign_numbers_become_pythons_own():
    found = Recipe("some", len, (Plain(),)).settings("some", {"size": np.int8(7), "rate": Fraction(1, 4)})
    assert (type(found.size), type(found.rate), found.rate) == (int, float, 0.25)
    kept = Recipe("some", len, (Plain(),)).settings("some", {"size": True})
    assert kept.size is True


def test_rewards_are_pooled_where_there_is_no_choice_or_it_says_so():
    assert Settings((Plain(),)).pools_rewards
    assert make_settings("c-ucrl", rewards="per_class").pools_rewards
    assert not make_settings("c-ucrl", rewards="per_pair").pools_rewards
    assert needs_of_parts(Settings((Plain(),))) == set()
    assert needs_of_parts(make_settings("c-ucrl-c-sigma", rewards="known")) == {
        "classes",
        "profiles",
        "mean_rewards",
    }


def nonsense(value):
    """What no setting of this kind can be."""
    if isinstance(value, bool):
        return ["yes", 2, 0.5]
    if isinstance(value, int):
        return ["many", 0.5, -(10**9)]
    return ["much", float("nan")] if isinstance(value, float) else [-7, "nonsense"]


@pytest.mark.parametrize("name", [name for name in ROWS if make_settings(name)])
def test_every_setting_is_checked_where_it_is_made_and_named_where_it_is_wrong(name):
    for setting, usual in make_settings(name).as_dict().items():
        for value in nonsense(usual) if usual is not None else []:
            with pytest.raises((TypeError, ValueError), match=setting):
                make_settings(name, **{setting: value})
