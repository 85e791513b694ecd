"""The desk for learners at work: several side by side, played, paused and stepped as the page asks.

All runs go on together: the one that is furthest behind plays next, so learners are compared at the same time step.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from equirl.lab.explore.asked_runs import AskedRuns, asked_runs
from equirl.lab.explore.asked_world import asked_world
from equirl.lab.explore.learner_view import LearnerView, Truth
from equirl.lab.explore.page_limits import MOST_LEARNING_PAIRS, MOST_STEPS
from equirl.lab.explore.takeaway import belief_file, curve_file
from equirl.model import TabularMDP
from equirl.simulation import Curves, LiveRun, simulate
from equirl.solving import AVERAGE_REWARD
from equirl.words.checking import between, whole_number

SLICE = 0.04  # seconds of play between two looks at messages
FRAME = 0.1  # seconds between two frames, at least
MOST_CREDIT = 2  # frames that may be under way to a page
FASTEST = 1e9  # steps per second: as fast as it goes

Reply = dict[str, Any]


class Comparison:
    """Learners being played in one world."""

    def __init__(self, mdp: TabularMDP, asked: AskedRuns) -> None:
        self.mdp, self.asked = mdp, asked
        gain, truth = AVERAGE_REWARD.optimum(mdp), Truth(mdp)
        self.views: dict[str, list[LearnerView]] = {}
        for label, (name, settings) in asked.learners.items():
            simulate(mdp, name, 1, gain=gain, **settings)  # what must be compiled is compiled now
            runs = (
                LiveRun(
                    mdp, name, asked.horizon, seed, gain=gain, world_seed=seed if asked.common else None,
                    settings=settings,
                )
                for seed in asked.seeds
            )  # fmt: skip
            self.views[label] = [LearnerView(run, mdp, truth) for run in runs]
        self.everyone = [view for views in self.views.values() for view in views]

    @property
    def reached(self) -> int:
        """The time step that all runs have reached."""
        return min(view.run.steps for view in self.everyone)

    @property
    def done(self) -> bool:
        """Whether all runs are at the horizon."""
        return self.reached >= self.asked.horizon

    def play(self, until: int, seconds: float) -> bool:
        """Play runs that are behind ``until``, the last first, for about so many seconds; whether any was behind."""
        end = time.monotonic() + seconds
        behind = [view for view in self.everyone if view.run.steps < until]
        while behind and time.monotonic() < end:
            min(behind, key=lambda view: view.run.steps).advance()
            behind = [view for view in behind if view.run.steps < until]
        return bool(behind)

    def step(self) -> None:
        """Play the run shown of each learner to its next plan, or a 200th of the horizon where it makes none."""
        for first, *others in self.views.values():
            run, episodes = first.run, first.run.learner.n_episodes
            most = run.steps + max(1, self.asked.horizon // 200)
            first.advance()
            while run.goes_on and run.learner.n_episodes == episodes and run.steps < most:
                first.advance()
            for view in others:
                while view.run.steps < run.steps:
                    view.advance()

    def curves(self) -> dict[str, Curves]:
        """The curves of every learner up to the last checkpoint that all runs passed."""
        found = {label: [view.run.curves() for view in views] for label, views in self.views.items()}
        n = min(len(curves.t) for runs in found.values() for curves in runs)
        return {label: Curves.stack([_cut(curves, n) for curves in runs]) for label, runs in found.items()}


def _cut(curves: Curves, n: int) -> Curves:
    return Curves(curves.t[:n], {name: rows[:, :n] for name, rows in curves.values.items()})


class LearningDesk:
    """Answers ``learn``, ``play``, ``pause``, ``step``, ``ack`` and ``take``, and sends frames unasked."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files
        self.comparison: Comparison | None = None
        self.asked_world: Any = None
        self.playing, self.stale, self.credit = False, False, MOST_CREDIT
        self.speed, self.until, self.target, self.clock, self.framed = FASTEST, MOST_STEPS, 0.0, 0.0, 0.0

    def pause(self) -> float | None:
        """How long to wait for a message before the next :meth:`tick`; None: for ever."""
        if self.comparison is None or not (self.playing or (self.stale and self.credit)):
            return None
        return 0.0 if self.playing and self.comparison.reached < self.target else 0.02

    def tick(self) -> Iterator[Reply]:
        """Play a slice; send a frame where one is due and the page has taken the last."""
        comparison = self.comparison
        assert comparison is not None
        if self.playing:
            now = time.monotonic()
            last = min(self.until, comparison.asked.horizon)
            self.target = min(last, self.target + self.speed * (now - self.clock))
            self.clock = now
            before = comparison.reached
            comparison.play(int(self.target), SLICE)
            self.stale = self.stale or comparison.reached > before
            if comparison.reached >= last:
                self.playing, self.stale = False, True
        due = time.monotonic() - self.framed >= FRAME or not self.playing
        if self.stale and due and self.credit:
            yield self._frame(comparison)

    def handle(self, message: dict[str, Any]) -> Iterator[Reply]:
        """Answer one message."""
        do = message["do"]
        if do == "ack":
            self.credit = min(MOST_CREDIT, self.credit + 1)
            return
        if do == "learn":
            yield self._start(message)
            return
        if self.comparison is None:
            raise ValueError("choose learners and start them first")
        if do == "take":
            yield self._taken(message, self.comparison)
            return
        if do == "play":
            self._play(message, self.comparison)
        elif do == "step":
            self.comparison.step()
            self.playing, self.target = False, float(self.comparison.reached)
        else:
            self.playing = False
        self.stale = True
        yield {"kind": "going", "playing": self.playing}

    def complain(self, message: dict[str, Any], error: Exception) -> Reply:
        """Nothing more to say of an error; what was under way stops."""
        self.playing = False
        return {}

    def _start(self, message: dict[str, Any]) -> Reply:
        self.comparison, self.playing = None, False
        asked, world = asked_runs(message), message.get("world")
        mdp = asked_world(world, self.files)
        if mdp.n_pairs > MOST_LEARNING_PAIRS:
            raise ValueError(
                f"learners play here in worlds of up to {MOST_LEARNING_PAIRS:,} pairs; this one has {mdp.n_pairs:,}. "
                "For larger ones: equirl run, or a study"
            )
        self.comparison, self.asked_world = Comparison(mdp, asked), world
        self.target, self.stale = 0.0, True
        return {
            "kind": "learning", "labels": list(asked.learners), "names": [name for name, _ in asked.learners.values()],
            "unsure_by": [views[0].run.learner.beliefs.unsure_by for views in self.comparison.views.values()],
            "horizon": asked.horizon, "seeds": [asked.seeds[0], asked.seeds[-1]], "runs": len(asked.seeds),
        }  # fmt: skip

    def _play(self, message: dict[str, Any], comparison: Comparison) -> None:
        self.speed = between("speed", message.get("speed", FASTEST), least=1, most=FASTEST)
        self.until = whole_number("until", message.get("until", MOST_STEPS), most=MOST_STEPS)
        self.playing, self.clock, self.target = True, time.monotonic(), float(comparison.reached)

    def _taken(self, message: dict[str, Any], now: Comparison) -> Reply:
        what, measure = str(message.get("what")), str(message.get("measure", "regret"))
        if message.get("of") == "learners":
            beliefs = [views[0].belief(label) for label, views in now.views.items()]
            return belief_file(beliefs, now.mdp, self.asked_world, what)
        log = message.get("log") is True
        return curve_file(now.curves(), now.mdp, self.asked_world, now.asked, what, measure=measure, log=log)

    def _frame(self, comparison: Comparison) -> Reply:
        """What all learners look like now, and their curves."""
        self.credit -= 1
        self.stale, self.framed = False, time.monotonic()
        learners = [views[0].describe(final=not self.playing) for views in comparison.views.values()]
        curves, measures = comparison.curves(), {}
        for told, (label, found) in zip(learners, curves.items(), strict=True):
            if len(found.t):
                told["regret"] = float(found["regret"][0, -1])  # of the run that is shown
            measures[label] = {
                name: {"mean": found.mean(name).tolist(), "half": _plain(found.half_width(name))}
                for name in ("regret", "pseudo_regret", "reward", "n_classes")
                if name in found and len(found.t)
            }
        t = next(iter(curves.values())).t.tolist()
        return {
            "kind": "frame", "t": comparison.reached, "learners": learners, "times": t, "curves": measures,
            "playing": self.playing, "done": comparison.done,
        }  # fmt: skip


def _plain(half: np.ndarray) -> list[float] | None:
    """Half-widths, or nothing where a single run has none."""
    return half.tolist() if np.isfinite(half).all() else None
