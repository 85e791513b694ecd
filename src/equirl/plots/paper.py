"""The figures of the paper's report, from stored results: regret, clustering, and the classes of appendix F."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from equirl.envs import load_world
from equirl.equivalence import equivalence_classes
from equirl.experiments.published import (
    CLUSTERING,
    KNOWN_ALL,
    MAPS,
    PUBLISHED,
    REGRET,
    UCRL2L,
    PublishedClasses,
    PublishedFigure,
)
from equirl.experiments.summary import Curve, Group
from equirl.plots.curves import plot_curves
from equirl.plots.maps import draw_classes
from equirl.plots.style import save_all


def draw_paper(groups: Sequence[Group], folder: Path) -> dict[str, Path]:
    """Draw and save every figure (PDF, SVG, PNG); for each name the file that goes into the report."""
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
    """The two clustering figures; the bias as defined and divided by the number of pairs."""
    sizes = {world.part: world.n_states for world in CLUSTERING}
    labels = [f"{sizes[group.part]} states" for group in groups]
    ratios = {f"{world.n_states} states": world.ratio_last for world in CLUSTERING}
    biases = {f"{world.n_states} states": world.bias_last for world in CLUSTERING}
    scaled = [_scaled(group, 2 * sizes[group.part]) for group in groups]
    figures = {
        "clustering-ratio": plot_curves(
            groups, "misclustering_ratio", title="Mis-clustering ratio", labels=labels, points=ratios
        ),
        "clustering-bias": plot_curves(
            groups, "misclustering_bias", title="Mis-clustering bias", labels=labels, points=biases
        ),
        "clustering-bias-by-pair": plot_curves(
            scaled, "misclustering_bias", title="Mis-clustering bias / number of pairs", labels=labels, points=biases
        ),
    }
    return {name: _svg(save_all(figure, folder / name)) for name, figure in figures.items()}


def _scaled(group: Group, n_pairs: int) -> Group:
    bias = group.curves["misclustering_bias"]
    return replace(group, curves={**group.curves, "misclustering_bias": Curve(bias.t, bias.runs / n_pairs)})


def draw_maps(folder: Path, maps: Sequence[PublishedClasses] = MAPS) -> dict[str, Path]:
    """The maps of appendix F with one colour per class."""
    shown = {}
    for k, row in enumerate(maps, start=1):
        mdp = load_world(row.world)
        name = f"classes-{k}"
        files = save_all(draw_classes(mdp, equivalence_classes(mdp), row.title), folder / name)
        shown[name] = next(path for path in files if path.suffix == ".png")
    return shown


def _svg(paths: Sequence[Path]) -> Path:
    return next(path for path in paths if path.suffix == ".svg")
