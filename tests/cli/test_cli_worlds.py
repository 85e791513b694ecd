import json
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from equirl.lab.cli import Commands, app
from equirl.solving import solve
from equirl.worlds.world_registry import WORLDS, make
from oracles_solving import dense_laws


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, list(words))


def test_worlds_lists_every_world(run):
    result = run("worlds")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in WORLDS)


def test_worlds_tells_parameters_and_defaults_as_json(run):
    held = json.loads(run("worlds", "--json").stdout)
    assert held["four-room"]["params"]["height"] == 7


def test_classes_reports_states_pairs_classes_and_sizes(run):
    words = run("classes", "two-room:kernel=appendix").stdout.split()
    assert words[words.index("pairs") + 1] == "84"
    assert words[words.index("classes") + 1] == "6"
    assert "0.15" in words


@pytest.mark.parametrize("room", [80, 40])
@pytest.mark.parametrize("world", ["four-room", "access-control", "machines", "lost-sales", "zoo/rides"])
def test_classes_breaks_no_word_and_cuts_nothing(world, room):
    wide, narrow = (CliRunner().invoke(app, ["classes", world], env={"COLUMNS": str(n)}).stdout for n in (300, room))
    words = set(wide.replace("─", " ").split())
    assert set(narrow.replace("─", " ").split()) == words
    assert room == 40 or max(map(len, narrow.splitlines())) <= room


def test_a_class_more_than_are_listed_is_one_class(run):
    assert "... and 1 more class, none larger" in run("classes", "lost-sales").stdout


def test_classes_gives_the_same_as_json(run):
    held = json.loads(run("classes", "two-room:kernel=appendix", "--json").stdout)
    assert (held["n_states"], held["n_pairs"], held["n_classes"]) == (21, 84, 6)
    assert sorted(held["sizes"]) == [2, 4, 12, 14, 18, 34]
    assert held["separation"] == pytest.approx(0.1)
    assert held["mean_gap"] is None


def test_classes_shows_rewards_in_the_units_of_the_world(run):
    shown = run("classes", "taxicab").stdout
    assert "2.75" in shown
    held = json.loads(run("classes", "taxicab", "--json").stdout)
    assert held["mean_gap"] == pytest.approx(1.0)  # A and C, cruising: 8 and 7
    assert 0 < held["unit_mean_gap"] < 1


def test_laws_alone_make_fewer_classes(run):
    held = json.loads(run("classes", "riverswim", "--laws-only", "--json").stdout)
    assert held["n_classes"] == 4


def test_rewards_that_a_class_does_not_share_are_a_range(run):
    lines = run("classes", "riverswim:n_states=6", "--laws-only").stdout.splitlines()
    assert "0 to 0.005" in next(line for line in lines if "a='left'" in line)


def test_a_random_world_lists_its_first_classes_only(run):
    assert "and 60 more classes" in run("classes", "random").stdout


def test_a_saved_mdp_is_a_world(run, tmp_path):
    path = tmp_path / "river.npz"
    make("riverswim", n_states=6).save(path)
    assert json.loads(run("classes", str(path), "--json").stdout)["n_states"] == 6


@pytest.mark.parametrize(("command", "ending"), [("classes", "png"), ("solve", "svg")])
def test_pictures_are_written_where_asked(run, tmp_path, command, ending):
    path = tmp_path / "a" / "new" / "folder" / f"picture.{ending}"
    result = run(command, "two-room", "--plot", str(path))
    assert result.exit_code == 0
    assert path.stat().st_size > 1000
    assert "picture" in result.stderr


def test_solve_reports_gain_span_diameter_and_kind(run):
    held = json.loads(run("solve", "riverswim:n_states=25", "--json").stdout)
    assert held["gain"] == pytest.approx(0.875, abs=1e-6)
    assert held["kind"] == "communicating"
    assert held["policy"] == [0] * 25
    assert held["diameter"] > 25
    assert held["span"] > 1


def test_solve_draws_the_policy_as_arrows_on_the_grid(run):
    lines = run("solve", "two-room").stdout.splitlines()
    assert lines[-7:][0] == "███████"
    assert "G" in lines[-2]
    assert "↓" in lines[-4]


def test_the_diameter_is_left_out_when_not_wanted(run):
    assert "ask with --diameter" in run("solve", "two-room", "--no-diameter").stdout


def test_solve_with_a_discount_tells_values_in_the_units_of_the_rewards(run):
    held = json.loads(run("solve", "car-rental:max_cars=3", "--discount", "0.9", "--json").stdout)
    mdp = make("car-rental", max_cars=3)
    scale, shift = mdp.reward_map
    pair = [mdp.pairs.index(s, a) for s, a in enumerate(held["policy"])]
    value = np.linalg.solve(np.eye(16) - 0.9 * dense_laws(mdp)[pair], scale * mdp.r_mean[pair] + shift)
    assert held["value"] == pytest.approx(value.tolist(), abs=1e-6)
    assert held["value_from_start"] == pytest.approx(mdp.initial @ value)
    assert 0 < held["accuracy"] <= scale * 1e-8
    assert held["converged"]


def test_solve_with_a_discount_prints_values_their_accuracy_and_the_policy(run):
    text = run("solve", "car-rental:max_cars=3", "--discount", "0.9").stdout
    assert "353.7007163  (within" in text
    assert "334.1316038 to 387.095172" in text
    assert "3,0: +1" in text
    assert "more states" not in text


def test_only_the_first_values_of_many_are_printed(run):
    assert "... and 5 more states" in run("solve", "riverswim:n_states=25", "--discount", "0.95").stdout


def test_solve_draws_the_policy_with_a_discount(run, tmp_path):
    path = tmp_path / "policy.svg"
    assert run("solve", "two-room", "--discount", "0.9", "--plot", str(path)).exit_code == 0
    assert path.stat().st_size > 1000


def test_solve_with_a_goal_tells_the_way_there(run):
    held = json.loads(run("solve", "riverswim:n_states=3", "--goal", "2", "--objective", "steps", "--json").stdout)
    best = solve(make("riverswim", n_states=3), goal=2, objective="steps")
    assert held["value"] == best.value.tolist()
    assert (held["value_from_start"], held["accuracy"]) == (best.value_from_start, best.accuracy)
    assert (held["goal"], held["objective"], held["maximise"], held["converged"]) == (["2"], "steps", False, True)
    assert held["table"][0]["steps"] == best.value[0]
    text = run("solve", "riverswim:n_states=3", "--goal", "2", "--objective", "steps").stdout
    assert f"least steps until then  {best.value_from_start:.10g}" in text
    assert "Policy:" in text
    text = run("solve", "riverswim:n_states=3", "--goal", "0", "--goal", "2", "--minimise").stdout
    assert "least probability of reaching it  1 " in text
    text = run("solve", "toymaker", "--goal", "success", "--objective", "cost", "--maximise").stdout
    assert "largest cost until then" in text


def test_a_goal_that_is_no_state_gets_the_nearest_and_what_does_not_go_with_it_is_refused(run):
    world = ("solve", "toymaker", "--goal", "success")
    for words, said in (
        (("solve", "toymaker", "--goal", "sucess"), "success"),
        ((*world, "--discount", "0.9"), "leave one out"),
        ((*world, "--diameter"), "leave it out"),
        (("solve", "toymaker", "--minimise"), "give --goal too"),
        (("solve", "toymaker", "--objective", "cost"), "give --goal too"),
        ((*world, "--objective", "time"), "reach"),
    ):
        result = run(*words)
        assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


def test_solve_offers_the_discount_that_a_problem_came_with(run):
    assert "0.9, used with --discount 0.9" in run("solve", "car-rental:max_cars=2").stdout
    assert "--discount" not in run("solve", "riverswim").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["classes", "rivrswim"], "did you mean 'riverswim'?"),
        (["solve", "four-room:hight=9"], "did you mean 'height'?"),
        (["classes", "missing.npz"], "missing.npz: No such file"),
        (["classes", "riverswim", "--tolerance", "-1"], "tolerance must be between 0 and 2"),
        (["solve", "riverswim", "--plot", "policy.gif"], ".png, .pdf or .svg"),
        (["solve", "riverswim", "--discount", "1"], "discount must be at least 0 and less than 1"),
        (["solve", "riverswim", "--discount", "0.9", "--diameter"], "--diameter is for average reward"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_2(run, words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("equirl: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_debug_shows_the_error_itself(run):
    result = run("--debug", "classes", "rivrswim")
    assert isinstance(result.exception, ValueError)


def end_with(error):
    """The result of a command that raises."""
    app = typer.Typer(cls=Commands)

    @app.callback()
    def options() -> None:
        pass

    @app.command()
    def fail() -> None:
        raise error

    return CliRunner().invoke(app, ["fail"])


def test_an_interruption_is_one_line_too():
    result = end_with(KeyboardInterrupt)
    assert (result.exit_code, result.stderr) == (130, "equirl: interrupted\n")


def test_an_unexpected_error_is_not_hidden():
    assert isinstance(end_with(ZeroDivisionError).exception, ZeroDivisionError)


def test_the_version_is_told(run):
    assert run("--version").stdout.startswith("equirl ")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom equirl.lab.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([name for name in ('numba', 'scipy', 'matplotlib', 'pydantic') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_diameter_beyond_double_precision_does_not_hide_the_rest():
    world = "riverswim:n_states=40,forward=0.02,back=0.9,first_forward=0.02"
    result = CliRunner().invoke(app, ["solve", world])
    assert result.exit_code == 0, result.output
    assert "gain" in result.output
    assert "not computed" in result.output


def test_the_package_itself_is_the_command():
    told = subprocess.run([sys.executable, "-m", "equirl", "--help"], capture_output=True, text=True, check=True)
    assert "Usage: equirl" in told.stdout
