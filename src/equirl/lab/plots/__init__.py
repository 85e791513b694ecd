"""Figures of problems, runs and studies. Each function returns a Matplotlib ``Figure``; needs the extra ``plot``.

``maps`` (:func:`draw_classes`, :func:`draw_policy`) shows a problem, with ``sheets``: where its states are drawn and
where a policy points. ``curve_figures`` draws measures against time, ``study_figures`` all of a study.
``learner_figures`` shows learners at one time, ``films`` (:func:`film_learning`, :func:`animate_learning`) one that
learns. ``canvas`` (:func:`save_figure`) is where figures begin and end, and how they look.
"""

from equirl.lab.plots.canvas import save_figure
from equirl.lab.plots.films import animate_learning, film_learning, write_film
from equirl.lab.plots.maps import draw_classes, draw_policy

__all__ = ["animate_learning", "draw_classes", "draw_policy", "film_learning", "save_figure", "write_film"]
