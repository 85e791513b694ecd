"""The command equirl explore: prints an address, serves, ends cleanly; says what is missing."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import tomllib
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path

import pytest
from typer.testing import CliRunner

import equirl.lab.explore.explore_server
from equirl.lab.cli import app
from explore_kit import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]
STATIC = Path(equirl.__file__).parent / "lab" / "explore" / "static"


def children_of(pid):
    """Processes that descend from one, where the system says."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            own, parent = path.read_text().rpartition(")")[2].split()[1], path.parent.name
        except OSError:
            continue
        if own == str(pid):
            found += [int(parent), *children_of(int(parent))]
    return found


@pytest.mark.parametrize(
    ("sign", "code", "last"), [(signal.SIGINT, 130, "equirl: interrupted\n"), (signal.SIGTERM, 0, "")]
)
def test_the_command_serves_at_the_address_it_prints_and_ends_cleanly(sign, code, last):
    given = ["explore", "riverswim:n_states=6", "--no-open", "--port", "0"]
    command = [sys.executable, "-c", "from equirl.lab.cli import app; app()", *given]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{20,})#view=world&world=riverswim%3A.*", address)
        assert found, address
        with closing(http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE)) as line:
            line.request("GET", f"/?token={found[2]}")
            with line.getresponse() as answer:
                assert answer.status == 200
        children = children_of(process.pid)
        process.send_signal(sign)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, said
        assert said.endswith(last)
        assert "Traceback" not in said
        wait_for(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in children))
    finally:
        process.kill()
        process.communicate()


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr(equirl.lab, "explore", equirl.lab.explore)  # bound anew below, afterwards the old one
    for name in [name for name in sys.modules if name.startswith("equirl.lab.explore")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(app, ["explore", "--no-open"])
    assert done.exit_code == 2
    assert "explore needs uvicorn: pip install 'equirl[explore]'" in done.output


def test_a_wrong_world_is_one_line_before_anything_is_served():
    done = CliRunner().invoke(app, ["explore", "four-rom", "--no-open"])
    assert done.exit_code == 2
    assert "did you mean 'four-room'" in done.output


def test_a_port_that_is_taken_is_named():
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, ["explore", "--no-open", "--port", str(port)])
    assert done.exit_code == 2
    assert "try another --port" in done.output


def test_beyond_loopback_the_command_warns(monkeypatch):
    from equirl.lab.explore.explore_server import ExploreServer

    def run(server, ready):
        server.listening.close()
        ready(server.address)

    monkeypatch.setattr(ExploreServer, "run", run)
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = CliRunner().invoke(app, ["explore", "--host", "0.0.0.0", "--port", "0", "--no-open"])
    assert done.exit_code == 0, done.output
    assert "others on the network can reach" in done.output
    assert opened == []


def test_every_file_of_the_page_is_shipped():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["equirl"]
    names = [path.relative_to(STATIC.parents[2]).as_posix() for path in STATIC.iterdir()]
    assert len(names) > 20
    assert [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)] == []


@pytest.mark.parametrize("code", ["import equirl", "import equirl.lab.cli"])
def test_the_server_is_not_loaded_by_anything_else(code):
    heavy = ("fastapi", "uvicorn", "websockets", "starlette", "equirl.lab.explore")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*[m for m in {heavy!r} if m in sys.modules])"],
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    assert done.stdout.strip() == ""
