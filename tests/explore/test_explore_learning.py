"""Learners on the page: the numbers of simulate, of the command line, and of the code and study taken away."""

from __future__ import annotations

import base64
import csv
import io
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import equirl as eq
from equirl.lab.cli import app
from equirl.lab.explore import learning_service
from equirl.lab.explore.learning_service import MOST_CREDIT, LearningService
from equirl.lab.explore.page_requests import requested_runs
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.runs import execute
from equirl.lab.studies.study_file import parse_study
from equirl.structure import misclustering_ratio
from explore_kit import unpacked

WORLD = {"text": "ergodic-riverswim:n_states=5,reward_law=bernoulli"}
LEARNERS = [{"name": "c-psrl"}, {"name": "c-ucrl", "settings": "balance=2, delta=0.1"}, {"name": "imed-rl"}]
ASKED = {"world": WORLD, "learners": LEARNERS, "horizon": 600, "seed": 3, "runs": 2}


def started(**changes):
    service = LearningService({})
    replies = list(service.handle({"do": "learn", **ASKED, **changes}))
    assert replies[0]["kind"] == "learning"
    return service


def test_what_must_be_compiled_is_told_one_by_one(monkeypatch):
    def missing_once(task, report):
        assert task.words == ("c-psrl", "c-ucrl", "imed-rl")
        report(1, 2)
        report(2, 2)

    class AtOnce:
        def __init__(self, missing):
            missing()

        __enter__ = __exit__ = lambda *_: None

    told = []
    monkeypatch.setattr(LearningService, "tell", told.append, raising=True)
    monkeypatch.setattr(learning_service, "prepare", missing_once)
    monkeypatch.setattr(learning_service, "hooked", AtOnce)
    started(horizon=10, runs=1)
    assert told == [{"kind": "preparing", "ready": ready, "total": 2} for ready in (1, 2)]


def played(service, **options):
    """All frames until the service rests."""
    list(service.handle({"do": "play", **options}))
    return drained(service)


def drained(service):
    frames = []
    while service.pause() is not None:
        frames += list(service.tick())
        list(service.handle({"do": "ack"}))
    return frames


def taken(service, what, **fields):
    file = next(service.handle({"do": "take", "what": what, **fields}))
    return base64.b64decode(file["base64"])


@pytest.fixture(scope="module")
def service():
    found = started()
    found.last = played(found)[-1]
    return found


def regret(curves, label):
    return np.array(curves["curves"][label]["regret"]["mean"])


def test_the_curves_on_screen_are_those_of_simulate(service):
    mdp = eq.load_world(WORLD["text"])
    assert service.last["done"]
    for entry, label in zip(LEARNERS, service.last["curves"], strict=True):
        settings = {"balance": 2, "delta": 0.1} if "settings" in entry else {}
        runs = [eq.simulate(mdp, entry["name"], 600, seed=seed, **settings) for seed in (3, 4)]
        np.testing.assert_array_equal(service.last["times"], runs[0].t)
        np.testing.assert_array_equal(regret(service.last, label), np.mean([run.regret for run in runs], axis=0))


def test_the_numbers_are_those_of_the_command_line(tmp_path):
    service = started(learners=[{"name": "c-psrl"}, {"name": "ucrl2-l"}], runs=1)
    shown = played(service)[-1]
    command = ["run", WORLD["text"], "c-psrl,ucrl2-l", "--horizon", "600", "--runs", "1", "--seed", "3"]
    done = CliRunner().invoke(app, [*command, "--csv", str(tmp_path / "curves.csv")])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO((tmp_path / "curves.csv").read_text())))
    for label in ("c-psrl", "ucrl2-l"):
        told = [float(row["regret"]) for row in rows if row["learner"] == label]
        np.testing.assert_array_equal(regret(shown, label), told)


@pytest.mark.parametrize("common", [False, True])
def test_the_python_and_the_study_taken_away_give_the_numbers_on_screen(common):
    service = started(common=common, horizon=300)
    shown = played(service)[-1]
    names = {}
    exec(taken(service, "py").decode().replace("print(table)", ""), names)
    planned = expand(parse_study(taken(service, "toml").decode()))
    for label in shown["curves"]:
        learner = label.split()[0]
        from_python = names["table"].curves[label].mean("regret")
        runs = [execute(run.spec).curves["regret"][0] for run in planned if run.spec.learner == learner]
        np.testing.assert_array_equal(regret(shown, label), from_python)
        np.testing.assert_array_equal(regret(shown, label), np.mean(runs, axis=0))


