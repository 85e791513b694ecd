"""A learner in a folder goes on after a crash as if nothing had happened; nothing is lost, nothing counts twice."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from journal_kit import RIVER, crashed, fingerprint, fingerprints, play, play_plain, reopened, step

import equirl as eq
from equirl.files import DamagedFile
from equirl.files.durable import FolderInUse
from equirl.keeping import journal, journal_files, read_journal
from equirl.keeping.journal_recovery import ReplayMismatch
from equirl.learners.catalogue import ROWS
from equirl.learners.contract import InUse
from equirl.learners.learner_registry import AGENTS
from outside_learners import OUTSIDE

EVERY = [*ROWS, *OUTSIDE]
SMALL = {"n_states": 5, "n_actions": 2}


@pytest.mark.parametrize("name", EVERY)
def test_after_a_crash_every_learner_goes_on_bit_by_bit(name, tmp_path):
    learner = eq.agent_for(RIVER, name, seed=3)
    agent = eq.open_agent(tmp_path / "live", learner, snapshot_every=61, sync="os")
    crashes = (0, 1, 30, 31, 75)

    def crash(number):
        if number in crashes:
            crashed(agent, tmp_path / f"at{number}")

    crash(0)
    play(agent, 90, crash)
    agent.close()
    plain = fingerprints(learner.copy(), (*crashes, 90))
    assert fingerprint(agent.agent) == plain[90]
    for number in crashes:
        with eq.open_agent(tmp_path / f"at{number}", learner) as again:
            assert again.n_observed == number
            assert fingerprint(again.agent) == plain[number]
            play(again, 90)
            assert fingerprint(again.agent) == plain[90]


@pytest.mark.parametrize("name", EVERY)
def test_a_decision_is_remembered_though_its_step_was_not_observed(name, tmp_path):
    """Stopped between act and observe, a service may observe at once what it had played, or ask again."""
    learner = eq.agent_for(RIVER, name, seed=1)
    with eq.open_agent(tmp_path / "live", learner) as agent:
        play(agent, 40)
        state = agent.last.next_state
        action = agent.act(state)
        crashed(agent, tmp_path / "one")
        crashed(agent, tmp_path / "other")
        successor = step(40, state, action)[1]
        agent.observe(state, action, 1.0, successor)
        expected = fingerprint(agent.agent)
    with eq.open_agent(tmp_path / "one") as again:
        assert again.awaiting == (state, action)
        again.observe(state, action, 1.0, successor)
        assert again.awaiting is None
        assert fingerprint(again.agent) == expected
    with eq.open_agent(tmp_path / "other") as again:
        assert again.act(state) == action
        again.observe(state, action, 1.0, successor)
        assert fingerprint(again.agent) == expected


@pytest.mark.parametrize("name", ["c-psrl", "q-learning"])
def test_at_every_change_of_its_files_a_crash_leaves_a_folder_that_goes_on(name, tmp_path, monkeypatch):
    """The folder is copied whenever a line of the journal's code has changed a file; each copy is opened."""
    monkeypatch.setattr(journal_files, "ROOM", 1024)  # files grow too
    live, copies, acknowledged, seen = tmp_path / "live", [], [0], [None]

    def look(frame, event, _):
        if not Path(frame.f_code.co_filename).name.startswith(("journal", "durable", "whole_files")):
            return None
        if live.exists():
            files = {path.name: path.read_bytes() for path in sorted(live.iterdir()) if path.is_file()}
            if files != seen[0]:
                seen[0] = files
                copies.append((acknowledged[0], files))
        return look

    def acknowledge(number):
        acknowledged[0] = number

    learner = eq.agent_for(RIVER, name, seed=2)
    sys.settrace(look)
    try:
        with eq.open_agent(live, learner, snapshot_every=25, sync="os") as agent:
            play(agent, 30, acknowledge)
    finally:
        sys.settrace(None)
    whole = fingerprint(play_plain(learner.copy(), 40))
    assert len(copies) > 80
    names = {name for _, files in copies for name in files}
    assert sum(name.startswith("journal-") for name in names) >= 4
    assert any(name.endswith(".part") for name in names)

    for k, (known, files) in enumerate(copies):
        place = tmp_path / f"copy{k}"
        place.mkdir()
        for file, content in files.items():
            (place / file).write_bytes(content)
        with eq.open_agent(place, learner) as again:  # warnings are errors: nothing is damaged
            assert known <= again.n_observed <= known + 1
            assert not [path for path in place.iterdir() if path.name.startswith(".")]
            play(again, 40)
            assert fingerprint(again.agent) == whole


