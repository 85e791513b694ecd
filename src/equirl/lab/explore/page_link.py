"""One page: its socket, and the processes that compute for it. When the socket closes, they end.

A page sends ``{"id": 7, "do": "world", ...}``; replies carry the same id and end with ``done`` or ``problem``. Each
kind of request belongs to one service. Frames of learners come unasked, as many as the page acknowledges.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from fastapi import WebSocket, WebSocketDisconnect

from equirl.lab.explore.messages import encoded
from equirl.lab.explore.page_limits import MESSAGE_BYTES, MOST_NESTED, MOST_UNREAD, MOST_WAITING, SECONDS
from equirl.lab.explore.page_processes import Sent, ServiceProcess

SERVICE_OF = {
    "catalogue": "world", "world": "world", "pair": "world", "settings": "world", "take": "world",
    "facts": "facts",
    "learn": "learning", "play": "learning", "pause": "learning", "step": "learning", "ack": "learning",
    "take-learning": "learning",
    "study": "study", "look": "study", "maps": "study", "take-study": "study",
    "take-report": "report",
}  # fmt: skip
RESTARTS = {"facts", "learn", "take-report"}  # whose service starts anew, giving up what it was doing
UNREAD_SECONDS = 30.0  # that replies may wait for a page to read them
WATCH = 0.5  # seconds between two looks at what takes too long


class PageLink:
    def __init__(self, page: WebSocket, context: BaseContext, files: Mapping[str, Path]) -> None:
        self.page, self.context, self.files = page, context, files
        self.processes: dict[str, ServiceProcess] = {}
        self.waiting: dict[str, dict[Any, float]] = {name: {} for name in SECONDS}  # service -> id -> since when
        self.outbox: asyncio.Queue[str] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()

    async def serve(self) -> None:
        """Talk until the page is gone."""
        tasks = [asyncio.create_task(work()) for work in (self._send, self._receive, self._watch)]
        try:
            _, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in others:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception) and not isinstance(ended, (WebSocketDisconnect, OSError, RuntimeError)):
                    logging.getLogger("equirl").error("a page was closed by an error", exc_info=ended)
        finally:
            for name in list(self.processes):
                self._end(name)
            with suppress(RuntimeError, OSError, WebSocketDisconnect):
                await self.page.close()

    async def _send(self) -> None:
        while True:
            await self.page.send_text(await self.outbox.get())

    async def _receive(self) -> None:
        while True:
            try:
                text = await self.page.receive_text()
            except (WebSocketDisconnect, RuntimeError, KeyError):
                return
            await self._take(text)
            patience = time.monotonic() + UNREAD_SECONDS
            while self.outbox.qsize() > MOST_UNREAD:  # nothing more is taken from a page that does not read
                if time.monotonic() > patience:
                    return
                await asyncio.sleep(0.01)

    async def _watch(self) -> None:
        """Give up what takes too long."""
        while True:
            await asyncio.sleep(WATCH)
            for name, since in self.waiting.items():
                if name in self.processes and since and time.monotonic() - min(since.values()) > SECONDS[name]:
                    self._drop(
                        name, f"this took longer than {SECONDS[name]:.0f} seconds and was given up; ask for less"
                    )

    async def _take(self, text: str) -> None:
        message = _parsed(text)
        if isinstance(message, str):
            self._post({"kind": "problem", "id": None, "do": None, "message": message})
            return
        do, number = message["do"], message["id"]
        if do == "cancel":
            name = message.get("service")
            if isinstance(name, str) and name in self.waiting:
                self._drop(name, "cancelled")
            self._post({"kind": "done", "id": number, "do": do})
            return
        name = SERVICE_OF[do]
        if do in RESTARTS and (self.waiting[name] or do == "learn"):
            self._drop(name, "given up for a newer request")
        if do == "ack" and name not in self.processes:
            return
        if len(self.waiting[name]) >= MOST_WAITING and do != "ack":
            self._refuse(message, "too many requests at once; wait for an answer")
            return
        if do != "ack":
            self.waiting[name][number] = time.monotonic()
        if name not in self.processes:
            try:
                self.processes[name] = await self.loop.run_in_executor(None, self._open, name)
            except (OSError, EOFError) as error:
                self._drop(name, f"no process could be started: {error}")
                return
            self.waiting[name] = dict.fromkeys(self.waiting[name], time.monotonic())  # loading does not count
        plain = {**message, "do": "take" if do.startswith("take") else do}
        if not self.processes[name].send(plain):
            self.waiting[name].pop(number, None)
            self._refuse(message, "too many requests at once; wait for an answer")

    def _open(self, name: str) -> ServiceProcess:
        """Start a service; its replies come back to the loop of this page."""
        box: list[ServiceProcess] = []

        def deliver(reply: Sent | None) -> None:
            with suppress(RuntimeError):  # the loop has ended
                self.loop.call_soon_threadsafe(self._arrived, name, box, reply)

        box.append(ServiceProcess(self.context, name, self.files, deliver))
        return box[0]

    def _arrived(self, name: str, box: list[ServiceProcess], reply: Sent | None) -> None:
        if any(process.ended for process in box):
            return
        if reply is None:
            self._drop(name, "the process that computed this ended; it may have needed too much memory")
            return
        if reply.last:
            self.waiting[name].pop(reply.number, None)
        self.outbox.put_nowait(reply.text)

    def _drop(self, name: str, why: str) -> None:
        """End a service, and say so to all who wait for it."""
        self._end(name)
        for number in self.waiting[name]:
            self._post({"kind": "problem", "id": number, "do": None, "message": why, "service": name})
        self.waiting[name].clear()

    def _end(self, name: str) -> None:
        if name in self.processes:
            self.processes.pop(name).kill()

    def _refuse(self, message: dict[str, Any], why: str) -> None:
        self._post({"kind": "problem", "id": message["id"], "do": message["do"], "message": why})

    def _post(self, reply: dict[str, Any]) -> None:
        self.outbox.put_nowait(encoded(reply))


def _parsed(text: str) -> dict[str, Any] | str:
    """A message, or what is wrong with it."""
    if len(text) > MESSAGE_BYTES:
        return f"a message may have {MESSAGE_BYTES:,} bytes"
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return "a message must be JSON"
    if _is_deeper(message, MOST_NESTED):
        return f"a message may be nested {MOST_NESTED} deep"
    if not isinstance(message, dict) or not isinstance(message.get("do"), str):
        return 'a message must say what to do: {"id": 1, "do": "world", ...}'
    number = message.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**53:
        return "a message must have an id, a whole number"
    if message["do"] not in SERVICE_OF and message["do"] != "cancel":
        return f"there is nothing called {message['do'][:40]!r} to do"
    return message


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than so many levels."""
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)
