"""A dask cluster of processes on this machine, for the tests of engines."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Cluster:
    """A dask scheduler and workers, each a process of its own on this machine."""

    address: str
    scheduler: subprocess.Popen
    workers: list[subprocess.Popen]

    @classmethod
    def start(cls, folder, n_workers=2):
        port = free_port()
        scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        started = cls(f"tcp://127.0.0.1:{port}", _start(scheduler, folder), [])
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
