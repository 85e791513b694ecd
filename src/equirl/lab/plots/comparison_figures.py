"""The figure of a quick comparison: the curves of a tidy table, or of one run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from equirl.lab.plots.canvas import check_format, save_figure
from equirl.lab.plots.curve_figures import plot_curves
from equirl.lab.studies.summary import Group
from equirl.lab.studies.tidy_table import TidyTable
from equirl.simulation import CLUSTERING_CURVES, Trace
from equirl.words.checking import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_comparison(table: TidyTable, measure: str = "regret", title: str = "") -> Figure:
    """Mean curves of the learners of a table with the 95 % confidence interval of the mean."""
    _check_measure(measure, table.measures)
    groups = [Group("", title, label, label.split()[0], curves, table.seeds) for label, curves in table.curves.items()]
    return plot_curves(groups, measure, title=title)


def draw_trace(trace: Trace, measure: str = "regret", title: str = "") -> Figure:
    """The curve of one run."""
    if isinstance(measure, str) and measure in CLUSTERING_CURVES and measure not in trace.curves:
        raise ValueError(f"the run did not measure {measure}; ask for it with simulate(..., measure_clustering=True)")
    _check_measure(measure, trace.curves)
    group = Group("", title, trace.agent_name, trace.agent_name, trace.curves, (0,), trace.gain)
    return plot_curves([group], measure, title=title)


def save_comparison(table: TidyTable, path: str | os.PathLike[str], title: str = "") -> Path:
    """Write the regret figure of a table."""
    check_format(path)
    return save_figure(draw_comparison(table, title=title), path)


def _check_measure(measure: str, known: Iterable[str]) -> None:
    if not isinstance(measure, str) or measure not in known:
        raise ValueError(unknown_name("measure", measure, known))
