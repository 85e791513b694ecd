"""Tests in the random order of a seed, as EQUIRL_TEST_ORDER asks for it."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture
def shuffled(request):
    conftest = request.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))

    def names(seed, order):
        return [
            item.nodeid for item in conftest.shuffled([SimpleNamespace(nodeid=f"{k % 3}::{k:02}") for k in order], seed)
        ]

    return names


def test_every_worker_shuffles_alike_however_it_collected(shuffled):
    assert shuffled("7", range(50)) == shuffled("7", reversed(range(50)))


def test_every_test_is_kept_and_another_seed_is_another_order(shuffled):
    named = [f"{k % 3}::{k:02}" for k in range(50)]
    assert sorted(shuffled("7", range(50))) == sorted(shuffled("8", range(50))) == sorted(named)
    assert shuffled("7", range(50)) != shuffled("8", range(50)) != named


def test_the_tests_of_a_file_stay_together(shuffled):
    files = [name[0] for name in shuffled("7", range(50))]
    assert sum(one != two for one, two in pairwise(files)) == 2
