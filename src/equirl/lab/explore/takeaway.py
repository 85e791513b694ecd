"""What a page can take away: figures, tables, the world as a file, and texts that reproduce what is on screen."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from equirl.files.whole_files import write_csv
from equirl.lab.explore.asked_runs import AskedRuns
from equirl.lab.explore.reproduction import python_snippet, study_text
from equirl.lab.explore.world_view import PAIR_COLUMNS, WorldView
from equirl.lab.plots.learner_figures import Belief
from equirl.lab.plots.sheets import state_labels
from equirl.lab.studies.summary import Group
from equirl.lab.studies.tidy_table import TidyTable
from equirl.model import TabularMDP
from equirl.simulation import Curves
from equirl.words.checking import unknown_name

KINDS = {
    "svg": "image/svg+xml", "png": "image/png", "csv": "text/csv", "npz": "application/octet-stream",
    "py": "text/x-python", "toml": "application/toml", "html": "text/html",
}  # fmt: skip
BELIEF_COLUMNS = (
    "learner", "t", "pair", "state", "action", "visits", "in_policy", "unsure", "stands_for", "true_class",
)  # fmt: skip
Writer = Callable[[Path], object]


def class_file(view: WorldView, asked: Any, what: str) -> dict[str, Any]:
    """A file about a world and its classes."""

    def draw(path: Path) -> None:
        from equirl.lab.plots import draw_classes, save_figure

        save_figure(draw_classes(view.mdp, view.partition), path)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: write_csv(path, PAIR_COLUMNS, view.pair_rows()),
        "npz": lambda path: view.mdp.save(path),
        "py": lambda path: path.write_text(python_snippet(asked, rewards=view.rewards), encoding="utf-8"),
    }
    return file_reply(_stem(asked), what, writers)


def curve_file(
    curves: Mapping[str, Curves],
    mdp: TabularMDP,
    world: Any,
    asked: AskedRuns,
    what: str,
    *,
    measure: str = "regret",
    log: bool = False,
) -> dict[str, Any]:
    """A file about a comparison of learners."""
    if what in ("svg", "png", "csv") and not len(next(iter(curves.values())).t):
        raise ValueError("no checkpoint is passed yet; let the learners play a little")
    seeds = tuple(asked.seeds)

    def draw(path: Path) -> None:
        groups = [
            Group("", "", label, asked.learners[label][0], found, seeds, facts={}) for label, found in curves.items()
        ]
        draw_curves(groups, mdp.name, path, log, measure)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: TidyTable(curves, seeds).to_csv(path),
        "npz": lambda path: mdp.save(path),
        "py": lambda path: path.write_text(python_snippet(world, asked), encoding="utf-8"),
        "toml": lambda path: path.write_text(study_text(world, asked), encoding="utf-8"),
    }
    return file_reply(_stem(world) if what == "npz" else f"{_stem(world)}-learning", what, writers)


def belief_file(beliefs: Sequence[Belief], mdp: TabularMDP, world: Any, what: str) -> dict[str, Any]:
    """A file about what learners have seen and believe, at the time on screen."""
    if not any(belief.t for belief in beliefs):
        raise ValueError("nothing is played yet; let the learners play a little")

    def draw(path: Path) -> None:
        from equirl.lab.plots import save_figure
        from equirl.lab.plots.learner_figures import draw_learners

        save_figure(draw_learners(mdp, beliefs, _short(mdp.name)), path)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: write_csv(path, BELIEF_COLUMNS, belief_rows(beliefs, mdp)),
    }
    return file_reply(f"{_stem(world)}-learners", what, writers)


def belief_rows(beliefs: Sequence[Belief], mdp: TabularMDP) -> Iterator[tuple[Any, ...]]:
    """A row per learner and pair, in the columns of ``BELIEF_COLUMNS``; empty where a learner has no such thing."""
    states, actions = state_labels(mdp), mdp.pairs.action_names
    for belief in beliefs:
        played = set(belief.policy.tolist())
        for k, (s, a) in enumerate(zip(mdp.pairs.state.tolist(), mdp.pairs.action.tolist(), strict=True)):
            unsure = "" if belief.unsure is None else float(belief.unsure[k])
            stands_for = "" if belief.stands_for is None else int(belief.stands_for[k])
            name = str(actions[a]) if actions else a
            seen = (int(belief.visits[k]), int(k in played), unsure, stands_for, int(belief.truth.label[k]))
            yield (belief.label, belief.t, k, states[s], name, *seen)


def draw_curves(
    groups: list[Group],
    title: str,
    path: Path,
    log: bool,
    measure: str = "regret",
    points: Mapping[str, float] | None = None,
) -> None:
    """Draw and save a figure of curves."""
    from equirl.lab.plots.curve_figures import plot_curves
    from equirl.lab.plots.style import save_all

    figure = plot_curves(groups, measure, title=_short(title), log=log, points=points)
    save_all(figure, path.with_suffix(""), [path.suffix[1:]])


def _short(title: str) -> str:
    return title if len(title) <= 60 else title.partition(":")[0]


def file_reply(stem: str, what: str, writers: Mapping[str, Writer]) -> dict[str, Any]:
    """A reply with a file."""
    if what not in writers:
        raise ValueError(unknown_name("file to take away", what, writers))
    name = f"{stem}.{what}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        writers[what](path)
        content = path.read_bytes()
    return {"kind": "file", "name": name, "type": KINDS[what], "base64": base64.b64encode(content).decode()}


def _stem(asked: Any) -> str:
    return plain_name(Path(asked["file"]).stem if "file" in asked else asked["text"].partition(":")[0])


def plain_name(text: str) -> str:
    """A text as part of a file's name: letters, digits, dots and dashes.

    Examples
    --------
    >>> plain_name("rivers, riverswim:n_states=5")
    'rivers-riverswim-n_states-5'
    """
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:60] or "explored"
