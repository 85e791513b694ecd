"""Worlds for a page: what it draws of one, its slower facts, its pairs looked at one by one, and files about it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.whole_files import write_csv
from equirl.lab.explore.forms import catalogue
from equirl.lab.explore.messages import Message, Reply, Service, packed
from equirl.lab.explore.page_requests import blamed_parameter, requested_learner, requested_world
from equirl.lab.explore.state_grid import state_grid
from equirl.lab.explore.takeaway import Writer, file_reply, file_stem, python_snippet
from equirl.lab.plots.canvas import save_figure
from equirl.lab.plots.maps import draw_classes
from equirl.lab.plots.sheets import map_sheet
from equirl.model import TabularMDP
from equirl.solving import IllConditioned, chain_kind, diameter, solve
from equirl.structure import Partition, Profiles, equivalence_classes, profiles

MOST_NODES = 300  # states of a node-link picture
MOST_EDGES = 20_000  # successors drawn in it
MOST_NAMES = 5_000  # states whose names are sent along
MOST_DESCRIBED = 60  # classes in words
DIAMETER_STATES = 500  # up to here the diameter is found unasked
LARGEST_DIAMETER = 3_000  # from here on it is refused
PAIR_COLUMNS = ("pair", "state", "action", "class", "mean_reward", "profile")


class WorldView:
    def __init__(self, mdp: TabularMDP, rewards: bool = True) -> None:
        self.mdp, self.rewards = mdp, rewards
        self.partition: Partition = equivalence_classes(mdp, rewards=rewards)
        self.on_map = map_sheet(mdp) is not None
        self.grid = None if self.on_map else state_grid(mdp.pairs.state_names)

    @cached_property
    def profiles(self) -> Profiles:
        return profiles(self.mdp)

    def describe(self) -> Reply:
        """Everything a page draws a world from, ready for JSON."""
        mdp, part, pairs = self.mdp, self.partition, self.mdp.pairs
        return {
            "name": mdp.name, "S": mdp.n_states, "M": mdp.n_pairs, "C": part.n_classes, "rewards": self.rewards,
            "chain": chain_kind(mdp), "law": mdp.reward_law, "reward_map": list(mdp.reward_map),
            "actions": list(pairs.action_names or [f"action {a}" for a in range(int(pairs.action.max()) + 1)]),
            "ptr": packed(pairs.ptr), "action": packed(pairs.action), "label": packed(part.label),
            "sizes": part.sizes.tolist(), "classes": self._classes(), "names": self._names(), "map": self._map(),
            "starts": np.flatnonzero(mdp.initial)[:100].tolist(), "edges": self._edges(),
        }  # fmt: skip

    def pair(self, number: Any) -> Reply:
        """One pair: what it is called, its class, its profile and where each mass goes."""
        mdp, part, table = self.mdp, self.partition, self.profiles
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < mdp.n_pairs:
            raise ValueError(f"there is no pair {number!r}: pairs are 0 to {mdp.n_pairs - 1}")
        label, (scale, shift) = int(part.label[number]), mdp.reward_map
        order, masses = table.order(number).tolist(), table.profile(number).tolist()
        mean = float(mdp.r_mean[number])
        return {
            "pair": number, "state": self._state(int(mdp.pairs.state[number])), "action": self._action(number),
            "label": label, "size": int(part.sizes[label]),
            "goes": [{"state": s, "name": self._state(s), "mass": p} for s, p in zip(order, masses, strict=True)],
            "mean": mean, "reward": scale * mean + shift,
        }  # fmt: skip

    def pair_rows(self) -> list[tuple[Any, ...]]:
        """A row per pair, in the columns of ``PAIR_COLUMNS``."""
        mdp, pairs = self.mdp, self.mdp.pairs
        rows = []
        for k in range(mdp.n_pairs):
            profile = " ".join(f"{p:.6g}" for p in self.profiles.profile(k).tolist())
            state = self._state(int(pairs.state[k]))
            label, mean = int(self.partition.label[k]), float(mdp.r_mean[k])
            rows.append((k, state, self._action(k), label, mean, profile))
        return rows

    def _profile(self, pair: int) -> np.ndarray:
        """Of one pair alone."""
        rows = self.mdp.rows
        return -np.sort(-rows.prob[rows.ptr[pair] : rows.ptr[pair + 1]])

    def _state(self, state: int) -> str:
        names = self.mdp.pairs.state_names
        return str(names[state] if names else state)

    def _action(self, pair: int) -> str:
        names, action = self.mdp.pairs.action_names, int(self.mdp.pairs.action[pair])
        return str(names[action]) if names else f"action {action}"

    def _names(self) -> list[str] | None:
        names = self.mdp.pairs.state_names
        return list(map(str, names)) if names and len(names) <= MOST_NAMES else None

    def _classes(self) -> list[dict[str, Any]]:
        """The largest classes: size, and the profile and mean reward of a first pair."""
        part = self.partition
        first = np.unique(part.label, return_index=True)[1]
        found = []
        for c in np.argsort(-part.sizes, kind="stable")[:MOST_DESCRIBED].tolist():
            profile = self._profile(int(first[c]))
            shown = [round(p, 6) for p in profile[:6].tolist()]
            mean = float(self.mdp.r_mean[first[c]])
            found.append({"label": c, "profile": shown, "more": len(profile) > 6, "mean": mean})
        return found

    def _map(self) -> dict[str, Any] | None:
        if self.grid is not None:
            return {"rows": self.grid.rows, "cell": packed(self.grid.cell), "words": self.grid.words}
        if not self.on_map or self.mdp.picture is None:
            return None
        return {"rows": list(self.mdp.picture.rows), "cell": packed(self.mdp.picture.cell)}

    def _edges(self) -> dict[str, Any] | None:
        """All successors, for a picture of nodes and links where that is small enough."""
        rows = self.mdp.rows
        if self.on_map or self.grid or self.mdp.n_states > MOST_NODES or len(rows.succ) > MOST_EDGES:
            return None
        return {"ptr": packed(rows.ptr), "succ": packed(rows.succ), "prob": packed(rows.prob, "f4")}


class WorldService(Service):
    """Answers ``catalogue``, ``world``, ``pair``, ``settings`` and ``take``."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files
        self.asked: Any = None
        self.view: WorldView | None = None

    def handle(self, message: Message) -> Iterator[Reply]:
        do = message["do"]
        if do == "catalogue":
            yield {"kind": "catalogue", **catalogue(), "files": sorted(self.files)}
        elif do == "settings":
            requested_learner(message.get("learner"))
            yield {"kind": "settings"}
        elif do == "world":
            yield self._show(message)
        elif self.view is None:
            raise ValueError("ask for a world first")
        elif do == "pair":
            yield {"kind": "pair", **self.view.pair(message.get("pair"))}
        else:
            yield class_file(self.view, self.asked, str(message.get("what")))

    def problem_fields(self, message: Message, error: Exception) -> Reply:
        """Which parameter an error blames."""
        return {"field": blamed_parameter(message.get("world"), str(error))} if message.get("do") == "world" else {}

    def _show(self, message: Message) -> Reply:
        started = time.process_time()
        asked, rewards = message.get("world"), message.get("rewards", True) is not False
        if self.view is None or asked != self.asked or rewards != self.view.rewards:
            self.view = None
            self.view = WorldView(requested_world(asked, self.files), rewards)
            self.asked = asked
        described = self.view.describe()
        return {"kind": "world", **described, "asked": asked, "seconds": time.process_time() - started}


