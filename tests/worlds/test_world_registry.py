import pytest

from equirl.model.mdp import TabularMDP
from equirl.worlds.world_registry import WORLDS, load_world, make, parse_world, world_text
from worlds_kit import is_communicating

# Every world


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_is_made_from_its_defaults_alone(name):
    mdp = make(name)
    assert isinstance(mdp, TabularMDP)
    assert mdp.name == name
    assert make(name) == mdp


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_has_a_title_and_a_description_of_one_line(name):
    world = WORLDS[name]
    assert world.title.isalnum()
    assert 0 < len(world.description) < 80
    assert "\n" not in world.description


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_pays_by_the_chosen_reward_law(name):
    mdp = make(name, reward_law="beta", concentration=9.0)
    assert (mdp.reward_law, mdp.concentration) == ("beta", 9.0)


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_is_communicating_where_it_can_be_reached(name):
    assert is_communicating(make(name).restrict_to_reachable())


@pytest.mark.parametrize("name", ["random-walls", "random", "planted"])
def test_random_worlds_follow_their_seed(name):
    assert make(name, seed=1) == make(name, seed=1)
    assert make(name, seed=1) != make(name, seed=2)


def test_shuffle_renumbers_the_world_at_random():
    assert make("riverswim", shuffle=5) == make("riverswim").shuffled(5)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("riverswin", {}, "unknown world 'riverswin'; did you mean 'riverswim'"),
        ("riverswim:n_states=6", {}, "is a world's text or a file: load_world reads it"),
        ("model.npz", {}, "is a world's text or a file: load_world reads it"),
        ("riverswim", {"nstates": 5}, "unknown parameter of riverswim 'nstates'; did you mean 'n_states'"),
        ("riverswim", {"preset": "figure"}, "did you mean 'figures'"),
        ("four-room", {"preset": "figures"}, "unknown parameter of four-room 'preset'"),
        ("riverswim", {"reward_law": "normal"}, "unknown reward_law 'normal'"),
        ("riverswim", {"concentration": "4"}, "concentration must be a number, not '4'"),
        ("riverswim", {"n_states": 1}, "n_states must be at least 2, not 1"),
        ("riverswim", {"n_states": 6.0}, "n_states must be an integer, not 6.0"),
        ("riverswim", {"n_states": True}, "n_states must be an integer, not True"),
        ("riverswim", {"forward": 1.2}, "forward must be between 0 and 1, not 1.2"),
        ("riverswim", {"forward": "fast"}, "forward must be a number, not 'fast'"),
        ("riverswim", {"forward": 0.7, "back": 0.6}, r"forward \+ back is 1.3, more than 1"),
        ("riverswim", {"small_reward": -1}, "small_reward must be between 0 and 1, not -1"),
        ("riverswim", {"shuffle": -1}, "shuffle must be at least 0, not -1"),
        ("two-kinds-river", {"arrangement": "half"}, "unknown arrangement 'half'; did you mean 'halves'"),
        ("four-room", {"height": 4}, "height must be at least 5, not 4"),
        ("four-room", {"kernel": "mian"}, "unknown kernel 'mian'; did you mean 'main'"),
        ("four-room", {"kernel": (0.7, 0.3)}, "has 2 numbers; it needs forward, side and stay"),
        ("four-room", {"kernel": (0.7, 0.2, 0.1)}, r"forward \+ 2 side \+ stay is 1.2, not 1"),
        ("four-room", {"walls_are_states": 1}, "walls_are_states must be True or False, not 1"),
        ("random-walls", {"density": 1.0}, "density 1.0 leaves no two neighbouring floor cells in 16x16"),
        ("grid", {"map": "S.x"}, "cell 0,2 of the map is 'x'"),
        ("grid", {"map": "S./G"}, "row 1 of the map has 1 cells, row 0 has 2"),
        ("grid", {"map": "..G"}, "the map has no start: mark a cell with S"),
        ("grid", {"map": "S.."}, "the map has no goal: mark a cell with G"),
        ("random", {"n_states": 3, "branching": 4}, "branching must be at most 3, not 4"),
        ("random", {"sparsity": 1.5}, "sparsity must be between 0 and 1, not 1.5"),
        ("random", {"seed": "x"}, "seed must be an integer, not 'x'"),
        ("planted", {"n_classes": 81}, "n_classes must be at most 80, not 81"),
        ("planted", {"support": 21}, "support must be at most 20, not 21"),
        ("planted", {"separation": 0}, "separation must be positive"),
        ("planted", {"separation": 1.6, "n_classes": 2}, "found no 2 profiles on 4 successors that are 1.6 apart"),
        ("planted", {"support": 1}, "lower separation or n_classes, or raise support"),
        ("planted", {"rewards": "classes"}, "did you mean 'class'"),
    ],
)
def test_a_wrong_name_or_value_is_named(name, params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(name, **params)


# Worlds as text


def test_a_world_is_named_by_the_parameters_that_differ_from_the_defaults():
    assert make("four-room", width=17, height=17, kernel="main").name == "four-room:height=17,width=17"


@pytest.mark.parametrize(
    "text",
    [
        "riverswim:preset=drawing,n_states=9,forward=0.3",
        "four-room:kernel=0.6/0.1/0.2,walls_are_states=True",
        "grid:map=#####/#S.G#/#####",
        "random:n_states=7,sparsity=0.25,seed=3,reward_law=bernoulli",
        "planted:n_classes=3,separation=0.1,shuffle=2",
    ],
)
def test_the_name_of_a_world_makes_it_again(text):
    mdp = load_world(text)
    assert mdp.name == text
    assert load_world(mdp.name) == mdp


def test_values_in_text_are_read_as_what_they_look_like():
    _, params = parse_world(" riverswim: n_states=6, forward=3e-1, shuffle=none, preset=drawing,")
    assert params == {"n_states": 6, "forward": 0.3, "shuffle": None, "preset": "drawing"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("riverswin:n_states=5", "did you mean 'riverswim'"),
        ("riverswim:n_state=5", "did you mean 'n_states'"),
        ("riverswim:n_states", "'n_states' in .* is not parameter=value"),
        ("riverswim:n_states=", "is not parameter=value"),
        ("riverswim:n_states=5,n_states=6", "n_states is given twice"),
    ],
)
def test_wrong_text_is_named(text, message):
    with pytest.raises((ValueError, TypeError), match=message):
        parse_world(text)


