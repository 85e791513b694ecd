"""What the colours and signs of a picture stand for: classes in words, actions by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.lab.plots.canvas import figure_text
from equirl.lab.plots.sheets import LETTER
from equirl.model import TabularMDP
from equirl.structure import Partition, summarise_class

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
    """Fill axes with the largest classes in words, and the other signs of the picture."""
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
    """Put actions by name under a figure, which grows by the place they take."""
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
