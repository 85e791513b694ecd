"""Connections whose requests never arrive: each has some seconds for the head of its request, and few may wait at once.

uvicorn waits for ever, and counts those who send half a request among its connections until it refuses all others.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from equirl.lab.explore.page_limits import HEAD_SECONDS, MOST_ARRIVING


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
        """Wait for the first head."""
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
        """Nothing more will come."""
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
