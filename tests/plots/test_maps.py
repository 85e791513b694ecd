import sys

import numpy as np
import pytest

from equirl.lab.plots import draw_classes, draw_policy, save_figure
from equirl.lab.plots.canvas import COLOURS, label_colours, label_hatches
from equirl.lab.plots.sheets import action_signs, policy_steps, policy_text
from equirl.model.mdp import TabularMDP
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


def test_what_a_learned_class_does_not_share_is_not_shown_as_its_own():
    mdp = make("riverswim", n_states=6)
    legend = draw_classes(mdp, Partition.from_labels([0] * 12)).axes[-1].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0: 12 pairs, 4 different profiles, reward 0 to 1"]


def oklab(colours):
    """Björn Ottosson's space, in which distances are about as large as they look."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    cones = linear @ np.array([[0.4122, 0.2119, 0.0883], [0.5363, 0.6807, 0.2817], [0.0514, 0.1074, 0.6300]])
    return np.cbrt(cones) @ np.array([[0.2105, 1.978, 0.0259], [0.7936, -2.4286, 0.7828], [-0.0041, 0.4506, -0.8087]])


def test_colours_of_many_classes_differ_to_the_eye():
    seen = oklab(np.array(label_colours(len(COLOURS)))[:, :3])
    apart = np.linalg.norm(seen[:, None] - seen, axis=2) + 9 * np.eye(len(seen))
    assert len(COLOURS) == 20
    assert apart.min() > 0.1  # Okabe and Ito's closest two are at 0.15


def test_a_hundred_classes_look_different_each():
    looks = list(zip(label_colours(100), label_hatches(100), strict=True))
    assert len(set(looks)) == 100


def test_hatched_classes_are_hatched_in_the_picture_and_in_the_legend():
    mdp = make("random", n_states=6)
    part = equivalence_classes(mdp)
    figure = draw_classes(mdp, part)
    hatched = [item for item in figure.axes[0].collections if item.get_hatch()]
    assert [len(item.get_paths()) for item in hatched] == [4]  # of 24 classes, four are on the second round


def test_labels_at_the_left_are_inside_the_picture():
    mdp = make("car-rental", max_cars=6)
    figure = draw_classes(mdp, equivalence_classes(mdp))
    figure.draw_without_rendering()
    assert figure.axes[0].get_tightbbox().x0 >= 0


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


MACHINE = [
    ("good", "keep running", {"good": 0.9, "worn": 0.1}, 1.0),
    ("worn", "keep running", {"worn": 0.9, "broken": 0.1}, 0.6),
    ("worn", "repair", {"good": 1.0}, 0.0),
    ("broken", "repair", {"good": 1.0}, 0.0),
]


@pytest.fixture(scope="module")
def machine():
    names = {"state_names": ["good", "worn", "broken"], "action_names": ["keep running", "repair"]}
    return TabularMDP.from_pairs(MACHINE, 3, **names)


def test_a_policy_of_named_actions_has_a_legend_with_the_names_and_a_colour_for_each(machine):
    figure = draw_policy(machine, [0, 1, 1])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["0: keep running", "1: repair"]
    board = figure.axes[0].images[0].get_array()
    assert np.allclose(board[0, 1], board[0, 2])
    assert not np.allclose(board[0, 0], board[0, 1])
    patches = figure.legends[0].get_patches()
    assert np.allclose(patches[1].get_facecolor(), board[0, 1])


def test_short_names_of_actions_stand_in_the_cells_themselves():
    mdp = make("car-rental", max_cars=2, max_move=1)
    figure = draw_policy(mdp, [1] * 8 + [2])
    assert texts(figure, 0) == ["0"] * 8 + ["+1"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["0", "+1"]


def test_directions_need_no_legend(corridor):
    assert draw_policy(corridor, [3, 3, 3]).legends == []


@pytest.mark.parametrize(
    "draw", [lambda m: draw_classes(m, Partition.singletons(4)), lambda m: draw_policy(m, [0, 1, 1])]
)
def test_states_in_a_line_are_called_by_their_names(machine, draw):
    assert [label.get_text() for label in draw(machine).axes[0].get_xticklabels()] == ["good", "worn", "broken"]


def test_states_in_several_lines_are_called_by_their_names_at_the_left():
    mdp = make("car-rental", max_cars=8, max_move=1)
    label = draw_policy(mdp, [1] * 81).axes[0].get_yticklabels()[0]
    assert label.get_text().startswith("0,0 to ")


def test_states_on_a_map_are_called_by_their_names_on_the_map_alone():
    figure = draw_classes(make("two-room"), Partition.singletons(84))
    assert "1,2" in texts(figure, 0)
    assert "1,2" not in texts(figure, 1)


def test_names_with_dollars_are_no_formulas():
    mdp = TabularMDP.from_arrays(
        [[[1.0], [1.0]]], [[0.0, 1.0]], state_names=["$x$"], action_names=["$\\frac{1}{$", "ok"]
    )
    figure = draw_policy(mdp, [0])
    figure.draw_without_rendering()  # which reads formulas
    assert r"\$x\$" in [label.get_text() for label in figure.axes[0].get_xticklabels()]


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
    ("policy", "message"), [([0], r"shape \(1,\)"), ([0, 0, 9], "plays action 9 in state '1,3', which allows")]
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


def test_a_figure_is_saved_into_a_folder_that_does_not_exist_yet(corridor, tmp_path):
    assert save_figure(draw_policy(corridor, [3, 3, 3]), tmp_path / "new" / "folder" / "policy.png").exists()


def test_a_notebook_shows_a_figure_without_any_setting_up(corridor):
    assert draw_policy(corridor, [3, 3, 3])._repr_png_().startswith(b"\x89PNG")


def test_drawing_leaves_no_figure_in_global_state(corridor):
    draw_policy(corridor, [3, 3, 3])
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_without_matplotlib_the_error_names_the_extra(corridor, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"equirl\[plot\]"):
        draw_policy(corridor, [3, 3, 3])
