"""Minari's data sets as logs: one made here, in a folder of its own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from gymnasium import spaces

import equirl as eq

CELLS = [[0, 1, 1, 2], [0, 0, 1, 2]]  # three cells, of which the last ends an episode
ACTIONS = [[1, 0, 1], [0, 1, 1]]


@pytest.fixture(params=[False, True], ids=["numbers", "places"])
def dataset(request, tmp_path, monkeypatch):
    """Whether observations are places in a box, and the set."""
    minari = pytest.importorskip("minari")
    pytest.importorskip("pyarrow")
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    space = spaces.Box(0.0, 3.0, (1,), np.float64) if request.param else spaces.Discrete(3)
    buffers = [
        EpisodeBuffer(
            id=k, seed=0, options=None, infos={}, actions=np.array(actions), rewards=[float(a) for a in actions],
            observations=np.array([[c + 0.25] for c in cells]) if request.param else np.array(cells),
            terminations=[False, False, True], truncations=[False] * 3,
        )
        for k, (cells, actions) in enumerate(zip(CELLS, ACTIONS, strict=True))
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Minari would like to know of the set
        data = minari.create_dataset_from_buffers(
            "equirl/walk-v0", buffers, observation_space=space, action_space=spaces.Discrete(2), data_format="arrow"
        )
    return request.param, data


def test_a_data_set_is_counted_as_its_steps_written_as_rows(dataset):
    continuous, data = dataset
    encoder = eq.Encoder(data.observation_space, bins=3) if continuous else None
    log = eq.from_log(data, encoder=encoder)
    rows = [(0, 1, 1, 1), (1, 0, 0, 1), (1, 1, 1, 2, True), (0, 0, 0, 0), (0, 1, 1, 1), (1, 1, 1, 2, True)]
    name = (lambda k: (k,)) if continuous else (lambda k: k)
    other = eq.from_log([(name(s), a, float(r), name(x), bool(end)) for s, a, r, x, *end in rows])
    assert log.pairs.state_names == other.pairs.state_names
    for ours, theirs in zip(log.seen, other.seen, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (log.n_rows, log.n_left_out) == (6, 1)


def test_places_need_an_encoder(dataset):
    continuous, data = dataset
    if not continuous:
        pytest.skip("numbers need none")
    with pytest.raises(ValueError, match=r"Encoder\(space, bins=10\) divides a Box into cells"):
        eq.from_log(data)


def test_other_logs_take_no_encoder():
    with pytest.raises(TypeError, match="encoder goes with a data set of Minari's"):
        eq.from_log([(0, 0, 0.0, 0)], encoder=eq.Encoder(spaces.Discrete(1)))
