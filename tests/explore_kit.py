"""A server of explore in this process, and pages that talk to it without a browser."""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import contextmanager

import numpy as np
from websockets.sync.client import connect

from equirl.lab.explore.explore_server import ExploreServer
from equirl.lab.explore.first_view import FirstView
from equirl.lab.studies.plan_file import write_plan
from equirl.lab.studies.runs import RunResult
from equirl.lab.studies.store import Store
from equirl.simulation.curves import Curves

ENDINGS = ("done", "problem")
PATIENCE = 300.0  # seconds until a test that hangs is given up


@contextmanager
def running(first_view=None, **options):
    """A server that runs; it has ended when the block has."""
    server = ExploreServer(first_view or FirstView(), port=0, **options)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.server.started)
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def wait_for(condition, seconds=PATIENCE):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


@contextmanager
def page_of(server):
    """A page, as the browser would open it."""
    with connect(
        f"ws://127.0.0.1:{server.port}/page?token={server.token}",
        origin=f"http://127.0.0.1:{server.port}", max_size=None, proxy=None, ping_interval=None,
    ) as socket:  # fmt: skip
        yield Page(socket)


class Page:
    """What a page does: asks, and listens to news."""

    def __init__(self, socket):
        self.socket, self.number, self.news = socket, 0, []

    def send(self, do, **fields):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "do": do, **fields}))
        return self.number

    def hear(self, seconds=PATIENCE):
        return json.loads(self.socket.recv(timeout=seconds))

    def ask(self, do, **fields):
        """All replies to a request, the last one saying how it ended; frames are acknowledged and kept."""
        number, replies = self.send(do, **fields), []
        while not replies or replies[-1]["kind"] not in ENDINGS:
            reply = self.hear()
            if reply.get("id") == number:
                replies.append(reply)
            else:
                self._keep(reply)
        return replies

    def get(self, do, **fields):
        """The one answer to a request that succeeds."""
        *answers, last = self.ask(do, **fields)
        assert last["kind"] == "done", last
        return answers[-1] if answers else None

    def refused(self, do, **fields):
        """Why a request is refused."""
        last = self.ask(do, **fields)[-1]
        assert last["kind"] == "problem", last
        return last["message"]

    def frames(self, wanted):
        """News until a frame is as wanted; that frame."""
        while True:
            reply = self.hear()
            self._keep(reply)
            if reply["kind"] == "frame" and wanted(reply):
                return reply

    def _keep(self, reply):
        if reply["kind"] == "frame":
            self.news.append(reply)
            self.send("ack")


def stand_in(run):
    """A run whose regret grows to a few thousand, by learner."""
    t = np.linspace(0, run.spec.horizon, 41)[1:].astype(np.int64)
    last = 1000.0 * (1 + len(run.learner) + 0.1 * run.spec.replicate)
    regret = last * np.sqrt(t / t[-1])
    curves = {"regret": regret, "pseudo_regret": regret}
    if run.spec.measures:
        names = ("misclustering_ratio", "misclustering_bias", "misclustering_bias_by_state")
        curves |= {name: np.linspace(0.4, 0.1, 40) for name in names}
    facts = {"gain": 0.875, "n_episodes": 10, "n_unconverged": 0}
    return RunResult(run.spec, Curves.of_run(t, curves), facts, {"seconds": 1.0})


def filled(folder, planned, results=stand_in):
    """A results folder with these runs, not played but made up."""
    store = Store(folder)
    store.prepare()
    write_plan(planned, store)
    for run in planned:
        store.write(results(run))
    return folder


def unpacked(held):
    """The array that a message holds packed, as ``numbers.js`` reads it."""
    ((kind, text),) = held.items()
    return np.frombuffer(base64.b64decode(text), f"<{kind}")
