"""Figures. Each function returns a Matplotlib ``Figure``; :func:`save_figure` writes it. Needs the extra ``plot``."""

from equirl.plots.canvas import save_figure
from equirl.plots.maps import draw_classes, draw_policy

__all__ = ["draw_classes", "draw_policy", "save_figure"]
