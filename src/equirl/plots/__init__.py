"""Figures of problems, runs and studies. Each function returns a Matplotlib ``Figure``; needs the extra ``plot``.

``maps`` (:func:`draw_classes`, :func:`draw_policy`) shows a problem, with ``sheets`` (where its states are drawn) and
``arrows`` (a policy as arrows and as text); ``curve_figures`` draws measures against time, ``comparison_figures`` those
of a tidy table or one run, ``study_figures`` all of a study; ``learning_animation`` shows a learner at work. ``canvas``
(:func:`save_figure`) and ``style`` are where figures begin and end, and how they look.
"""

from equirl.plots.canvas import save_figure
from equirl.plots.maps import draw_classes, draw_policy

__all__ = ["draw_classes", "draw_policy", "save_figure"]
