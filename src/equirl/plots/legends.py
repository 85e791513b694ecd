"""What the colours and signs of a picture stand for: classes in words, actions by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.plots.canvas import figure_text
from equirl.plots.sheets import LETTER
from equirl.structure.class_summary import summarise_class
from equirl.structure.partition import Partition

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LISTED = 12  # entries of a legend
EDGE: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.4}


def class_legend(
    axes: Axes,
    mdp: TabularMDP,
    partition: Partition,
    looks: Sequence[Mapping[str, Any]],
    signs: Mapping[str, Mapping[str, Any]],
    fontsize: float,
) -> None:
    """Fill axes with the largest classes in words, and the other signs of the picture.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where; nothing else is drawn there.
    mdp : TabularMDP
        The problem.
    partition : Partition
        Classes of its pairs.
    looks : sequence of mapping
        How the patch of each class looks.
    signs : mapping of str to mapping
        How the other signs look, by name.
    fontsize : float
        In points.
    """
    from matplotlib.patches import Patch

    axes.set_axis_off()
    largest = np.argsort(-partition.sizes, kind="stable")
    handles = [Patch(**looks[c], **EDGE) for c in largest[:MOST_LISTED]]
    texts = [figure_text(summarise_class(mdp, partition, int(c))) for c in largest[:MOST_LISTED]]
    if partition.n_classes > MOST_LISTED:
        handles.append(Patch(facecolor="none"))
        texts.append(f"and {partition.n_classes - MOST_LISTED} more classes")
    handles += [Patch(facecolor="none", edgecolor="black", **look) for look in signs.values()]
    texts += [figure_text(sign) for sign in signs]
    axes.legend(handles, texts, loc="center", frameon=False, fontsize=fontsize, handlelength=1.4)


def action_legend(figure: Figure, names: Sequence[str], colours: Sequence[Any]) -> None:
    """Put actions by name under a figure, which grows by the place they take.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    names : sequence of str
        What each colour stands for.
    colours : sequence of colour
        As many.
    """
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=colour, **EDGE) for colour in colours[:MOST_LISTED]]
    texts = list(names[:MOST_LISTED])
    if len(names) > MOST_LISTED:
        handles.append(Patch(facecolor="none"))
        texts.append(f"and {len(names) - MOST_LISTED} more")
    width, height = figure.get_size_inches()
    columns = max(1, min(len(texts), int(width / (0.55 + LETTER * max(map(len, texts))))))
    figure.set_size_inches(width, height + 0.22 * -(-len(texts) // columns) + 0.1)
    texts = [figure_text(text) for text in texts]
    figure.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
