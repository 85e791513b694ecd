"""The figures of the paper's report, from stored results: regret, clustering, and the classes of appendix F."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from equirl.lab.paper.published import (
    CLUSTERING,
    KNOWN_ALL,
    MAPS,
    PROGRAMMED,
    PUBLISHED,
    REGRET,
    UCRL2L,
    PublishedFigure,
    PublishedMap,
)
from equirl.lab.plots.curve_figures import plot_curves
from equirl.lab.plots.maps import draw_classes
from equirl.lab.plots.style import save_all
from equirl.lab.studies.summary import Group
from equirl.simulation import Curves
from equirl.structure import equivalence_classes
from equirl.worlds import load_world


def draw_paper(groups: Sequence[Group], folder: Path) -> dict[str, Path]:
    """Draw and save every figure, as PDF, SVG and PNG."""
    shown: dict[str, Path] = {}
    for figure in REGRET:
        bundle = [group for group in groups if group.part == figure.part]
        if bundle:
            shown |= _draw_regret(bundle, figure, folder)
    measured = [group for group in groups if group.part in {world.part for world in CLUSTERING}]
    if measured:
        shown |= _draw_clustering(measured, folder)
    return shown | draw_maps(folder)


def _draw_regret(groups: Sequence[Group], figure: PublishedFigure, folder: Path) -> dict[str, Path]:
    points = {UCRL2L: figure.ucrl2l, PUBLISHED: figure.c_ucrl, KNOWN_ALL: figure.known_all}
    linear = plot_curves(groups, title=figure.title, spread="bars", points=points)
    log = plot_curves(groups, title=f"{figure.title}, both axes logarithmic", log=True)
    name = f"regret-{figure.part}"
    return {
        name: _svg(save_all(linear, folder / name)),
        f"{name}-loglog": _svg(save_all(log, folder / f"{name}-loglog")),
    }


def _draw_clustering(groups: Sequence[Group], folder: Path) -> dict[str, Path]:
    """The two clustering figures; the bias as defined, by pair, and by pair and state."""
    sizes = {world.part: world.n_states for world in CLUSTERING}
    labels = [_clustering_label(sizes[group.part], group.learner) for group in groups]
    ratios = {_clustering_label(world.n_states, PROGRAMMED): world.ratio_last for world in CLUSTERING}
    biases = {_clustering_label(world.n_states, PROGRAMMED): world.bias_last for world in CLUSTERING}
    scaled = [_scaled(group, 2 * sizes[group.part]) for group in groups]
    wanted = {
        "clustering-ratio": (groups, "misclustering_ratio", "Mis-clustering ratio", ratios),
        "clustering-bias": (groups, "misclustering_bias", "Mis-clustering bias", biases),
        "clustering-bias-by-pair": (scaled, "misclustering_bias", "Mis-clustering bias / M", biases),
        "clustering-bias-by-state": (scaled, "misclustering_bias_by_state", "Bias by state / M", biases),
    }
    figures = {
        name: plot_curves(shown, measure, title=title, labels=labels, points=points)
        for name, (shown, measure, title, points) in wanted.items()
    }
    return {name: _svg(save_all(figure, folder / name)) for name, figure in figures.items()}


def _clustering_label(n_states: int, learner: str) -> str:
    return f"{n_states} states, {learner.partition('(')[2].rstrip(')') or learner}"


def _scaled(group: Group, n_pairs: int) -> Group:
    """A group whose biases are divided by the number of pairs."""
    curves = group.curves
    values = {name: rows / n_pairs if "bias" in name else rows for name, rows in curves.values.items()}
    return replace(group, curves=Curves(curves.t, values))


def draw_maps(folder: Path, maps: Sequence[PublishedMap] = MAPS) -> dict[str, Path]:
    """Draw and save the maps of appendix F with one colour per class."""
    shown = {}
    for k, row in enumerate(maps, start=1):
        mdp = load_world(row.world)
        name = f"classes-{k}"
        files = save_all(draw_classes(mdp, equivalence_classes(mdp), row.title), folder / name)
        shown[name] = next(path for path in files if path.suffix == ".png")
    return shown


def _svg(paths: Sequence[Path]) -> Path:
    return next(path for path in paths if path.suffix == ".svg")