def class_file(view: WorldView, asked: Any, what: str) -> Reply:
    def draw(path: Path) -> None:
        save_figure(draw_classes(view.mdp, view.partition), path)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: write_csv(path, PAIR_COLUMNS, view.pair_rows()),
        "npz": lambda path: view.mdp.save(path),
        "py": lambda path: path.write_text(python_snippet(asked, rewards=view.rewards), encoding="utf-8"),
    }
    return file_reply(file_stem(asked), what, writers)


class FactsService(Service):
    """Answers ``facts``: first the gain and an optimal policy, then the diameter."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files

    def handle(self, message: Message) -> Iterator[Reply]:
        mdp = requested_world(message.get("world"), self.files)
        best = solve(mdp)
        yield {
            "kind": "facts", "part": "gain", "gain": best.unit_gain, "accuracy": best.unit_accuracy,
            "span": best.unit_span, "converged": best.converged, "own_gain": best.gain,
            "policy": packed(best.policy_pair),
        }  # fmt: skip
        most = LARGEST_DIAMETER if message.get("diameter") is True else DIAMETER_STATES
        if mdp.n_states > most:
            offered = mdp.n_states <= LARGEST_DIAMETER
            why = f"{mdp.n_states:,} states; computed where asked for" if offered else "too many states for this page"
            yield {"kind": "facts", "part": "diameter", "diameter": None, "why": why, "offered": offered}
            return
        try:
            found, why = diameter(mdp, max_states=most), ""
        except IllConditioned as error:
            found, why = None, str(error)
        yield {"kind": "facts", "part": "diameter", "diameter": found, "why": why, "offered": False}
