"""The figures of a study, by part and world: regret, linear and log-log, and what was measured beside it on request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from equirl.lab.plots.canvas import save_all
from equirl.lab.plots.curve_figures import Bound, plot_curves
from equirl.lab.studies.expansion import PlannedRun
from equirl.lab.studies.runs import build_world
from equirl.lab.studies.summary import Group
from equirl.simulation import CLUSTERING_CURVES
from equirl.solving import diameter
from equirl.structure import equivalence_classes
from equirl.theory import theorem1_bound, ucrl2_bound

if TYPE_CHECKING:
    from equirl.model import TabularMDP

LONGEST_NAME = 60  # characters of a label that the name of its files takes over
DRAWN = (*CLUSTERING_CURVES, "sample_complexity")  # beside the regret, where they were measured


def draw_study(
    groups: Sequence[Group],
    planned: Sequence[PlannedRun],
    folder: Path,
    *,
    formats: Sequence[str] = ("png",),
    with_bounds: bool = False,
) -> list[Path]:
    """Draw the regret of a study, and its mis-clustering and sample complexity where they were measured.

    Parameters
    ----------
    groups : sequence of Group
        The finished runs.
    planned : sequence of PlannedRun
        The runs of the study, from which worlds are made again for the bounds.
    folder : Path
        Where the files go.
    formats : sequence of str
        Of "png", "pdf" and "svg".
    with_bounds : bool
        Whether the bounds of theory are drawn as well.
    """
    bundles: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        bundles.setdefault((group.part, group.world), []).append(group)
    worlds = {(run.part, run.world): run.spec for run in planned}
    suffixes = ["loglog", *DRAWN]
    titles = [part if part == world else f"{part}-{world}" for part, world in worlds]
    stems = dict(zip(worlds, file_names(titles, suffixes), strict=True))
    files: list[Path] = []
    for (part, world), bundle in bundles.items():
        stem = folder / stems[part, world]
        bounds = theory_bounds(build_world(worlds[part, world])[0]) if with_bounds else None
        files += save_all(plot_curves(bundle, title=world), stem, formats)
        files += save_all(plot_curves(bundle, title=world, log=True, bounds=bounds), f"{stem}-loglog", formats)
        for measure in DRAWN:
            measured = [group for group in bundle if measure in group.curves]
            if measured:
                files += save_all(plot_curves(measured, measure, title=world), f"{stem}-{measure}", formats)
    return files


def theory_bounds(mdp: TabularMDP, delta: float = 0.05) -> Mapping[str, Bound]:
    """The paper's bounds on the regret in an MDP, as functions of time."""
    D, S, C = max(1.0, diameter(mdp)), mdp.n_states, equivalence_classes(mdp).n_classes
    if not np.isfinite(D):
        return {}
    return {
        "Theorem 1, C-UCRL(C,σ)": lambda t: np.asarray(theorem1_bound(D, S, C, np.maximum(t, C), delta)),
        "UCRL2's bound": lambda t: np.asarray(ucrl2_bound(D, S, mdp.pairs.n_actions, t, delta)),
    }


def file_names(labels: Iterable[str], suffixes: Iterable[str] = ()) -> list[str]:
    """Names of files for labels, all different: where two labels would give one name, the later is numbered."""
    endings = ["", *(f"-{suffix}" for suffix in suffixes)]
    names: list[str] = []
    taken: set[str] = set()
    for label in labels:
        first = file_name(label)
        for name in chain([first], (f"{first}-{k}" for k in count(2))):
            family = {f"{name}{ending}".lower() for ending in endings}
            if taken.isdisjoint(family):
                break
        taken |= family
        names.append(name)
    return names


def file_name(text: str, otherwise: str = "figure") -> str:
    """A text as part of a file's name: letters, digits, dots and dashes.

    >>> file_name("rivers, riverswim:n_states=5")
    'rivers-riverswim-n_states-5'
    """
    return re.sub(r"[^\w.-]+", "-", text)[:LONGEST_NAME].strip("-.") or otherwise