def test_a_drawn_map_comes_back_from_the_python_and_the_study_taken_away():
    rows = "#" * 12 + "/" + "/".join(["#S........3#"] * 1 + ["#..........#"] * 4 + ["#.........G#"]) + "/" + "#" * 12
    service = started(
        world={"text": f"grid:map={rows},kernel=0.8/0.05/0.1"}, learners=[{"name": "psrl"}], runs=1, horizon=100
    )
    names = {}
    exec(taken(service, "py").decode().replace("print(table)", ""), names)
    assert names["mdp"] == eq.make("grid", map=rows, kernel="0.8/0.05/0.1")
    (run,) = expand(parse_study(taken(service, "toml").decode()))
    assert eq.make(run.spec.world, **run.spec.params) == names["mdp"]


def test_the_table_taken_away_has_every_run(service):
    rows = list(csv.DictReader(io.StringIO(taken(service, "csv").decode())))
    assert len(rows) == 3 * 2 * len(service.last["times"])
    assert taken(service, "svg").startswith(b"<?xml")


def test_nothing_is_taken_away_before_the_first_checkpoint():
    with pytest.raises(ValueError, match="no checkpoint is passed yet"):
        taken(started(), "csv")


def test_learners_taken_away_are_those_on_screen(service):
    rows = list(csv.DictReader(io.StringIO(taken(service, "csv", of="learners").decode())))
    mdp = eq.load_world(WORLD["text"])
    for told, label in zip(service.last["learners"], service.last["curves"], strict=True):
        own = [row for row in rows if row["learner"] == label]
        assert [int(row["visits"]) for row in own] == unpacked(told["visits"]).tolist()
        assert [k for k, row in enumerate(own) if row["in_policy"] == "1"] == sorted(unpacked(told["policy"]).tolist())
        shown = [""] * mdp.n_pairs
        if told["classes"] is not None:
            shown = [str(max(label, -1)) for label in unpacked(told["classes"]["shown"]).tolist()]
        assert [row["stands_for"] for row in own] == shown
    for what, head in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert taken(service, what, of="learners").startswith(head)
    assert taken(service, "npz")[:2] == b"PK"
    assert taken(service, "svg", measure="reward") != taken(service, "svg")
    with pytest.raises(ValueError, match="nothing is played yet"):
        taken(started(), "svg", of="learners")
    with pytest.raises(ValueError, match="unknown file to take away 'toml'"):
        taken(service, "toml", of="learners")


def test_taking_away_changes_nothing_of_a_run(service):
    other = started()
    played(other, until=200)
    for what, of in (("csv", "learners"), ("csv", None)):
        taken(other, what, of=of)
    assert played(other)[-1]["curves"] == service.last["curves"]


def test_a_frame_shows_what_the_learner_thinks(service):
    mdp = eq.load_world(WORLD["text"])
    trace = eq.simulate(mdp, "c-psrl", 600, seed=3)
    agent, told = trace.agent, service.last["learners"][0]
    assert told["regret"] == trace.regret[-1]
    np.testing.assert_array_equal(unpacked(told["visits"]), agent.counts.snapshot().visits)
    np.testing.assert_array_equal(unpacked(told["policy"]), agent.beliefs.plan.policy_pair)
    np.testing.assert_allclose(unpacked(told["width"]), agent.beliefs.uncertainty(), rtol=1e-6)
    assert told["classes"]["n"] == agent.beliefs.partition.n_classes
    truth = eq.equivalence_classes(mdp, rewards=False)
    np.testing.assert_array_equal(unpacked(told["classes"]["true"]), truth.label)
    assert told["classes"]["wrong"] == misclustering_ratio(agent.beliefs.partition, truth)
    assert service.last["learners"][2]["classes"] is None


def test_a_step_goes_to_the_next_plan_of_each_learner():
    service = started(learners=[{"name": "ucrl2-l"}, {"name": "c-psrl"}], runs=1)
    before = [0, 0]
    for _ in range(5):
        list(service.handle({"do": "step"}))
        (frame,) = drained(service)
        now = [learner["episodes"] for learner in frame["learners"]]
        assert all(b <= a <= b + 1 for a, b in zip(now, before, strict=True))
        assert max(a - b for a, b in zip(now, before, strict=True)) == 1
        before = now


