"""The leaderboard's figures: regret against time in every world, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from equirl.lab.leaderboard.entrants import NOTHING
from equirl.lab.leaderboard.standings import Board
from equirl.lab.plots.curve_figures import Bound, plot_curves
from equirl.lab.plots.style import save_all
from equirl.structure import Partition, equivalence_classes
from equirl.theory import regret_lower_bound


def draw_boards(boards: Sequence[Board], folder: Path, *, with_bounds: bool = False) -> dict[str, Path]:
    """Two figures a world: learners given nothing; those given something, beside the best given nothing."""
    shown: dict[str, Path] = {}
    for board in boards:
        nothing = [row.group for row in board.given_nothing()]
        given = [row.group for row in board.standings if row.given != NOTHING]
        ergodic = with_bounds and board.kind == "ergodic"
        if nothing:
            bounds = _bound(board) if ergodic else None
            figure = plot_curves(nothing, title=f"{board.name}: given nothing", log=True, bounds=bounds)
            shown[f"{board.name}-nothing"] = _saved(figure, folder / f"{board.name}-nothing")
        if given:
            bounds = _bound(board, equivalence_classes(board.mdp)) if ergodic else None
            figure = plot_curves([*nothing[:1], *given], title=f"{board.name}: given classes", log=True, bounds=bounds)
            shown[f"{board.name}-given"] = _saved(figure, folder / f"{board.name}-given")
    return shown


def _bound(board: Board, classes: Partition | None = None) -> dict[str, Bound]:
    """The lower bound as a named curve; none where it is 0."""
    c = regret_lower_bound(board.mdp, classes)
    given = ", classes and profiles given" if classes is not None else ""
    return {f"{c:.3g} log T, asymptotic lower bound{given}": lambda t: c * np.log(np.maximum(t, 2))} if c > 0 else {}


def _saved(figure: object, stem: Path) -> Path:
    files = save_all(figure, stem)  # type: ignore[arg-type]
    return next(path for path in files if path.suffix == ".svg")
