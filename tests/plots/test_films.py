import os
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from equirl.lab.cli import app
from equirl.lab.plots import animate_learning, film_learning, write_film
from equirl.lab.plots.canvas import label_colours
from equirl.lab.plots.films import Moment, _kept_colours
from equirl.simulation.simulated_runs import simulate
from equirl.worlds.world_registry import make


@pytest.fixture(scope="module")
def rooms():
    return make("two-room")


@pytest.fixture(scope="module")
def film(rooms):
    return film_learning(rooms, "c-psrl", 800, seed=3, frames=6)


def test_a_film_ends_where_the_run_ends_and_its_run_is_that_of_simulate(rooms, film):
    times = [moment.t for moment in film.moments]
    assert times == sorted(set(times))
    assert times[-1] == 800
    assert np.array_equal(film.trace.regret, simulate(rooms, "c-psrl", 800, seed=3).regret)


def test_moments_hold_what_the_learner_had_seen_by_then(film):
    assert [int(moment.visits.sum()) for moment in film.moments] == [moment.t for moment in film.moments]


def moments(*rows):
    return [Moment(k, np.ones(len(row), int), np.array(row), None) for k, row in enumerate(rows)]


def test_a_class_keeps_its_colour_when_it_is_numbered_otherwise():
    assert [row.tolist() for row in _kept_colours(moments([0, 0, 0, 1, 1], [1, 0, 0, 2, 2]))] == [
        [0, 0, 0, 1, 1],
        [-1, 0, 0, 1, 1],
    ]


def test_the_larger_part_of_a_class_that_falls_apart_keeps_its_colour():
    before, after = _kept_colours(moments([0, 0, 0, 0, 0], [1, 1, 0, 0, 0]))
    assert before.tolist() == [0] * 5
    assert after.tolist() == [1, 1, 0, 0, 0]


def test_pairs_never_visited_have_no_colour():
    moment = Moment(3, np.array([1, 0, 2]), np.array([0, 0, 0]), None)
    assert _kept_colours([moment])[0].tolist() == [0, -2, 0]


def test_a_frame_shows_each_pair_in_the_colour_of_its_class(rooms, film):
    shown = [item for item in film.frame(-1).axes[0].collections if len(item.get_paths()) == rooms.n_pairs]
    assert len(shown) == 1
    colours, wanted = shown[0].get_facecolor(), label_colours(20)
    for k, number in enumerate(film.colours[-1].tolist()):
        if number >= 0:
            assert np.allclose(colours[k], wanted[number])


def test_a_learner_without_classes_has_no_panel_of_them(rooms):
    plain, clustered = (film_learning(rooms, name, 200, frames=2).frame(-1) for name in ("ucrl2-l", "c-psrl"))
    assert len(plain.axes) == len(clustered.axes) - 1


def test_a_gif_has_a_frame_for_each_moment_and_is_small(film, tmp_path):
    path = write_film(film, tmp_path / "new" / "film.gif", seconds=2.0)
    with Image.open(path) as image:
        assert image.n_frames == len(film.moments)  # equal frames at the end are one, held longer
    assert path.stat().st_size < 100_000


def test_the_same_film_gives_the_same_bytes(film, tmp_path):
    one, other = (write_film(film, tmp_path / f"{k}.gif") for k in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_worlds_without_a_map_are_filmed_in_lines(tmp_path):
    assert animate_learning(make("riverswim", n_states=6), "c-ucrl", tmp_path / "river.gif", 200, frames=2).exists()


def test_another_ending_is_refused_before_anything_is_played(rooms, tmp_path):
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        animate_learning(rooms, "c-psrl", tmp_path / "film.avi", horizon=10**12)


def test_mp4_without_ffmpeg_is_refused_with_what_works(rooms, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"ffmpeg, which is not installed; \.gif"):
        animate_learning(rooms, "c-psrl", tmp_path / "film.mp4", horizon=10**12)


def stand_in(folder, text):
    program = folder / "ffmpeg"
    program.write_text(f"#!{sys.executable}\nimport sys\n{text}\n")
    program.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="a script as a program")
def test_ffmpeg_is_given_the_pixels_of_all_frames(film, tmp_path, monkeypatch):
    stand_in(tmp_path, "open(sys.argv[-1], 'w').write(f'{sys.argv[8]} {len(sys.stdin.buffer.read())}')")
    monkeypatch.setenv("PATH", str(tmp_path))
    size, n_bytes = write_film(film, tmp_path / "film.mp4").read_text().split()
    width, height = map(int, size.split("x"))
    assert int(n_bytes) == 3 * width * height * (len(film.moments) + 7)
    assert width % 2 == height % 2 == 0


@pytest.mark.skipif(os.name != "posix", reason="a script as a program")
def test_what_ffmpeg_complains_of_is_said(film, tmp_path, monkeypatch):
    stand_in(tmp_path, "sys.exit('no such codec')")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="no such codec"):
        write_film(film, tmp_path / "film.mp4")


def test_the_command_writes_a_film(tmp_path):
    path = tmp_path / "film.gif"
    result = CliRunner().invoke(
        app, ["run", "two-room", "--runs", "1", "--horizon", "60", "--animate", str(path)], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert path.read_bytes().startswith(b"GIF8")
    assert f"film written to {path}" in result.output.replace("\n", "")
