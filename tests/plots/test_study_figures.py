"""The files of a study's figures: every part and world has its own, whatever the labels."""

from pathlib import Path

import numpy as np
import pytest

from equirl.files.whole_files import write_aside
from equirl.lab.plots import study_figures
from equirl.lab.plots.study_figures import draw_study, file_names
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import Group, finished_runs, summarise
from equirl.simulation.curves import Curves
from studies_kit import planned, with_lines


def test_labels_that_differ_in_signs_alone_have_figures_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(study_figures, "plot_curves", lambda *_, **__: None)  # what is drawn is tested elsewhere
    monkeypatch.setattr(study_figures, "save_all", lambda _, stem, __: [write_aside(f"{stem}.svg", b"")])
    labels = ["a b", "a-b", "a/b", "A-B", "..", "a-b-loglog"]
    worlds = ", ".join(f'{{ world = "riverswim", params = {{ n_states = 3 }}, label = "{label}" }}' for label in labels)
    runs = planned(with_lines(worlds=f"[{worlds}]", learners='["random"]', runs="1", horizon="20"))
    store = Store(tmp_path / "results")
    run_study(runs, store, LocalEngine(1), quiet=True)
    files = draw_study(summarise(finished_runs(runs, store)), runs, tmp_path / "figures")
    assert len(files) == len(set(files)) == 2 * len(labels)
    assert sorted(files) == sorted((tmp_path / "figures").iterdir())


def test_what_was_asked_for_is_drawn_in_one_format_unless_more_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(study_figures, "plot_curves", lambda *_, **__: None)
    names_only = lambda _, stem, kinds: [f"{Path(stem).name}.{kind}" for kind in kinds]  # noqa: E731
    monkeypatch.setattr(study_figures, "save_all", names_only)
    t, names = np.array([20]), ("regret", "reward", "alpha", "sample_complexity", "misclustering_ratio")
    curves = Curves.of_run(t, {name: np.zeros(1) for name in names})
    runs = planned(with_lines(worlds='["riverswim:n_states=3"]', learners='["random"]', runs="1", horizon="20"))
    group = Group("small", "riverswim:n_states=3", "random", "random", curves, (0,))
    stem = "small-riverswim-n_states-3"
    drawn = [stem, f"{stem}-loglog", f"{stem}-misclustering_ratio", f"{stem}-sample_complexity"]
    assert draw_study([group], runs, tmp_path) == [f"{name}.png" for name in drawn]
    both = draw_study([group], runs, tmp_path, formats=["pdf", "svg"])
    assert both == [f"{name}.{kind}" for name in drawn for kind in ("pdf", "svg")]


@pytest.mark.parametrize("label", ["/", "..", "", "-.-", "\0", "../../escaped", "é" * 300, "x" * 5000])
def test_a_label_becomes_a_name_that_every_system_takes(label, tmp_path):
    (name,) = file_names([label])
    assert name.strip("-.") == name
    (tmp_path / f"{name}-sample_complexity.svg").write_text("")
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}-sample_complexity.svg"]


def test_names_with_suffixes_never_meet(tmp_path):
    names = file_names(["a", "a-loglog", "a", "a-2"], ["loglog"])
    files = [f"{name}{suffix}" for name in names for suffix in ("", "-loglog")]
    assert len(set(files)) == 8
