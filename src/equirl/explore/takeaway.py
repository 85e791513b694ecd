"""What a page can take away: figures, tables, the world as a file, and texts that reproduce what is on screen."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from equirl.core.csv_files import write_csv
from equirl.core.naming import unknown_name
from equirl.explore.asked_runs import AskedRuns
from equirl.explore.reproduction import python_snippet, study_text
from equirl.explore.world_view import PAIR_COLUMNS, WorldView
from equirl.model.mdp import TabularMDP
from equirl.simulation.curves import Curves
from equirl.studies.summary import SUMMARY_COLUMNS, Group, final_rows
from equirl.studies.tidy_table import TidyTable

KINDS = {
    "svg": "image/svg+xml", "png": "image/png", "csv": "text/csv", "npz": "application/octet-stream",
    "py": "text/x-python", "toml": "application/toml",
}  # fmt: skip
Writer = Callable[[Path], object]


def class_file(view: WorldView, asked: Any, what: str) -> dict[str, Any]:
    """A file about a world and its classes.

    Parameters
    ----------
    view : WorldView
        What is shown.
    asked : mapping
        How the page asked for it.
    what : {"svg", "png", "csv", "npz", "py"}
        The picture, the table of pairs, the world itself, or Python that computes it.

    Returns
    -------
    dict
        A reply with the file's name and its content in base64.
    """

    def draw(path: Path) -> None:
        from equirl.plots import draw_classes, save_figure

        save_figure(draw_classes(view.mdp, view.partition), path)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: write_csv(path, PAIR_COLUMNS, view.pair_rows()),
        "npz": lambda path: view.mdp.save(path),
        "py": lambda path: path.write_text(python_snippet(asked, rewards=view.rewards), encoding="utf-8"),
    }
    return _reply(_stem(view.mdp, asked), what, writers)


def curve_file(
    curves: Mapping[str, Curves], mdp: TabularMDP, world: Any, asked: AskedRuns, what: str, log: bool = False
) -> dict[str, Any]:
    """A file about a comparison of learners.

    Parameters
    ----------
    curves : mapping of str to Curves
        By the label of the learner, as far as they were played.
    mdp : TabularMDP
        The world.
    world : mapping
        How the page asked for it.
    asked : AskedRuns
        The learners.
    what : {"svg", "png", "csv", "py", "toml"}
        The figure of the regret, the table of all curves, or what computes them.
    log : bool
        Whether the axes of the figure are logarithmic.

    Returns
    -------
    dict
        A reply with the file's name and its content in base64.
    """
    if what not in ("py", "toml") and not len(next(iter(curves.values())).t):
        raise ValueError("no checkpoint is passed yet; let the learners play a little")
    seeds = tuple(asked.seeds)

    def draw(path: Path) -> None:
        groups = [
            Group("", "", label, asked.learners[label][0], found, seeds, facts={}) for label, found in curves.items()
        ]
        _draw_curves(groups, mdp.name, path, log)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: TidyTable(curves, seeds).to_csv(path),
        "py": lambda path: path.write_text(python_snippet(world, asked), encoding="utf-8"),
        "toml": lambda path: path.write_text(study_text(world, asked), encoding="utf-8"),
    }
    return _reply(f"{_stem(mdp, world)}-learning", what, writers)


def study_file(groups: list[Group], name: str, what: str, measure: str, log: bool) -> dict[str, Any]:
    """A file about one world of a study.

    Parameters
    ----------
    groups : list of Group
        Its learners.
    name : str
        Of the part and world.
    what : {"svg", "png", "csv"}
        The figure or the table.
    measure : str
        The curve.
    log : bool
        Whether the axes of the figure are logarithmic.

    Returns
    -------
    dict
        A reply with the file's name and its content in base64.
    """
    writers: dict[str, Writer] = {
        "svg": lambda path: _draw_curves(groups, name, path, log, measure),
        "png": lambda path: _draw_curves(groups, name, path, log, measure),
        "csv": lambda path: write_csv(path, SUMMARY_COLUMNS, final_rows(groups, measure)),
    }
    return _reply(_plain(name), what, writers)


def _draw_curves(groups: list[Group], title: str, path: Path, log: bool, measure: str = "regret") -> None:
    from equirl.plots.curve_figures import plot_curves
    from equirl.plots.style import save_all

    short = title if len(title) <= 60 else title.partition(":")[0]
    save_all(plot_curves(groups, measure, title=short, log=log), path.with_suffix(""), [path.suffix[1:]])


def _reply(stem: str, what: str, writers: Mapping[str, Writer]) -> dict[str, Any]:
    if what not in writers:
        raise ValueError(unknown_name("file to take away", what, writers))
    name = f"{stem}.{what}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        writers[what](path)
        content = path.read_bytes()
    return {"kind": "file", "name": name, "type": KINDS[what], "base64": base64.b64encode(content).decode()}


def _stem(mdp: TabularMDP, asked: Any) -> str:
    return _plain(Path(asked["file"]).stem if "file" in asked else asked["text"].partition(":")[0])


def _plain(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:60] or "explored"
