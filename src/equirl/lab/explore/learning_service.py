"""Learners at work for a page: several side by side, played, paused and stepped as it asks, and files about them.

All runs go on together: the one that is furthest behind plays next, so learners are compared at the same time step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equirl.files.whole_files import write_csv
from equirl.lab.explore.messages import Message, Reply, Service, mean_and_half, packed
from equirl.lab.explore.page_limits import MOST_LEARNING_PAIRS, MOST_STEPS
from equirl.lab.explore.page_requests import RunRequest, requested_runs, requested_world
from equirl.lab.explore.takeaway import (
    Writer,
    draw_curves,
    file_reply,
    file_stem,
    python_snippet,
    short_title,
    study_text,
)
from equirl.lab.plots.canvas import save_figure
from equirl.lab.plots.learner_figures import Belief, draw_learners
from equirl.lab.plots.sheets import state_labels
from equirl.lab.studies.rehearsals import playing
from equirl.lab.studies.summary import Group
from equirl.lab.studies.tidy_table import TidyTable
from equirl.model import TabularMDP
from equirl.numerics.compiling import hooked
from equirl.numerics.preparing import prepare
from equirl.simulation import Curves, LiveRun
from equirl.solving import AVERAGE_REWARD
from equirl.structure import Partition, equivalence_classes, match_classes, misclustering_ratio
from equirl.words.checking import between, whole_number

SLICE = 0.04  # seconds of play between two looks at messages
FRAME = 0.1  # seconds between two frames, at least
MOST_CREDIT = 2  # frames that may be under way to a page
FASTEST = 1e9  # steps per second: as fast as it goes
UNSURE_SECONDS = 0.4  # between two looks at how unsure a learner is: a spread takes draws
BELIEF_COLUMNS = (
    "learner", "t", "pair", "state", "action", "visits", "in_policy", "unsure", "stands_for", "true_class",
)  # fmt: skip


class Believed(NamedTuple):
    """The classes that a learner believes in, beside the true ones."""

    found: Partition
    truth: Partition
    stands_for: np.ndarray  # (M,) the true class that the pair's own stands for, or -1
    wrong: float  # the share of pairs outside the largest true part of their class
    rewards: bool  # whether rewards count in both


class LearnerView:
    """One run watched: what is sent of it, and what was sent already."""

    def __init__(self, run: LiveRun, mdp: TabularMDP, truth: Callable[[bool], Partition]) -> None:
        self.run, self.true_classes = run, truth  # the true classes, by whether rewards count
        self.visits = np.zeros(mdp.n_pairs, np.int64)
        self._episodes_shown = -1
        self._unsure_at = 0.0

    def advance(self, until: int) -> None:
        """Play a stretch, and where the learner decides at every step not beyond a time."""
        np.add.at(self.visits, self.run.advance(most=max(1, until - self.run.steps)), 1)

    def describe(self, final: bool) -> Reply:
        """What is new since last time, ready for JSON."""
        agent, run = self.run.agent, self.run
        shown: Reply = {
            "t": run.steps, "episodes": agent.n_episodes, "visits": packed(self.visits),
            "policy": packed(run.policy),
        }  # fmt: skip
        fresh = agent.n_episodes != self._episodes_shown
        if run.steps and (fresh or final):
            shown["classes"] = self._classes()
        if run.steps and (final or (fresh and time.monotonic() - self._unsure_at > UNSURE_SECONDS)):
            unsure = agent.beliefs.uncertainty()
            shown["width"] = None if unsure is None else packed(unsure, "f4")
            self._unsure_at = time.monotonic()
        if run.steps:
            self._episodes_shown = agent.n_episodes
        return shown

    def belief(self, label: str) -> Belief:
        """All of it at once, as a figure shows it."""
        run, agent = self.run, self.run.agent
        believed = self._believed() if run.steps else None
        truth = self.true_classes(True) if believed is None else believed.truth
        return Belief(
            label, run.steps, self.visits, run.policy, agent.beliefs.uncertainty() if run.steps else None,
            agent.beliefs.unsure_by,
            None if believed is None else believed.stands_for, 0 if believed is None else believed.found.n_classes,
            truth,
        )  # fmt: skip

    def _classes(self) -> Reply | None:
        """The classes in force: by pair the true class that its own stands for, or -1 - its own number."""
        believed = self._believed()
        if believed is None:
            return None
        found, truth = believed.found, believed.truth
        shown = np.where(believed.stands_for >= 0, believed.stands_for, -1 - found.label)
        return {
            "shown": packed(shown), "n": found.n_classes, "true": packed(truth.label), "n_true": truth.n_classes,
            "wrong": believed.wrong, "rewards": believed.rewards,
        }  # fmt: skip

    def _believed(self) -> Believed | None:
        formed = self.run.agent.beliefs.classes()
        if formed is None:
            return None
        found, truth = formed.partition, self.true_classes(formed.compares_rewards)
        stands_for = match_classes(found, truth)[found.label]
        wrong = misclustering_ratio(found, truth, formed.seen.visits)
        return Believed(found, truth, stands_for, wrong, formed.compares_rewards)


class LiveRuns:
    """Learners being played in one world."""

    def __init__(self, mdp: TabularMDP, asked: RunRequest) -> None:
        self.mdp, self.asked = mdp, asked
        gain = AVERAGE_REWARD.optimum(mdp)

        @cache
        def true_classes(rewards: bool) -> Partition:
            return equivalence_classes(mdp, rewards=rewards)

        self.views: dict[str, list[LearnerView]] = {}
        for label, (name, settings) in asked.learners.items():
            LiveRun(mdp, name, 1, unit_gain=gain, settings=settings).finish()  # what must be compiled is compiled now
            runs = (
                LiveRun(
                    mdp, name, asked.horizon, seed, unit_gain=gain, world_seed=seed if asked.common else None,
                    settings=settings,
                )
                for seed in asked.seeds
            )  # fmt: skip
            self.views[label] = [LearnerView(run, mdp, true_classes) for run in runs]
        self.everyone = [view for views in self.views.values() for view in views]

    @property
    def reached(self) -> int:
        """The time step that all runs have reached."""
        return min(view.run.steps for view in self.everyone)

    @property
    def done(self) -> bool:
        return self.reached >= self.asked.horizon

    def play(self, until: int, seconds: float) -> bool:
        """Play runs that are behind ``until``, the last first, for about so many seconds; whether any was behind."""
        end = time.monotonic() + seconds
        behind = [view for view in self.everyone if view.run.steps < until]
        while behind and time.monotonic() < end:
            min(behind, key=lambda view: view.run.steps).advance(until)
            behind = [view for view in behind if view.run.steps < until]
        return bool(behind)

    def step(self) -> None:
        """Play the run shown of each learner to its next plan, or a 200th of the horizon where it makes none."""
        for first, *others in self.views.values():
            run, episodes = first.run, first.run.agent.n_episodes
            most = run.steps + max(1, self.asked.horizon // 200)
            first.advance(most)
            while run.goes_on and run.agent.n_episodes == episodes and run.steps < most:
                first.advance(most)
            for view in others:
                while view.run.steps < run.steps:
                    view.advance(run.steps)

    def curves(self) -> dict[str, Curves]:
        """The curves of every learner up to the last checkpoint that all runs passed."""
        found = {label: [view.run.curves() for view in views] for label, views in self.views.items()}
        n = min(len(curves.t) for runs in found.values() for curves in runs)
        return {label: Curves.stack([_cut(curves, n) for curves in runs]) for label, runs in found.items()}


def _cut(curves: Curves, n: int) -> Curves:
    return Curves(curves.t[:n], {name: rows[:, :n] for name, rows in curves.values.items()})


class LearningService(Service):
    """Answers ``learn``, ``play``, ``pause``, ``step``, ``ack`` and ``take``, and sends frames unasked."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = files
        self.live: LiveRuns | None = None
        self.world: Any = None
        self.playing, self.stale, self.credit = False, False, MOST_CREDIT
        self.speed, self.until, self.target, self.clock, self.framed = FASTEST, MOST_STEPS, 0.0, 0.0, 0.0

    def pause(self) -> float | None:
        if self.live is None or not (self.playing or (self.stale and self.credit)):
            return None
        return 0.0 if self.playing and self.live.reached < self.target else 0.02

    def tick(self) -> Iterator[Reply]:
        """Play a slice; send a frame where one is due and the page has taken the last."""
        live = self.live
        assert live is not None
        if self.playing:
            now = time.monotonic()
            last = min(self.until, live.asked.horizon)
            self.target = min(last, self.target + self.speed * (now - self.clock))
            self.clock = now
            before = live.reached
            live.play(int(self.target), SLICE)
            self.stale = self.stale or live.reached > before
            if live.reached >= last:
                self.playing, self.stale = False, True
        due = time.monotonic() - self.framed >= FRAME or not self.playing
        if self.stale and due and self.credit:
            yield self._frame(live)

    def handle(self, message: Message) -> Iterator[Reply]:
        do = message["do"]
        if do == "ack":
            self.credit = min(MOST_CREDIT, self.credit + 1)
            return
        if do == "learn":
            yield self._start(message)
            return
        if self.live is None:
            raise ValueError("choose learners and start them first")
        if do == "take":
            yield self._taken(message, self.live)
            return
        if do == "play":
            self._play(message, self.live)
        elif do == "step":
            self.live.step()
            self.playing, self.target = False, float(self.live.reached)
        else:
            self.playing = False
        self.stale = True
        yield {"kind": "going", "playing": self.playing}

    def problem_fields(self, message: Message, error: Exception) -> Reply:
        """Nothing more; what was under way stops."""
        self.playing = False
        return {}

    def _tell_ready(self, ready: int, total: int) -> None:
        self.tell({"kind": "preparing", "ready": ready, "total": total})

    def _start(self, message: Message) -> Reply:
        self.live, self.playing = None, False
        asked, world = requested_runs(message), message.get("world")
        mdp = requested_world(world, self.files)
        if mdp.n_pairs > MOST_LEARNING_PAIRS:
            raise ValueError(
                f"learners play here in worlds of up to {MOST_LEARNING_PAIRS:,} pairs; this one has {mdp.n_pairs:,}. "
                "For larger ones: equirl run, or a study"
            )
        names = [name for name, _ in asked.learners.values()]
        with hooked(missing=lambda: prepare(playing(names), self._tell_ready)):
            self.live, self.world = LiveRuns(mdp, asked), world
        self.target, self.stale = 0.0, True
        return {
            "kind": "learning", "labels": list(asked.learners), "names": names,
            "unsure_by": [views[0].run.agent.beliefs.unsure_by for views in self.live.views.values()],
            "horizon": asked.horizon, "seeds": [asked.seeds[0], asked.seeds[-1]], "runs": len(asked.seeds),
        }  # fmt: skip

    def _play(self, message: Message, live: LiveRuns) -> None:
        self.speed = between("speed", message.get("speed", FASTEST), least=1, most=FASTEST)
        self.until = whole_number("until", message.get("until", MOST_STEPS), most=MOST_STEPS)
        self.playing, self.clock, self.target = True, time.monotonic(), float(live.reached)

    def _taken(self, message: Message, now: LiveRuns) -> Reply:
        what, measure = str(message.get("what")), str(message.get("measure", "regret"))
        if message.get("of") == "learners":
            beliefs = [views[0].belief(label) for label, views in now.views.items()]
            return belief_file(beliefs, now.mdp, self.world, what)
        log = message.get("log") is True
        return curve_file(now, self.world, what, measure, log)

    def _frame(self, live: LiveRuns) -> Reply:
        """What all learners look like now, and their curves."""
        self.credit -= 1
        self.stale, self.framed = False, time.monotonic()
        learners = [views[0].describe(final=not self.playing) for views in live.views.values()]
        curves, measures = live.curves(), {}
        for shown, (label, found) in zip(learners, curves.items(), strict=True):
            if len(found.t):
                shown["regret"] = float(found["regret"][0, -1])  # of the run that is shown
            measures[label] = {
                name: mean_and_half(found, name)
                for name in ("regret", "pseudo_regret", "reward", "n_classes")
                if name in found and len(found.t)
            }
        t = next(iter(curves.values())).t.tolist()
        return {
            "kind": "frame", "t": live.reached, "learners": learners, "times": t, "curves": measures,
            "playing": self.playing, "done": live.done,
        }  # fmt: skip


def curve_file(live: LiveRuns, world: Any, what: str, measure: str, log: bool) -> Reply:
    """A file about learners side by side."""
    curves, mdp, asked = live.curves(), live.mdp, live.asked
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
    return file_reply(file_stem(world) if what == "npz" else f"{file_stem(world)}-learning", what, writers)


def belief_file(beliefs: Sequence[Belief], mdp: TabularMDP, world: Any, what: str) -> Reply:
    """A file about what learners have seen and believe, at the time on screen."""
    if not any(belief.t for belief in beliefs):
        raise ValueError("nothing is played yet; let the learners play a little")

    def draw(path: Path) -> None:
        save_figure(draw_learners(mdp, beliefs, short_title(mdp.name)), path)

    writers: dict[str, Writer] = {
        "svg": draw,
        "png": draw,
        "csv": lambda path: write_csv(path, BELIEF_COLUMNS, belief_rows(beliefs, mdp)),
    }
    return file_reply(f"{file_stem(world)}-learners", what, writers)


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
