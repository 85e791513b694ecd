import sys

import numpy as np
import pytest

from equirl.model.mdp import TabularMDP
from equirl.plots import draw_classes, draw_policy, save_figure
from equirl.plots.arrows import action_signs, policy_steps, policy_text
from equirl.plots.canvas import label_colours
from equirl.structure.equivalence import equivalence_classes
from equirl.structure.partition import Partition
from equirl.worlds.world_registry import make

MAP = ("#####", "#S.G#", "#####")


@pytest.fixture(scope="module")
def corridor():
    return make("grid", map="\n".join(MAP))


def texts(figure, axes):
    return [text.get_text() for text in figure.axes[axes].texts]


def test_a_grid_has_a_panel_for_its_map_each_action_and_the_legend():
    mdp = make("two-room")
    figure = draw_classes(mdp, equivalence_classes(mdp))
    assert [axes.get_title() for axes in figure.axes] == ["map", "up", "down", "left", "right", ""]


def test_panels_show_walls_black_and_the_class_colour_of_each_state():
    mdp = make("two-room")
    part = equivalence_classes(mdp)
    figure = draw_classes(mdp, part)
    colours = np.empty((part.n_classes, 4))
    colours[np.argsort(-part.sizes, kind="stable")] = label_colours(part.n_classes)
    board = figure.axes[2].images[0].get_array()
    assert tuple(board[0, 0]) == (0, 0, 0, 1)
    for s, (i, j) in enumerate(mdp.picture.cell):
        assert np.allclose(board[i, j], colours[part.label[mdp.pairs.index(s, "down")]])


def test_cells_carry_the_number_of_their_class():
    mdp = make("two-room")
    part = equivalence_classes(mdp)
    pairs = [mdp.pairs.index(s, "up") for s in range(mdp.n_states)]
    assert texts(draw_classes(mdp, part), 1) == [str(c) for c in part.label[pairs]]


def test_the_legend_tells_sizes_profiles_start_and_goal():
    mdp = make("two-room", kernel="appendix")
    legend = draw_classes(mdp, equivalence_classes(mdp)).axes[-1].get_legend()
    lines = [text.get_text() for text in legend.get_texts()]
    assert lines[0] == "1: 34 pairs, profile 0.8 0.15 0.05"
    assert lines[4] == "5: 4 pairs, profile 1, reward 1"
    assert lines[-2:] == ["start", "goal"]


def test_walls_that_are_states_are_drawn_with_their_class_and_black_on_the_map():
    mdp = make("four-room", walls_are_states=True)
    figure = draw_classes(mdp, equivalence_classes(mdp))
    assert tuple(figure.axes[0].images[0].get_array()[0, 0]) == (0, 0, 0, 1)
    assert tuple(figure.axes[1].images[0].get_array()[0, 0]) != (0, 0, 0, 1)


def test_worlds_without_a_map_are_drawn_as_states_by_actions():
    mdp = make("riverswim", n_states=6)
    figure = draw_classes(mdp, equivalence_classes(mdp))
    assert figure.axes[0].images[0].get_array().shape == (2, 6, 4)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["right", "left"]


def test_many_states_are_wrapped_into_lines():
    mdp = make("riverswim", n_states=130)
    board = draw_classes(mdp, equivalence_classes(mdp)).axes[0].images[0].get_array()
    assert board.shape == (8, 50, 4)  # three lines of two actions, two gaps


def test_many_classes_are_counted_where_they_are_not_listed():
    mdp = make("random", n_states=10)
    legend = draw_classes(mdp, equivalence_classes(mdp)).axes[-1].get_legend()
    assert legend.get_texts()[-1].get_text() == "and 28 more classes"


def test_states_that_lack_an_action_are_left_blank():
    mdp = TabularMDP.from_pairs([(0, 0, {1: 1.0}, 0.0), (1, 0, {0: 1.0}, 0.0), (1, 5, {1: 1.0}, 0.0)], 2)
    board = draw_classes(mdp, Partition.from_labels([0, 0, 1])).axes[0].images[0].get_array()
    assert board.shape == (2, 2, 4)
    assert np.allclose(board[1, 0, :3], 1)


def test_a_partition_of_another_problem_is_refused(corridor):
    with pytest.raises(ValueError, match="partition is of 3 pairs, the MDP has 12"):
        draw_classes(corridor, Partition.singletons(3))


def test_a_policy_on_a_map_has_an_arrow_in_every_state_but_the_goal(corridor):
    figure = draw_policy(corridor, [3, 3, 3])
    arrows = figure.axes[0].collections[-1]
    assert np.array_equal(arrows.XY, [(1, 1), (2, 1)])
    assert (arrows.U > 0).all()
    assert texts(figure, 0) == ["G"]


def test_a_policy_without_named_directions_shows_action_numbers():
    mdp = make("random", n_states=4)
    assert texts(draw_policy(mdp, [0, 3, 1, 2]), 0) == ["0", "3", "1", "2"]


def test_a_policy_as_text_puts_arrows_on_the_map(corridor):
    assert policy_text(corridor, [3, 2, 0]) == "█████\n█→←G█\n█████"


def test_a_policy_as_text_follows_a_river_in_lines():
    mdp = make("riverswim", n_states=70)
    lines = policy_text(mdp, [0] * 69 + [1]).split("\n")
    assert lines == ["→" * 60, "→" * 9 + "←"]


def test_long_action_numbers_stay_aligned():
    laws = [(0, a, {0: 1.0}, 0.0) for a in range(12)] + [(1, 0, {0: 1.0}, 0.0)]
    assert policy_text(TabularMDP.from_pairs(laws, 2), [11, 0]) == "11  0"


def test_actions_are_read_by_name_whatever_their_case():
    mdp = TabularMDP.from_arrays([[[1.0]] * 3], [[0.0] * 3], action_names=["North", "stay", "buy"])
    assert [policy_steps(mdp, [a])[0] for a in range(3)] == [(-1, 0), (0, 0), None]
    assert [action_signs(mdp, [a])[0] for a in range(3)] == ["↑", "·", "2"]


@pytest.mark.parametrize(
    ("policy", "message"), [([0], r"shape \(1,\)"), ([0, 0, 9], "plays action 9 in state 2, which allows")]
)
def test_a_wrong_policy_is_named(corridor, policy, message):
    with pytest.raises(ValueError, match=message):
        draw_policy(corridor, policy)


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_the_ending_of_the_file_says_its_format(corridor, tmp_path, ending, start):
    figure = draw_policy(corridor, [3, 3, 3])
    path = save_figure(figure, tmp_path / f"policy.{ending}")
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_same_figure_gives_the_same_bytes(corridor, tmp_path, ending):
    one, other = (save_figure(draw_policy(corridor, [3, 3, 3]), tmp_path / f"{k}.{ending}") for k in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_another_ending_is_refused_with_the_ones_that_work(corridor, tmp_path):
    with pytest.raises(ValueError, match=r"\.png, \.pdf or \.svg"):
        save_figure(draw_policy(corridor, [3, 3, 3]), tmp_path / "policy.gif")


def test_drawing_leaves_no_figure_in_global_state(corridor):
    draw_policy(corridor, [3, 3, 3])
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_without_matplotlib_the_error_names_the_extra(corridor, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"equirl\[plot\]"):
        draw_policy(corridor, [3, 3, 3])
