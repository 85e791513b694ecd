import numpy as np
import pytest

from equirl.lab.studies.compare import simulate_many
from equirl.lab.studies.tidy_table import TidyTable
from equirl.simulation.curves import Curves, half_width
from equirl.words.formatting import mean_with_interval
from equirl.worlds.world_registry import make

T = np.array([5, 10])
TABLE = TidyTable(
    {
        "one": Curves(T, {"regret": np.array([[1.0, 2.0], [3.0, 4.0]]), "n_classes": np.array([[6, 6], [6, 5]])}),
        "other": Curves(T, {"regret": np.array([[5.0, 6.0], [7.0, 8.0]]), "span": np.array([[0.1, 0.2], [0.3, 0.4]])}),
    },
    (3, 8),
)


def test_a_table_has_a_row_per_learner_seed_and_checkpoint():
    assert list(TABLE.columns) == ["learner", "seed", "t", "regret", "n_classes", "span"]
    assert TABLE["learner"].tolist() == ["one"] * 4 + ["other"] * 4
    assert TABLE["seed"].tolist() == [3, 3, 8, 8] * 2
    assert TABLE["t"].tolist() == [5, 10] * 4
    assert TABLE["regret"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_table_shows_means_with_half_their_intervals():
    line = repr(TABLE).splitlines()[1]
    assert line == f"  one: regret {mean_with_interval(3.0, float(half_width(np.array([2.0, 4.0]))))} (2 runs)"
    assert "±" in line


def test_a_measure_that_a_learner_lacks_is_nan_in_its_rows():
    np.testing.assert_array_equal(TABLE["span"], [np.nan] * 4 + [0.1, 0.2, 0.3, 0.4])
    assert list(TABLE.final("span")) == ["other"]
    assert TABLE.plot("span").axes


def test_final_values_are_one_per_seed():
    assert {label: values.tolist() for label, values in TABLE.final().items()} == {"one": [2, 4], "other": [6, 8]}


def test_the_table_of_a_comparison_is_written_row_by_row(tmp_path):
    table = simulate_many(make("riverswim", n_states=5), ["random"], 20, seeds=[4], checkpoints=2)
    lines = table.to_csv(tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "learner,seed,t,regret,pseudo_regret,reward,n_classes"
    assert [line.split(",")[:3] for line in lines[1:]] == [["random", "4", "10"], ["random", "4", "20"]]


def test_both_processes_and_one_give_the_same_table():
    river = make("riverswim", n_states=5)
    one, two = (simulate_many(river, ["random", "ucrl2-l"], 50, seeds=range(2), jobs=jobs) for jobs in (1, 2))
    assert all(np.array_equal(one[name], two[name]) for name in one.columns)


def test_a_column_that_is_no_curve_has_no_final_value():
    with pytest.raises(KeyError, match="unknown column 'learner'"):
        TABLE.final("learner")
