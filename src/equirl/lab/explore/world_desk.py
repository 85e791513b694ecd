"""The desk for worlds: builds the one a page asks for, finds its classes, and looks at single pairs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from equirl.lab.explore.asked_world import asked_world, blamed_parameter
from equirl.lab.explore.forms import catalogue
from equirl.lab.explore.takeaway import class_file
from equirl.lab.explore.world_view import WorldView
from equirl.learners import make_settings

Reply = dict[str, Any]


class WorldDesk:
    """Answers ``catalogue``, ``world``, ``pair``, ``settings`` and ``take``."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files
        self.asked: Any = None
        self.view: WorldView | None = None

    def pause(self) -> float | None:
        """Nothing happens here unasked."""
        return None

    def tick(self) -> Iterator[Reply]:
        """Nothing happens here unasked."""
        return iter(())

    def handle(self, message: dict[str, Any]) -> Iterator[Reply]:
        """Answer one message."""
        do = message["do"]
        if do == "catalogue":
            yield {"kind": "catalogue", **catalogue(), "files": sorted(self.files)}
        elif do == "settings":
            _check_settings(message)
            yield {"kind": "settings"}
        elif do == "world":
            yield self._show(message)
        elif self.view is None:
            raise ValueError("ask for a world first")
        elif do == "pair":
            yield {"kind": "pair", **self.view.pair(message.get("pair"))}  # type: ignore[arg-type]
        else:
            yield class_file(self.view, self.asked, str(message.get("what")))

    def complain(self, message: dict[str, Any], error: Exception) -> Reply:
        """What else to say of an error: which parameter it blames."""
        return {"field": blamed_parameter(message.get("world"), str(error))} if message.get("do") == "world" else {}

    def _show(self, message: dict[str, Any]) -> Reply:
        started = time.process_time()
        asked, rewards = message.get("world"), message.get("rewards", True) is not False
        if self.view is None or asked != self.asked or rewards != self.view.rewards:
            self.view = None
            self.view = WorldView(asked_world(asked, self.files), rewards)
            self.asked = asked
        described = self.view.describe()
        return {"kind": "world", **described, "asked": asked, "seconds": time.process_time() - started}


def _check_settings(message: dict[str, Any]) -> None:
    """An error where a learner has no such setting or value."""
    from equirl.lab.explore.asked_runs import asked_learner

    name, settings = asked_learner(message.get("learner"))
    make_settings(name, **settings)
