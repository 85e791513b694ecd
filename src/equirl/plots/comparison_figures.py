"""The figure of a quick comparison: the curves of a tidy table, or of one run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equirl.core.naming import unknown_name
from equirl.plots.canvas import check_format, save_figure
from equirl.plots.curves import plot_curves
from equirl.simulation.simulate import CLUSTERING_CURVES, Trace
from equirl.studies.compare import CURVES, TidyTable
from equirl.studies.summary import Curve, Group

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _check_measure(measure: str, known: Iterable[str]) -> None:
    if measure not in known:
        raise ValueError(unknown_name("measure", measure, known))


def draw_comparison(table: TidyTable, measure: str = "regret", title: str = "") -> Figure:
    """Mean curves of the learners of a table with the 95 % confidence interval of the mean."""
    _check_measure(measure, CURVES)
    t, seeds = np.unique(table["t"]), tuple(np.unique(table["seed"]).tolist())
    groups = []
    for label in dict.fromkeys(table["learner"].tolist()):
        mine = table["learner"] == label
        curves = {name: Curve(t, table[name][mine].reshape(len(seeds), len(t)).astype(float)) for name in CURVES}
        groups.append(Group("", title, label, label.split()[0], curves, seeds, float("nan"), False, {}))
    return plot_curves(groups, measure, title=title)


def draw_trace(trace: Trace, measure: str = "regret", title: str = "") -> Figure:
    """The curve of one run."""
    measured = [name for name in (*CURVES, *CLUSTERING_CURVES) if getattr(trace, name) is not None]
    if measure in CLUSTERING_CURVES and measure not in measured:
        raise ValueError(f"the run did not measure {measure}; ask for it with simulate(..., measure_clustering=True)")
    _check_measure(measure, measured)
    curves = {name: Curve(trace.t, getattr(trace, name)[None].astype(float)) for name in measured}
    group = Group("", title, trace.agent_name, trace.agent_name, curves, (0,), trace.gain, False, {})
    return plot_curves([group], measure, title=title)


def save_comparison(table: TidyTable, path: str | os.PathLike[str], title: str = "") -> Path:
    """Write the regret figure of a table; the ending says the format."""
    check_format(path)
    return save_figure(draw_comparison(table, title=title), path)
