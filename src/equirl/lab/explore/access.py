"""Who may talk to the server: the token, the names under which it is reached, and requests that arrive in time.

Another page in the same browser can send requests here, but it cannot read the token, its requests carry its own
Origin, and a name that its owner points at this machine is no name of this server.

Each connection has some seconds for the head of its request, and few may wait at once: uvicorn waits for ever, and
counts those who send half a request among its connections until it refuses all others.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from equirl.lab.explore.page_limits import HEAD_SECONDS, MOST_ARRIVING

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
REFUSED = 4403  # the code with which a socket is closed
Scope = dict[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class Gate:
    """Lets only those through who know the token and name this server."""

    def __init__(self, app: App, token: str, port: int, host: str = "127.0.0.1") -> None:
        self.app, self.token, self.port, self.host = app, token.encode(), port, host
        self.own_names = (
            {*LOOPBACK, host.lower(), socket.gethostname().lower()} if not is_loopback(host) else {*LOOPBACK}
        )

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        why = self.objection(scope)
        if why is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": REFUSED, "reason": why})
        else:
            await _refuse(send, why)

    def objection(self, scope: Scope) -> str | None:
        """Why a request is refused; None where it is not."""
        host, origins = _header(scope, b"host"), _headers(scope, b"origin")
        if host is None or not self.names_this_server(host):
            return "this server does not go by that name"
        if scope["type"] == "websocket" and not origins:
            return "the request does not say which page it comes from"
        if any(origin not in (f"http://{host}", f"https://{host}") for origin in origins):
            return "the request comes from another page"
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            return "this server only gives out pages"
        if not any(secrets.compare_digest(given, self.token) for given in _tokens(scope)):
            return "the token is missing or wrong: open the address that equirl explore printed"
        return None

    def names_this_server(self, host: str) -> bool:
        """Whether a Host header is a name of this server, with its port."""
        if not re.fullmatch(r"[\w.:\[\]-]{1,255}", host, re.ASCII):
            return False
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").lower(), parts.port or 80
        except ValueError:
            return False
        return port == self.port and (name in self.own_names or (not is_loopback(self.host) and _is_address(name)))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host.lower() == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _header(scope: Scope, name: bytes) -> str | None:
    """A header that must be there once."""
    found = _headers(scope, name)
    return found[0] if len(found) == 1 else None


def _tokens(scope: Scope) -> Iterable[bytes]:
    """The tokens that a request carries: in its query, or in the path of a file."""
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
    path = scope["path"].split("/")
    held = [path[2]] if len(path) > 3 and path[1] == "static" else []
    return [token.encode("utf-8", "surrogateescape") for token in [*given[:1], *held]]


def _with_headers(send: Any) -> Any:
    async def send_with_headers(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return send_with_headers


async def _refuse(send: Any, why: str) -> None:
    """Answer 403 with a page that says why, and hang up: a stranger keeps no connection."""
    body = f"<!doctype html><meta charset=utf-8><title>equirl explore</title><p>equirl explore: {why}.</p>".encode()
    kind, size = (b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())
    headers = [kind, size, (b"connection", b"close")]
    send = _with_headers(send)
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Arrivals:
    """The connections of a server that have not sent the whole head of a request yet, the longest waiting first."""

    def __init__(self, seconds: float = HEAD_SECONDS, most: int = MOST_ARRIVING) -> None:
        self.seconds, self.most = seconds, most
        self.timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def expect(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to wait for a head, where that has not begun."""
        if transport in self.timers or transport.is_closing():
            return
        while len(self.timers) >= self.most:
            self._drop(next(iter(self.timers)))
        self.timers[transport] = loop.call_later(self.seconds, self._drop, transport)

    def settle(self, transport: asyncio.Transport) -> None:
        """Wait no longer: the head is there, or the connection is gone."""
        if (timer := self.timers.pop(transport, None)) is not None:
            timer.cancel()

    def _drop(self, transport: asyncio.Transport) -> None:
        self.settle(transport)
        transport.abort()


class TimelyHttp(H11Protocol):
    """HTTP as uvicorn speaks it, on connections that must send what they began."""

    def __init__(self, *, arrivals: Arrivals, **given: Any) -> None:
        super().__init__(**given)
        self.arrivals = arrivals

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.arrivals.expect(transport, self.loop)

    def data_received(self, data: bytes) -> None:
        """Take what came; between an answer and the next head, wait for that."""
        super().data_received(data)
        if self.conn.our_state in (h11.IDLE, h11.DONE):
            self.arrivals.expect(self.transport, self.loop)
        else:
            self.arrivals.settle(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.arrivals.settle(self.transport)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand over to a socket; a handshake that it can make nothing of would stay for ever, and is refused."""
        before = set(self.tasks)
        super().handle_websocket_upgrade(event)
        self.arrivals.settle(self.transport)
        if self.tasks == before and not self.transport.is_closing():
            self.send_400_response("Invalid WebSocket handshake.")

    def send_400_response(self, msg: str) -> None:
        """Say that a request is none, unless another answer is under way, which then ends here."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()
