"""Figures of problems, runs and studies. Each function returns a Matplotlib ``Figure``; needs the extra ``plot``.

``maps`` (:func:`draw_classes`, :func:`draw_policy`) shows a problem, with ``sheets`` (where its states are drawn) and
``arrows`` (a policy as arrows and as text); ``curve_figures`` draws measures against time, ``comparison_figures`` those
of a tidy table or one run, ``study_figures`` all of a study. ``learning_frames`` (:func:`film_learning`) and
``film_files`` (:func:`animate_learning`) show a learner learning. ``canvas`` (:func:`save_figure`), ``style`` and
``legends`` are where figures begin and end, and how they look.
"""

from equirl.lab.plots.canvas import save_figure
from equirl.lab.plots.film_files import animate_learning, write_film
from equirl.lab.plots.learning_frames import film_learning
from equirl.lab.plots.maps import draw_classes, draw_policy

__all__ = ["animate_learning", "draw_classes", "draw_policy", "film_learning", "save_figure", "write_film"]
