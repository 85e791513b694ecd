"""A dask cluster of processes on this machine, for the tests of engines."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds, seconds=300):
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, "waited too long"
        time.sleep(0.02)


@dataclass
class Cluster:
    """A dask scheduler and workers, each a process of its own on this machine."""

    address: str
    scheduler: subprocess.Popen
    workers: list[subprocess.Popen]

    @classmethod
    def start(cls, folder, n_workers=2):
        """Once the scheduler listens, at a port that the system chose."""
        told = folder / "scheduler.json"
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told)]
        started = cls("", _start(["distributed.cli.dask_scheduler", *words], folder), [])
        wait_until(lambda: told.exists() and told.read_text().rstrip().endswith("}"))
        started.address = json.loads(told.read_text())["address"]
        for _ in range(n_workers):
            started.add_worker(folder)
        return started

    def add_worker(self, folder):
        worker = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        self.workers.append(_start([*worker, "--host", "127.0.0.1"], folder))

    def stop(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def _start(words, folder):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    return subprocess.Popen([sys.executable, "-m", *words], **quiet)