def test_play_may_stop_at_a_time_and_go_on():
    service = started(runs=1)
    halfway = played(service, until=300)[-1]
    assert 300 <= halfway["t"] < 600
    assert not halfway["playing"]
    np.testing.assert_array_equal(regret(played(service)[-1], "c-psrl"), regret(played(started(runs=1))[-1], "c-psrl"))


def test_learners_keep_step_with_the_slowest():
    service = started(learners=[{"name": "psrl"}, {"name": "random"}], horizon=100_000, runs=1)
    list(service.handle({"do": "play"}))
    for _ in range(20):
        list(service.tick())
        steps = sorted(view.run.steps for view in service.live.everyone)
        assert steps[1] - steps[0] <= 1 << 15


class Clock:
    """Goes on by so many seconds whenever it is read."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def monotonic(self):
        self.now += self.step
        return self.now


def test_a_slow_speed_is_kept(monkeypatch):
    service, clock = started(runs=1, horizon=100_000, learners=[{"name": "c-psrl"}]), Clock(0.0)
    monkeypatch.setattr(learning_service, "time", clock)
    list(service.handle({"do": "play", "speed": 500}))
    for _ in range(100):
        clock.now += 0.01
        list(service.tick())
        list(service.handle({"do": "ack"}))
        longest = max(np.diff([*service.live.everyone[0].run.agent.episode_starts, service.live.reached + 1]))
        assert 500 * clock.now - 1.001 < service.live.reached <= 500 * clock.now + longest


def test_no_more_frames_are_sent_than_a_page_takes(monkeypatch):
    service = started(horizon=50_000)
    monkeypatch.setattr(learning_service, "time", Clock(learning_service.SLICE / 4))
    list(service.handle({"do": "play"}))
    frames = [frame for _ in range(50) for frame in service.tick()]
    assert service.playing
    assert len(frames) == MOST_CREDIT
    list(service.handle({"do": "ack"}))
    frames += [frame for _ in range(50) for frame in service.tick()]
    assert len(frames) == MOST_CREDIT + 1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"learners": []}, "choose 1 to 6 learners"),
        ({"learners": LEARNERS * 3}, "choose 1 to 6"),
        ({"learners": [{"name": "c-psrk"}]}, "did you mean 'c-psrl'"),
        ({"learners": [{"name": "psrl"}, {"name": "psrl"}]}, "listed twice"),
        ({"learners": [{"name": "psrl", "settings": "prior=-1"}]}, "prior"),
        ({"learners": [{"name": "psrl", "settings": "prior"}]}, "key=value"),
        ({"learners": [{"name": "ucrl2-l", "settings": "threads=64"}]}, "threads has no place"),
        ({"learners": [{"name": "c-psrl", "settings": "scan=10000000000"}]}, "more than this page takes"),
        ({"learners": [{"name": "c-ucrl-c", "settings": "tolerance=0.1"}]}, "unknown setting"),
        ({"learners": ["psrl"]}, "a learner is a name"),
        ({"learners": [{"name": ["psrl"]}]}, "unknown learner"),
        ({"horizon": 0}, "the horizon must be at least 1"),
        ({"horizon": 10**12}, "the horizon must be at most 10000000"),
        ({"horizon": "long"}, "must be an integer"),
        ({"runs": 1000}, "the number of runs must be at most 20"),
        ({"seed": -1}, "the seed must be at least 0"),
        ({"common": "yes"}, "common must be"),
        ({"world": {"text": "four-room:height=99,width=99"}}, "up to 12,000 pairs"),
    ],
)
def test_what_is_too_much_or_wrong_is_refused_in_words(changes, complaint):
    with pytest.raises((TypeError, ValueError), match=re.escape(complaint)):
        started(**changes)


@pytest.mark.parametrize("do", ["play", "pause", "step", "take"])
def test_messages_before_the_start_are_refused(do):
    with pytest.raises(ValueError, match="start them first"):
        list(LearningService({}).handle({"do": do}))


def test_settings_are_read_as_on_the_command_line():
    asked = requested_runs({"learners": [{"name": "c-ucrl", "settings": "balance=2, ties=index"}]})
    assert asked.learners == {"c-ucrl balance=2 ties=index": ("c-ucrl", {"balance": 2, "ties": "index"})}
