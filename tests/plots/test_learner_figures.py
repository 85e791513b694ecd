"""Learners side by side in a figure."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import equirl as eq
from equirl.lab.plots.learner_figures import ALONE, Belief, draw_learners
from equirl.lab.plots.maps import looks_by_size
from equirl.words.formatting import number


def belief(mdp, **changes):
    truth = eq.equivalence_classes(mdp)
    first = np.array([k for k in range(mdp.n_pairs) if k == 0 or mdp.pairs.state[k] != mdp.pairs.state[k - 1]])
    usual = Belief("c-psrl", 40, np.arange(mdp.n_pairs), first, np.full(mdp.n_pairs, 0.5), "spread of its draws",
                   truth.label.copy(), truth.n_classes, truth)  # fmt: skip
    return usual._replace(**changes)


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.axison]


@pytest.mark.parametrize("world", ["four-room", "riverswim:n_states=12", "access-control"])
def test_each_learner_has_a_row_of_panels(world):
    mdp = eq.load_world(world)
    plain = belief(mdp, label="random", policy=np.zeros(0, np.int64), unsure=None, stands_for=None, n_classes=0)
    figure = draw_learners(mdp, [belief(mdp), plain], "a $title")
    classes = eq.equivalence_classes(mdp).n_classes
    most = np.bincount(mdp.pairs.state, np.arange(mdp.n_pairs)).max()
    assert titles(figure) == [
        f"visits, most {number(float(most), 2)}; policy", "spread of its draws, 0.5 to 0.5",
        f"believes in {classes} classes", f"{classes} true classes",
        f"visits, most {number(float(most), 2)}; at random", f"{classes} true classes",
    ]  # fmt: skip
    assert [row.get_suptitle() for row in figure.subfigs] == ["c-psrl, step 40", "random, step 40"]


def test_a_class_has_the_colour_of_the_true_one_it_stands_for():
    mdp = eq.make("two-room")
    stands_for = eq.equivalence_classes(mdp).label.copy()
    stands_for[3] = -1
    figure = draw_learners(mdp, [belief(mdp, stands_for=stands_for)])
    believed, true = ([c for c in axes.collections if isinstance(c, PolyCollection)][-1] for axes in figure.axes[-2:])
    colours = looks_by_size(eq.equivalence_classes(mdp))[0]
    expected = colours[eq.equivalence_classes(mdp).label]
    np.testing.assert_allclose(true.get_facecolor(), expected)
    expected[3] = ALONE
    np.testing.assert_allclose(believed.get_facecolor(), expected)


def test_names_with_dollars_are_shown_as_they_are():
    mdp = eq.make("two-room")
    figure = draw_learners(mdp, [belief(mdp, label="mine $5")], "costs $6")
    assert (figure.get_suptitle(), figure.subfigs[0].get_suptitle()) == (r"costs \$6", r"mine \$5, step 40")
