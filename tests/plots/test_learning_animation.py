"""A learner at work as a moving picture."""

from __future__ import annotations

import pytest

import equirl as eq
from equirl.plots.learning_animation import animate_learning


@pytest.mark.parametrize("world", ["four-room", "riverswim:n_states=6"])
def test_a_moving_picture_has_its_frames(world, tmp_path):
    from PIL import Image

    path = animate_learning(eq.load_world(world), "c-ucrl", 800, tmp_path / "run.gif", frames=4, seconds=2.0)
    with Image.open(path) as picture:
        assert picture.format == "GIF"
        assert picture.n_frames == 4
        assert picture.info["duration"] == 500


def test_a_learner_without_classes_is_named(tmp_path):
    with pytest.raises(ValueError, match="'imed-rl' forms no classes"):
        animate_learning(eq.make("riverswim", n_states=6), "imed-rl", 100, tmp_path / "run.gif", frames=2)
    assert not (tmp_path / "run.gif").exists()