# --- one at a time


def test_a_folder_cannot_be_opened_twice_in_a_process(tmp_path):
    with (
        eq.open_agent(tmp_path, "random", **SMALL),
        pytest.raises(FolderInUse, match=rf"{tmp_path.name} is in use by this process"),
    ):
        eq.open_agent(tmp_path)
    eq.open_agent(tmp_path).close()


HOLD = """
import sys, equirl as eq
agent = eq.open_agent(sys.argv[1], "random", n_states=5, n_actions=2)
print("open", flush=True)
input()
"""


def test_a_folder_cannot_be_opened_by_two_processes_and_is_free_after_a_kill(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(FolderInUse, match=f"in use by process {other.pid}"):
            eq.open_agent(tmp_path)
        other.send_signal(signal.SIGKILL)
        other.wait()
        eq.open_agent(tmp_path).close()


FORK = """
import os, sys, time, equirl as eq
agent = eq.open_agent(sys.argv[1], "random", n_states=5, n_actions=2)
ready, closed = os.pipe()
if os.fork() == 0:
    try:
        agent.act(0)
    except RuntimeError as error:
        print("child:", error, flush=True)
    agent.close()
    os.write(closed, b".")
    time.sleep(600)
os.read(ready, 1)
agent.observe(0, agent.act(0), 0.0, 1)
print("parent observed", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_cannot_use_the_folder_and_does_not_keep_it(tmp_path):
    with subprocess.Popen([sys.executable, "-c", FORK, str(tmp_path)], stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as parent:  # fmt: skip
        try:
            assert "must not use it" in parent.stdout.readline()
            assert parent.stdout.readline() == "parent observed\n"
            parent.wait()
            with eq.open_agent(tmp_path) as agent:  # though the child still lives
                assert agent.n_observed == 1
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_two_threads_are_refused(tmp_path):
    with eq.open_agent(tmp_path, "random", **SMALL) as agent:
        errors = []

        def enter():
            with pytest.raises(RuntimeError, match="in use by another thread"):
                agent.act(0)
            errors.append(True)

        with InUse(agent.agent):
            thread = threading.Thread(target=enter)
            thread.start()
            thread.join()
        assert errors
        agent.act(0)


# --- the learner given must be that of the folder


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"agent": "psrl"}, "learner: 'c-ucrl', 'psrl'"),
        ({"delta": 0.1}, "delta: 0.05, 0.1"),
        ({"n_states": 6}, "n_states: 5, 6"),
        ({"n_actions": 3}, "pairs of states and actions: 10, 15"),
        ({"reward_range": (0, 2)}, r"reward_range: \(0, 1\), \(0, 2\)"),
        ({"seed": 1}, "the seed"),
    ],
)
def test_another_learner_than_that_of_the_folder_is_refused(change, culprit, tmp_path):
    same = {"agent": "c-ucrl", **SMALL}
    eq.open_agent(tmp_path, **same).close()
    with eq.open_agent(tmp_path, **same) as agent:
        play(agent, 20)
    eq.open_agent(tmp_path, **same).close()
    with pytest.raises(ValueError, match=f"begun with another learner.*{culprit}"):
        eq.open_agent(tmp_path, **(same | change))


def test_other_classes_profiles_or_names_are_refused(tmp_path):
    eq.open_agent(tmp_path, eq.agent_for(RIVER, "c-ucrl-c-sigma")).close()
    with pytest.raises(ValueError, match="classes: not the same"):
        eq.open_agent(tmp_path, eq.agent_for(RIVER, "c-ucrl-c-sigma", classes=np.arange(10)))
    other = eq.agent_for(eq.make("riverswim", n_states=5), "c-ucrl-c-sigma")
    with pytest.raises(ValueError, match="profiles: not the same"):
        eq.open_agent(tmp_path, other)
    named = eq.TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.5)], n_states=1, state_names=["here"])
    plain = eq.TabularMDP.from_pairs([(0, 0, {0: 1.0}, 0.5)], n_states=1)
    eq.open_agent(tmp_path / "one", eq.agent_for(named, "psrl")).close()
    with pytest.raises(ValueError, match="the names: not the same"):
        eq.open_agent(tmp_path / "one", eq.agent_for(plain, "psrl"))


def test_a_new_folder_needs_a_learner_and_is_not_made_without_one(tmp_path):
    with pytest.raises(ValueError, match="say which learner"):
        eq.open_agent(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="holds no learner yet"):
        eq.open_agent(tmp_path)
    with pytest.raises(TypeError, match="n_states: only with the name"):
        eq.open_agent(tmp_path / "new", n_states=5)
    with pytest.raises(TypeError, match="agent must be a name or an agent"):
        eq.open_agent(tmp_path / "new", 3)


@pytest.mark.parametrize(
    "wrong", [{"sync": "sometimes"}, {"sync": 0}, {"snapshot_every": 0}, {"archive": "yes"}, {"strict": 1}]
)
def test_a_wrong_setting_of_the_journal_is_named(wrong, tmp_path):
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        eq.open_agent(tmp_path / "new", "random", **SMALL, **wrong)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", list(ROWS))
def test_no_learner_has_a_setting_that_the_journal_takes_for_its_own(name):
    assert not {"folder", "agent", "sync", "snapshot_every", "archive", "strict"} & set(AGENTS[name].keys)


def test_a_learner_that_knows_something_already_may_begin_a_folder(tmp_path):
    trained = play_plain(eq.agent_for(RIVER, "c-psrl", seed=5), 50)
    with eq.open_agent(tmp_path, trained) as agent:
        assert (agent.n_observed, agent.t) == (0, trained.t)
        agent.observe(0, agent.act(0), 0.0, 1)
    with eq.open_agent(tmp_path, trained) as agent:
        assert agent.n_observed == 1
    assert trained.t <= 51


# --- errors leave it as it was


def test_a_bad_step_is_named_and_leaves_learner_and_journal_as_they_were(tmp_path):
    with eq.open_agent(tmp_path, eq.agent_for(RIVER, "c-ucrl-c-sigma")) as agent:
        play(agent, 20)
        before, records = fingerprint(agent.agent), agent.n_records
        for wrong in [(9, 0, 0.0, 0), (0, 5, 0.0, 0), (0, 0, 2.0, 0), (0, 0, 0.0, 9), (0, 0, 0.0, 4), (0, 0, None, 0)]:
            with pytest.raises((TypeError, ValueError)):
                agent.observe(*wrong)
        with pytest.raises(TypeError, match="terminated"):
            agent.observe(0, 0, 0.0, 0, terminated="no")
        with pytest.raises(ValueError, match="state 9"):
            agent.act(9)
        agent.observe(0, 0, 0.0, 0, terminated=True) if agent.agent.pending is None else None
        with pytest.raises(ValueError, match="cannot lead to state 4"):
            agent.act(4)  # not where the pair may restart
        with pytest.raises(ValueError, match="after a terminated step"):
            agent.observe(0, 0, 0.0, 0)
        assert agent.n_records == records + 1
        agent.act(0)
    with eq.open_agent(tmp_path) as again:
        assert fingerprint(again.agent) != before
        assert again.n_observed == 21


class Failing:
    """A file whose writes fail, after a part of each."""

    def __init__(self, file, error):
        self.file, self.error = file, error

    def write(self, content):
        self.file.write(content[:7])
        raise self.error

    def __getattr__(self, name):
        return getattr(self.file, name)


def test_on_a_full_disk_observe_is_refused_by_name_and_may_be_tried_again(tmp_path):
    with eq.open_agent(tmp_path, "c-ucrl", **SMALL) as agent:
        play(agent, 10)
        action, before = agent.act(0), fingerprint(agent.agent)
        segment = agent._segment
        file, segment._file = segment._file, Failing(segment._file, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(OSError, match=r"cannot append to the journal: No space left.*journal-0+\.log"):
            agent.observe(0, action, 0.5, 1)
        assert fingerprint(agent.agent) == before
        segment._file = file
        agent.observe(0, action, 0.5, 1)
        crashed(agent, tmp_path / "copy")
        with eq.open_agent(tmp_path / "copy") as again:
            assert again.n_observed == 11


@pytest.mark.parametrize("method", ["record_step", "decide"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_call_stopped_half_way_has_not_counted_and_the_folder_opens_again(method, error, tmp_path, monkeypatch):
    agent = eq.open_agent(tmp_path / "live", "c-psrl", **SMALL)
    play(agent, 30)
    action = agent.act(0)
    expected = fingerprint(agent.agent)

    def stop(*_):
        agent.agent.t += 1  # half of it is done
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(agent.agent, method, stop)
        with pytest.raises(error):
            agent.observe(0, action, 0.0, 0) if method == "record_step" else agent.act(0)
    with pytest.raises(RuntimeError, match=r"stopped half-way.*open .* again"):
        agent.act(0)
    agent.close()
    with eq.open_agent(tmp_path / "live") as again:
        assert again.n_observed == 30
        assert fingerprint(again.agent) == expected


def test_a_learner_taught_beside_its_journal_is_noticed(tmp_path):
    with eq.open_agent(tmp_path, "random", **SMALL) as agent:
        agent.agent.observe(0, 0, 0.0, 1)
        with pytest.raises(RuntimeError, match="beside its journal"):
            agent.act(0)
    with eq.open_agent(tmp_path) as agent:
        assert agent.n_observed == 0


def test_what_was_taught_beside_the_journal_is_not_kept_when_it_closes(tmp_path):
    with eq.open_agent(tmp_path, "q-learning", **SMALL) as agent:
        play(agent, 5)
        expected = fingerprint(agent.agent)
        agent.agent.observe(0, 0, 0.0, 1)
    with eq.open_agent(tmp_path) as agent:
        assert agent.n_observed == 5
        assert fingerprint(agent.agent) == expected


def test_what_a_stopped_decision_left_behind_is_not_kept_when_it_closes(tmp_path, monkeypatch):
    agent = eq.open_agent(tmp_path, "q-learning", **SMALL)
    play(agent, 5)
    expected = fingerprint(agent.agent)

    def stop(*_):
        agent.agent.q[:] = 0.0  # and the time is as before
        raise KeyboardInterrupt

    monkeypatch.setattr(agent.agent, "decide", stop)
    with pytest.raises(KeyboardInterrupt):
        agent.act(0)
    agent.close()
    with eq.open_agent(tmp_path) as again:
        assert fingerprint(again.agent) == expected


def test_a_closed_folder_says_so(tmp_path):
    agent = eq.open_agent(tmp_path, "random", **SMALL)
    agent.close()
    agent.close()
    for call in (lambda: agent.act(0), agent.snapshot):
        with pytest.raises(ValueError, match="is closed"):
            call()
    assert "closed" in repr(agent)


def test_a_snapshot_that_cannot_be_written_does_not_stop_the_service(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "snapshot")

    with eq.open_agent(tmp_path / "live", "c-ucrl", snapshot_every=10, **SMALL) as agent:
        with monkeypatch.context() as patched:
            patched.setattr("equirl.keeping.journal_files.save_agent", full)
            with pytest.warns(RuntimeWarning, match="no snapshot was made.*No space left"):
                play(agent, 30)
            with pytest.raises(OSError, match="No space left"):
                agent.snapshot()
        crashed(agent, tmp_path / "copy")
        expected = fingerprint(agent.agent)
        play(agent, 60)
        assert len(agent._folder.snapshots()) == 3
    with eq.open_agent(tmp_path / "copy") as again:
        assert fingerprint(again.agent) == expected


# --- forcing to disk, snapshots, the log


@pytest.mark.parametrize(("sync", "forced"), [("always", 40), (10, 4), ("second", 3), ("os", 0)])
def test_records_are_forced_to_disk_as_often_as_asked(sync, forced, tmp_path, monkeypatch):
    calls, clock = [], iter(np.arange(0.0, 1e6, 0.1))
    with eq.open_agent(tmp_path, "random", sync=sync, **SMALL) as agent:
        monkeypatch.setattr(journal_files, "force_file", calls.append)
        monkeypatch.setattr(journal.time, "monotonic", lambda: next(clock))
        agent._sync_rule.start()
        play(agent, 40)
        assert len(calls) == forced


def test_a_snapshot_is_on_disk_before_its_records_are_removed(tmp_path, monkeypatch):
    order = []
    for name in ("force_folder", "write_aside", "save_agent"):
        real = getattr(journal_files, name)
        monkeypatch.setattr(journal_files, name, lambda *a, real=real, name=name: (order.append(name), real(*a))[1])
    monkeypatch.setattr(journal_files, "force_file", lambda *_: order.append("force_file"))
    real_unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, **k: (order.append("unlink"), real_unlink(path, **k))[1])
    with eq.open_agent(tmp_path, "random", sync="os", **SMALL) as agent:
        for _ in range(3):
            play(agent, agent.n_observed + 5)
            order.clear()
            agent.snapshot()
    assert order[:6] == ["force_file", "save_agent", "force_folder", "write_aside", "force_folder", "unlink"]


def test_the_journal_is_compacted_and_two_snapshots_and_the_first_are_kept(tmp_path):
    with eq.open_agent(tmp_path, "c-ucrl", snapshot_every=20, **SMALL) as agent:
        play(agent, 100)
        assert [snapshot.at for snapshot in agent._folder.snapshots()] == [0, 160, 180]
        assert [segment.first for segment in agent._folder.segments()] == [160, 180]
        assert agent.n_records == 200


def test_the_archive_is_a_log_of_all_that_was_observed(tmp_path):
    with eq.open_agent(tmp_path, "c-ucrl", snapshot_every=20, archive=True, **SMALL) as agent:
        told = []
        observe = agent.observe
        agent.observe = lambda *step, terminated: (
            told.append((*step, terminated)),
            observe(*step, terminated=terminated),
        )
        play(agent, 55)
        log = read_journal(tmp_path)  # while it is open
    assert [tuple(row) for row in zip(*(column.tolist() for column in log[1:6]), strict=True)] == told
    assert log.step.tolist() == list(range(1, 56))
    assert log.state_names is None
    again = read_journal(tmp_path)
    assert all(np.array_equal(a, b) for a, b in zip(log[:6], again[:6], strict=True))


def test_without_an_archive_the_log_begins_at_the_snapshot_before_the_last(tmp_path):
    with eq.open_agent(tmp_path, "c-ucrl", snapshot_every=20, **SMALL) as agent:
        play(agent, 55)
    assert read_journal(tmp_path).step.tolist() == list(range(51, 56))


def test_the_log_has_names_and_rewards_as_given(tmp_path):
    lift = eq.TabularMDP.from_pairs(
        [("low", "go", {"high": 1.0}, 0.2), ("high", "go", {"low": 1.0}, 1.0), ("high", "wait", {"high": 1.0}, 0.0)],
        n_states=2, state_names=["low", "high"], action_names=["go", "wait"],
    )  # fmt: skip
    with eq.open_agent(tmp_path, eq.agent_for(lift, "psrl")) as agent:
        agent.observe("low", "go", 0.1, "high")
        agent.observe("high", "wait", np.float32(0.7), "high", terminated=True)
        assert agent.last == ("high", "wait", float(np.float32(0.7)), "high", True)
        assert (agent.act("low"), agent.awaiting) == ("go", ("low", "go"))
        assert agent.act_id("low") == 0
    log = read_journal(tmp_path)
    assert [log.state_names[s] for s in log.state] == ["low", "high"]
    assert [log.action_names[a] for a in log.action] == ["go", "wait"]
    assert log.reward.tolist() == [0.1, float(np.float32(0.7))]
    assert log.terminated.tolist() == [False, True]


def test_what_was_last_is_known_after_a_snapshot_too(tmp_path):
    with eq.open_agent(tmp_path, "c-ucrl", **SMALL) as agent:
        play(agent, 20)
        last = agent.last
        agent.snapshot()
        awaiting = last.next_state, agent.act(last.next_state)
    with eq.open_agent(tmp_path) as again:
        assert (again.last, again.awaiting) == (last, awaiting)


def test_a_folder_that_holds_no_journal_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no journal"):
        read_journal(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        read_journal(tmp_path / "nowhere")


# --- played again, decisions must come out as they did


def test_a_decision_that_comes_out_otherwise_is_refused_or_warned_of(tmp_path, monkeypatch):
    agent = eq.open_agent(tmp_path / "live", "q-learning", seed=0, **SMALL)
    play(agent, 30)
    crashed(agent, tmp_path / "copy")
    agent.close()
    from equirl.learners.q_learning import QLearner

    real = QLearner.decide
    monkeypatch.setattr(QLearner, "decide", lambda self, s: (setattr(self, "q", -self.q), real(self, s))[1])
    with pytest.raises(ReplayMismatch, match=r"record \d+ of the journal.*played again it is.*strict=False"):
        eq.open_agent(tmp_path / "copy")
    again, told = reopened(tmp_path / "copy", strict=False)
    assert len(told) == 1
    assert "goes on from what was observed" in told[0]
    assert again.n_observed == 30
    again.close()


def test_a_learner_that_is_not_registered_is_named_and_its_log_can_be_read(tmp_path, monkeypatch):
    with eq.open_agent(tmp_path, "toy-steps", **SMALL) as agent:
        play(agent, 5)
    monkeypatch.setattr(AGENTS, "_rows", {name: row for name, row in AGENTS._rows.items() if name != "toy-steps"})
    with pytest.raises(DamagedFile, match=r"unknown learner 'toy-steps'; register it"):
        eq.open_agent(tmp_path)
    assert len(read_journal(tmp_path).step) == 5


@pytest.mark.parametrize(
    ("mine", "yours", "told"),
    [
        ({}, {}, []),
        ({"mean_rewards": np.zeros(2)}, {}, ["mean_rewards: some, none"]),
        ({}, {"reward_classes": np.zeros(2)}, ["reward_classes: none, some"]),
        ({}, {"tolerance": 0.1}, ["tolerance: none, some"]),
        ({"tolerance": 0.1}, {"tolerance": 0.2}, ["tolerance: not the same"]),
        ({"profiles": (np.arange(2), np.ones(1))}, {"profiles": (np.arange(2), [0.0])}, ["profiles: not the same"]),
        ({"profiles": (np.arange(3), np.full(2, np.nan))}, {"profiles": (np.arange(3), np.full(2, np.nan))}, []),
    ],
)  # fmt: skip
def test_what_learners_are_given_is_compared_whole(mine, yours, told):
    nothing = dict.fromkeys(("classes", "reward_classes", "profiles", "mean_rewards", "tolerance"))
    one, other = (SimpleNamespace(given=SimpleNamespace(**nothing | given)) for given in (mine, yours))
    assert list(journal._in_given(one, other)) == told
