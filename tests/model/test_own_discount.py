"""The discount that a problem came with: kept, shown, saved, and used by nobody unasked."""

import pickle
from dataclasses import replace

import pytest

from equirl.files.archives import load_npz, save_npz
from equirl.files.whole_files import DamagedFile
from equirl.model.mdp import FORMAT, TabularMDP
from equirl.solving.optimal_gain import Solution, solve

PLAIN = TabularMDP.from_arrays([[[0.5, 0.5]], [[1.0, 0.0]]], [[0.0], [1.0]])
OWN = replace(PLAIN, discount=0.9)


def saved(tmp_path, mdp):
    mdp.save(tmp_path / "mdp.npz")
    return tmp_path / "mdp.npz"


def test_a_problem_has_no_discount_unless_one_is_given():
    assert PLAIN.discount is None
    assert TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.5)], 1, discount=0.5).discount == 0.5


def test_the_discount_is_shown():
    assert repr(OWN).endswith("rewards in [0, 1], discount 0.9)")
    assert "discount" not in repr(PLAIN)


@pytest.mark.parametrize("mdp", [PLAIN, OWN], ids=["none", "own"])
def test_the_discount_is_saved_pickled_and_renumbered(mdp, tmp_path):
    assert TabularMDP.load(saved(tmp_path, mdp)).discount == mdp.discount
    assert pickle.loads(pickle.dumps(mdp)).discount == mdp.discount
    assert mdp.permute(states=[1, 0]).discount == mdp.discount
    assert mdp.restrict_to_reachable().discount == mdp.discount


def test_a_file_without_a_discount_loads_as_one_that_has_none(tmp_path):
    path = saved(tmp_path, PLAIN)
    assert "discount" not in load_npz(path, *FORMAT)[1]
    assert TabularMDP.load(path) == PLAIN


def test_a_pickle_of_fewer_fields_loads():
    make, fields = OWN.__reduce__()
    assert make(*fields[:-1]) == PLAIN


def test_equality_does_not_depend_on_the_discount():
    assert OWN == PLAIN


def test_the_discount_is_used_where_it_is_passed_alone():
    assert isinstance(solve(OWN), Solution)
    assert solve(OWN, discount=OWN.discount).discount == 0.9
    assert isinstance(solve(PLAIN, discount=PLAIN.discount), Solution)


@pytest.mark.parametrize(
    ("discount", "message"), [(1.0, "less than 1, not 1.0"), (-0.1, "at least 0"), ("x", "discount must be a number")]
)
def test_a_wrong_discount_is_named(discount, message):
    with pytest.raises((TypeError, ValueError), match=message):
        replace(PLAIN, discount=discount)


def test_a_file_with_a_wrong_discount_is_damaged(tmp_path):
    path = saved(tmp_path, OWN)
    arrays, meta = load_npz(path, *FORMAT)
    save_npz(path, *FORMAT, dict(arrays), dict(meta) | {"discount": 7})
    with pytest.raises(DamagedFile, match="less than 1, not 7"):
        TabularMDP.load(path)