def test_a_map_given_as_rows_is_named_in_one_line():
    assert world_text("grid", {"map": ["S.", ".G"]}) == "grid:map=S./.G"


def test_worlds_load_from_saved_files_and_from_maps(tmp_path):
    mdp = make("two-room")
    mdp.save(tmp_path / "rooms.npz")
    (tmp_path / "maze.txt").write_text("#####\n#S.G#\n#####\n")
    assert load_world(str(tmp_path / "rooms.npz")) == mdp
    assert load_world(str(tmp_path / "maze.txt")) == make("grid", map="#####/#S.G#/#####")


def test_keywords_replace_the_parameters_in_the_text():
    assert load_world("riverswim:n_states=6,forward=0.3", n_states=9).name == "riverswim:n_states=9,forward=0.3"


def test_a_saved_file_takes_no_parameters(tmp_path):
    make("riverswim").save(tmp_path / "river.npz")
    with pytest.raises(TypeError, match=r"takes no parameters \(n_states\)"):
        load_world(str(tmp_path / "river.npz"), n_states=3)


# Size


@pytest.mark.parametrize(
    ("text", "n_pairs"),
    [("four-room:height=100,width=100", 37652), ("random:n_states=10000,n_actions=4,branching=5", 40000)],
)
def test_worlds_of_ten_thousand_states_are_made(text, n_pairs):
    assert load_world(text).n_pairs == n_pairs
