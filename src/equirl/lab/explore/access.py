"""Who may talk to the server: the token, and the names under which it is reached.

Another page in the same browser can send requests here, but it cannot read the token, its requests carry its own
Origin, and a name that its owner points at this machine is no name of this server.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
        """Pass a request on, or refuse it."""
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
            return "this server only hands out pages"
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

    Examples
    --------
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
