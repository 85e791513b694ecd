"""Figures of curves: regret and clustering against time, with their uncertainty, from stored results only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equirl.lab.plots.canvas import LineStyle, figure_style, figure_text, line_styles, new_figure
from equirl.lab.studies.summary import Group
from equirl.lab.studies.tidy_table import TidyTable
from equirl.simulation import CLUSTERING_CURVES, Curves, Trace
from equirl.words.checking import unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Spread = Literal["band", "bars", "quantiles", "none"]
Bound = Callable[[np.ndarray], np.ndarray]
N_MARKS = 10  # markers (and error bars) along a curve

AXIS_TITLES = {
    "regret": "regret",
    "pseudo_regret": "pseudo-regret",
    "reward": "reward",
    "n_classes": "number of classes",
    "misclustering_ratio": "mis-clustering ratio",
    "misclustering_bias": "mis-clustering bias",
    "misclustering_bias_by_state": "mis-clustering bias, by state",
}
DEFINITIONS = {
    "regret": "regret $R(T) = T g^* - (r_1 + ... + r_T)$, rewards as received",
    "pseudo_regret": "pseudo-regret $T g^*$ - sum of $\\mu(s_t, a_t)$, true mean rewards",
}
PANELS = 3  # side by side in a figure of several worlds


def plot_curves(
    groups: Sequence[Group],
    measure: str = "regret",
    *,
    title: str = "",
    spread: Spread = "band",
    log: bool = False,
    labels: Sequence[str] | None = None,
    bounds: Mapping[str, Bound] | None = None,
    points: Mapping[str, float] | None = None,
    size: tuple[float, float] = (5.6, 4.2),
) -> Figure:
    """A figure of one measure for several learners; its foot states the runs, the spread and the measure's meaning.

    Parameters
    ----------
    groups : sequence of Group
        The learners; those that lack the measure are left out.
    measure : str
        The name of a curve.
    title : str
        The title of the figure.
    spread : {"band", "bars", "quantiles", "none"}
        A band or the paper's error bars of the 95 % confidence interval of the mean, the middle half of the runs, or
        nothing.
    log : bool
        Whether both axes are logarithmic.
    labels : sequence of str, optional
        Names of the curves in place of the learners'.
    bounds : mapping of str to callable, optional
        Further curves by name, such as a theorem's bound, as functions of time.
    points : mapping of str to float, optional
        Published values at the horizon by the name of a curve, drawn as open squares.
    size : (float, float)
        Width and height in inches.
    """
    groups = [group for group in groups if measure in group.curves]
    if not groups:
        raise ValueError(f"no finished run has the measure {measure!r}")
    with figure_style():
        figure = new_figure(*size)
        axes = figure.subplots()
        styles = line_styles([group.learner_name for group in groups])
        names = list(labels) if labels is not None else [group.learner for group in groups]
        for k, (group, style, name) in enumerate(zip(groups, styles, names, strict=True)):
            draw_curve(axes, group.curves, measure, style, name, spread=spread, shift=k / len(groups), log=log)
        _draw_bounds(axes, bounds or {}, groups)
        _draw_points(axes, points or {}, groups, names, styles)
        _finish(axes, title, AXIS_TITLES.get(measure, measure.replace("_", " ")), log)
        _draw_legend(figure, n_names=len(axes.get_legend_handles_labels()[1]))
        figure.supxlabel(foot(groups, measure, spread), fontsize=7.5, color="#555555")
    return figure


def draw_worlds(groups: Sequence[Group], measure: str = "regret") -> Figure:
    """A panel per world: the mean curves of its learners, each learner drawn alike in all."""
    groups = [group for group in groups if measure in group.curves]
    worlds = list(dict.fromkeys(group.world for group in groups))
    names = {group.learner: group.learner_name for group in groups}
    styles = dict(zip(names, line_styles(list(names.values())), strict=True))
    columns = min(len(worlds), PANELS)
    rows = -(-len(worlds) // columns)
    with figure_style():
        figure = new_figure(4.2 * columns, 0.6 + 3.2 * rows)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, world in zip(panels, worlds, strict=False):
            own = [group for group in groups if group.world == world]
            for k, group in enumerate(own):
                draw_curve(axes, group.curves, measure, styles[group.learner], group.learner, shift=k / len(own))
            _finish(axes, world, AXIS_TITLES.get(measure, measure.replace("_", " ")), log=False)
        for axes in panels[len(worlds) :]:
            axes.set_axis_off()
        handles = [dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True)) for axes in panels[: len(worlds)]]
        known = {label: handle for own in handles for label, handle in own.items()}
        figure.legend(known.values(), known.keys(), loc="outside upper left", ncols=min(3, len(known)))
        figure.supxlabel(foot(groups, measure, "band"), fontsize=7.5, color="#555555")
    return figure


def draw_curve(
    axes: Axes,
    curves: Curves,
    measure: str,
    style: LineStyle,
    label: str,
    *,
    spread: Spread = "band",
    shift: float = 0.0,
    log: bool = False,
) -> None:
    t, mean, half = curves.t, curves.mean(measure), curves.half_width(measure)
    marks = _marks(t, shift, log)
    look: dict[str, Any] = {"color": style.color, "linestyle": style.dashes}
    axes.plot(t, mean, label=_in_legend(label), marker=style.marker, markevery=marks, markersize=4.5, **look)
    if spread == "quantiles":
        low, high = curves.quantile(measure, 0.25), curves.quantile(measure, 0.75)
        axes.fill_between(t, low, high, color=style.color, alpha=0.15, linewidth=0)
    if not np.isfinite(half).all():
        return
    floor = 0.1 * mean if log else -np.inf  # a logarithmic axis has no place for what is below zero
    if spread == "band":
        axes.fill_between(t, np.maximum(mean - half, floor), mean + half, color=style.color, alpha=0.18, linewidth=0)
    elif spread == "bars":
        axes.errorbar(t[marks], mean[marks], half[marks], fmt="none", ecolor=style.color, elinewidth=1.0, capsize=2.5)


def foot(groups: Sequence[Group], measure: str, spread: Spread) -> str:
    """What a reader must know about the curves: how many runs, what the spread is, what is measured."""
    counts = {group.n_runs for group in groups}
    runs = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    about = ", band: middle half of the runs" if spread == "quantiles" else ""
    if spread in ("band", "bars") and min(counts) > 1:
        about = f", {spread}: 95 % confidence interval of the mean"
    meaning = f"\n{DEFINITIONS[measure]}" if measure in DEFINITIONS else ""
    return f"mean of {runs} run{'s' if max(counts) > 1 else ''}{about}{meaning}"


def _draw_legend(figure: Figure, n_names: int) -> None:
    """Names above the axes, in as many columns, up to three, as the figure is wide enough for."""
    for ncols in range(min(3, n_names), 0, -1):
        legend = figure.legend(loc="outside upper left", ncols=ncols)
        if ncols == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _in_legend(label: str) -> str:
    """A label for the legend, from which Matplotlib would leave out one that begins with an underscore."""
    return figure_text(f" {label}" if label.startswith("_") else label)


def _marks(t: np.ndarray, shift: float, log: bool) -> list[int]:
    """Checkpoints that carry a marker: spaced as the axis is."""
    places = (np.arange(N_MARKS) + 0.3 + 0.7 * shift) / N_MARKS
    if log:
        wanted = np.exp(np.log(t[0]) + places * np.log(t[-1] / t[0])) if t[0] > 0 else t[-1] * places
    else:
        wanted = places * t[-1]
    found = np.clip(np.searchsorted(t, wanted), 0, len(t) - 1)
    return [int(k) for k in np.unique(found)]


def _draw_bounds(axes: Axes, bounds: Mapping[str, Bound], groups: Sequence[Group]) -> None:
    t = groups[0].curves.t
    for k, (name, bound) in enumerate(bounds.items()):
        axes.plot(t, bound(t), color="#777777", linestyle=(0, (1, 1 + k)), linewidth=1.1, label=figure_text(name))


def _draw_points(
    axes: Axes,
    points: Mapping[str, float],
    groups: Sequence[Group],
    names: Sequence[str],
    styles: Sequence[LineStyle],
) -> None:
    look: dict[str, Any] = {"marker": "s", "markersize": 9, "markerfacecolor": "none", "linestyle": "none"}
    for group, name, style in zip(groups, names, styles, strict=True):
        if name in points:
            axes.plot(group.horizon, points[name], color=style.color, clip_on=False, **look)
    if points:
        axes.plot([], [], color="#555555", label="published value at T", **look)


def _finish(axes: Axes, title: str, ylabel: str, log: bool) -> None:
    axes.set_title(figure_text(title), loc="left")
    axes.set_xlabel("time step")
    axes.set_ylabel(figure_text(ylabel))
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.ticklabel_format(axis="both", style="sci", scilimits=(-3, 4), useMathText=True)


def draw_comparison(table: TidyTable, measure: str = "regret", title: str = "") -> Figure:
    """Mean curves of the learners of a table with the 95 % confidence interval of the mean."""
    _check_measure(measure, table.measures)
    groups = [Group("", title, label, label.split()[0], curves, table.seeds) for label, curves in table.curves.items()]
    return plot_curves(groups, measure, title=title)


def draw_trace(trace: Trace, measure: str = "regret", title: str = "") -> Figure:
    if isinstance(measure, str) and measure in CLUSTERING_CURVES and measure not in trace.curves:
        raise ValueError(f"the run did not measure {measure}; ask for it with simulate(..., measure_clustering=True)")
    _check_measure(measure, trace.curves)
    group = Group("", title, trace.agent_name, trace.agent_name, trace.curves, (0,), trace.gain)
    return plot_curves([group], measure, title=title)


def _check_measure(measure: str, known: Iterable[str]) -> None:
    if not isinstance(measure, str) or measure not in known:
        raise ValueError(unknown_name("measure", measure, known))
