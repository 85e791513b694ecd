"""The desk for what takes longer: the optimal gain of a world and its diameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from equirl.lab.explore.asked_world import asked_world
from equirl.lab.explore.packing import packed
from equirl.solving import IllConditioned, diameter, solve

DIAMETER_STATES = 500  # up to here the diameter is found unasked
LARGEST_DIAMETER = 3_000  # from here on it is refused


class FactsDesk:
    """Answers ``facts``: first the gain and an optimal policy, then the diameter."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files

    def pause(self) -> float | None:
        """Nothing happens here unasked."""
        return None

    def tick(self) -> Iterator[dict[str, Any]]:
        """Nothing happens here unasked."""
        return iter(())

    def handle(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Answer one message, in two parts."""
        mdp = asked_world(message.get("world"), self.files)
        best = solve(mdp)
        scale, shift = mdp.reward_map
        yield {
            "kind": "facts", "part": "gain", "gain": best.gain, "accuracy": best.accuracy, "span": best.span,
            "converged": best.converged, "own_gain": scale * best.gain + shift, "policy": packed(best.policy_pair),
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

    def complain(self, message: dict[str, Any], error: Exception) -> dict[str, Any]:
        """Nothing more to say of an error."""
        return {}
