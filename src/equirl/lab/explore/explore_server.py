"""The server of ``equirl explore``: a page, its files, and a socket for each page that is open."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib.resources import files as package_files
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI, Response, WebSocket

from equirl.lab.explore.access import Arrivals, Gate, TimelyHttp, is_loopback
from equirl.lab.explore.first_view import FirstView
from equirl.lab.explore.page_limits import MESSAGE_BYTES, MOST_PAGES
from equirl.lab.explore.page_link import PageLink
from equirl.lab.explore.page_processes import process_context, warm_learners

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
USUAL_PORT = 8642
BACKLOG = 128  # connections that the system keeps until they are taken
TOO_MANY = 4429  # the code with which a socket is closed


@dataclass
class ExploreServer:
    """A server that listens; :meth:`run` serves until it is stopped."""

    first_view: FirstView
    host: str = "127.0.0.1"
    port: int | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    arrivals: Arrivals = field(default_factory=Arrivals)

    def __post_init__(self) -> None:
        self.listening = _listen(self.host, self.port)
        self.port = int(self.listening.getsockname()[1])
        self.static = {
            item.name: item.read_bytes() for item in package_files("equirl.lab.explore").joinpath("static").iterdir()
        }
        self.context = process_context()
        self.n_pages = 0
        gate = Gate(self._routes(), self.token, self.port, self.host)
        timely: Any = partial(TimelyHttp, arrivals=self.arrivals)  # called as a class would be
        config = uvicorn.Config(
            gate, http=timely, ws="websockets-sansio",
            log_level="warning", access_log=False, server_header=False,
            ws_max_size=MESSAGE_BYTES, ws_ping_interval=20.0, ws_ping_timeout=60.0, timeout_graceful_shutdown=1,
            backlog=BACKLOG, limit_concurrency=20 * MOST_PAGES, h11_max_incomplete_event_size=65536,
        )  # fmt: skip
        self.server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        shown = "127.0.0.1" if self.host in ("0.0.0.0", "::", "localhost") else self.host
        name = f"[{shown}]" if ":" in shown else shown
        return f"http://{name}:{self.port}/?token={self.token}{self.first_view.fragment}"

    def run(self, on_ready: Callable[[str], None] | None = None) -> None:
        """Serve until interrupted, which is then a KeyboardInterrupt, or until stopped."""
        threading.Thread(target=warm_learners, args=(self.context,), daemon=True).start()
        if on_ready is not None:
            on_ready(self.address)
        self.server.run(sockets=[self.listening])

    def stop(self) -> None:
        self.server.should_exit = True

    def _routes(self) -> FastAPI:
        app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

        @app.get("/")
        def page() -> Response:
            html = self.static["index.html"].replace(b"{{static}}", f"/static/{escape(self.token)}".encode())
            return Response(html, media_type="text/html")

        @app.get("/static/{token}/{name}")
        def static(token: str, name: str) -> Response:
            if name not in self.static:
                return Response("not here", status_code=404, media_type="text/plain")
            return Response(self.static[name], media_type=KINDS[name.rpartition(".")[2]])

        @app.websocket("/page")
        async def talk(socket: WebSocket) -> None:
            await socket.accept()
            if self.n_pages >= MOST_PAGES:
                await socket.close(TOO_MANY, f"{MOST_PAGES} pages are open already; close one")
                return
            self.n_pages += 1
            try:
                await PageLink(socket, self.context, self.first_view.files).serve()
            finally:
                self.n_pages -= 1

        return app


def _listen(host: str, port: int | None) -> socket.socket:
    """A listening socket; of the usual port, where that is taken, any other."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for choice in (USUAL_PORT, 0) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so that asyncio sends at once
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, choice))
        except OSError as error:
            listening.close()
            if port is not None:
                raise OSError(
                    error.errno, f"cannot listen there: {error.strerror}; try another --port", f"{host}:{choice}"
                ) from None
            continue
        listening.listen(BACKLOG)  # whoever comes before the server is up waits
        return listening
    raise OSError(f"no port is free on {host}")


def explore(
    first_view: FirstView,
    host: str,
    port: int | None,
    *,
    browser: bool,
    say: Callable[[str], None],
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve pages until interrupted (KeyboardInterrupt) or asked to end by SIGTERM (SystemExit)."""
    server = ExploreServer(first_view, host, port)
    if not is_loopback(host):
        say(f"equirl: others on the network can reach {host}; whoever knows the token can use this machine through it")
    signal.signal(signal.SIGTERM, _end)  # uvicorn, once it has ended, passes both signals on

    def ready(address: str) -> None:
        if on_ready is not None:
            on_ready(address)
        say(f"{address}\nCtrl-C ends it.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server.run(ready)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit
