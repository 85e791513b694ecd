"""Waiting for dask has an end: lost schedulers are noticed, missing workers told, and closing does not hang."""

import asyncio
import logging
import signal
import threading
from concurrent.futures import Future

import distributed
import pytest

from cluster_kit import Cluster
from equirl.lab.studies import engines as watching
from equirl.lab.studies.engines import DaskEngine, DaskPool, EngineError, dask_pool
from equirl.lab.studies.execution import compute
from equirl.lab.studies.progress import ProgressListener
from equirl.lab.studies.store import Store
from studies_kit import specs, with_lines

FEW = with_lines(learners='["random"]')
MANY = with_lines(runs="60", horizon="2000")
LOST = r"^the scheduler went away. Finished runs are safe; give the same command again$"


class Notes(ProgressListener):
    def __init__(self, act=lambda: None):
        self.notes, self.act = [], act

    def note(self, text):
        self.notes.append(text)
        if "worker" in text:
            self.act()


def outcome_of(call, seconds=300):
    """What a call returns or raises; an error where it hangs."""
    found = []

    def work():
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f"it did not end within {seconds} s"
    return found[0]


class Client:
    """A dask client whose jobs never end."""

    def __init__(self, workers=1, hangs=False):
        self.status, self.workers, self.hangs, self.asked = "running", workers, hangs, threading.Event()

    def get_executor(self):
        return self

    def submit(self, *_):
        return Future()

    def nthreads(self):
        self.asked.set()
        if self.workers is None:
            raise OSError("no answer")
        return dict.fromkeys(range(self.workers), 1)

    def close(self, timeout):
        if self.hangs:
            threading.Event().wait()


class FakeEngine:
    window, warms_here = 4, False

    def __init__(self, client, patience=60.0):
        self.client, self.patience = client, patience

    def open(self):
        return dask_pool(self.client, self.patience, "start one")


def test_jobs_that_never_end_are_not_waited_for_once_the_scheduler_is_lost(tmp_path):
    client = Client()
    threading.Timer(0.3, setattr, (client, "status", "connecting")).start()
    outcome = outcome_of(lambda: compute(specs(), Store(tmp_path), FakeEngine(client)))
    assert isinstance(outcome, EngineError)
    assert str(outcome) == "the scheduler went away. Finished runs are safe; give the same command again"


def test_a_scheduler_that_stops_answering_counts_as_lost(monkeypatch, tmp_path):
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.05)
    outcome = outcome_of(lambda: compute(specs(), Store(tmp_path), FakeEngine(Client(workers=None))))
    assert isinstance(outcome, EngineError)
    assert "went away" in str(outcome)


def test_nothing_is_given_out_to_a_scheduler_that_is_lost():
    client = Client()
    with dask_pool(client, 60.0, "start one") as pool:
        client.status = "closed"
        with pytest.raises(EngineError, match=LOST):
            pool.submit(len, "abc")


def test_a_client_that_does_not_close_is_left_behind(monkeypatch):
    monkeypatch.setattr(watching, "CLOSE_SECONDS", 0.1)
    pool = DaskPool(Client(hangs=True), 60.0, "start one")
    assert outcome_of(pool.close) is None


def test_without_a_worker_a_line_says_so_and_what_to_do(monkeypatch):
    monkeypatch.setattr(watching, "HINT_SECONDS", 0.0)
    client, notes = Client(workers=0), []
    with dask_pool(client, 60.0, "start one with 'dask worker'") as pool:
        client.asked.wait(300)
        pool.watch(notes.append)
        pool.watch(notes.append)  # not again at once
    assert notes == ["no dask worker is there yet; waiting for one: start one with 'dask worker'"]


def test_where_no_worker_comes_at_all_the_patience_ends(tmp_path):
    engine = FakeEngine(Client(workers=0), patience=0.2)
    outcome = outcome_of(lambda: compute(specs(), Store(tmp_path), engine))
    assert str(outcome) == "no dask worker came within 0 s; start one"


@pytest.fixture
def cluster(tmp_path):
    started = Cluster.start(tmp_path)
    yield started
    started.stop()


@pytest.fixture
def lonely(tmp_path):
    """A scheduler without a worker."""
    started = Cluster.start(tmp_path, n_workers=0)
    yield started
    started.stop()


def test_a_study_that_waits_for_a_worker_goes_on_when_one_comes(tmp_path, lonely):
    listener = Notes(lambda: lonely.add_worker(tmp_path))
    engine = DaskEngine(1, lonely.address)
    report = outcome_of(lambda: compute(specs(FEW), Store(tmp_path / "out"), engine, listener))
    assert report.n_computed == 2
    hint = f"no dask worker is there yet; waiting for one: start one with 'dask worker {lonely.address}'"
    assert hint in listener.notes


def test_results_on_their_way_when_the_scheduler_dies_are_not_waited_for(tmp_path, cluster, monkeypatch):
    async def lost(self, direct, local_worker):
        while any(state.status != "finished" for state in self.futures.values()):
            await asyncio.sleep(0.05)
        cluster.scheduler.kill()
        raise OSError("the connection is lost")

    monkeypatch.setattr(distributed.Client, "_gather_remote", lost)
    engine = DaskEngine(2, cluster.address)
    outcome = outcome_of(lambda: compute(specs(FEW), Store(tmp_path / "out"), engine))
    assert isinstance(outcome, EngineError)


def test_a_scheduler_killed_with_many_runs_queued_ends_the_study_before_they_are_done(tmp_path, cluster, caplog):
    many, store = specs(MANY), Store(tmp_path / "out")

    class Kills(ProgressListener):
        def finished(self, spec, outcome):
            cluster.scheduler.send_signal(signal.SIGKILL)

    log = logging.getLogger("distributed")
    log.addHandler(caplog.handler)
    outcome = outcome_of(lambda: compute(many, store, DaskEngine(2, cluster.address), Kills()))
    log.removeHandler(caplog.handler)
    assert isinstance(outcome, EngineError), outcome
    assert 0 < len(store.status(many).done) < len(many)
    assert not [record for record in caplog.records if record.exc_info]
