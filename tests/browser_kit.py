"""Pages of explore in a real Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from explore_kit import wait_for

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
MISSING = (
    "no Chromium was found, so the page was not tried in a browser: install one (apt-get install chromium), or name it "
    "in the environment variable EQUIRL_BROWSER"
)
GRID = "grid:map=" + "/".join(["#######", "#S....#", "#.....#", "#....G#", "#######"])
SECONDS = 300_000  # milliseconds that anything may take


def browser_program():
    """Where Chromium is; the tests are skipped without one, but where EQUIRL_NEEDS_BROWSER is set, as it is by
    ``make test-browser``, they fail."""
    found = os.environ.get("EQUIRL_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and os.environ.get("EQUIRL_NEEDS_BROWSER"):
        pytest.fail(MISSING)
    if found is None:
        pytest.skip(MISSING)
    return found


class Visit:
    """A page in the browser, and what went over its socket."""

    def __init__(self, browser, server, state="", **options):
        self.server, self.errors, self.hosts = server, [], set()
        self.sent, self.received = [], []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        self.page.on("websocket", self._listen)
        self.open(f"http://127.0.0.1:{server.port}/?token={server.token}{state}")

    def open(self, address):
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready]")

    def _listen(self, socket):
        socket.on("framesent", lambda text: self.sent.append(json.loads(text)))
        socket.on("framereceived", lambda text: self.received.append(json.loads(text)))

    def told(self, kind):
        """What the server said of a kind, the last first."""
        return [reply for reply in reversed(self.received) if reply["kind"] == kind]

    def asked(self, do):
        """What the page asked for, of a kind."""
        return [message for message in self.sent if message["do"] == do]

    def reads(self, selector, pattern):
        """Wait until something on the page reads like that; its text."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector).first).to_have_text(re.compile(pattern), timeout=SECONDS)
        return self.page.locator(selector).first.text_content()

    def until(self, condition):
        """Wait until a condition holds; what comes over the socket is heard meanwhile."""
        wait_for(lambda: self.page.wait_for_timeout(10) or condition())

    def fact(self, name, pattern=r"^[\d,.]+$"):
        return self.reads(f"#fact-{name}", pattern)

    def board(self, title):
        """The canvas of a panel, where a cell lies on it, and a function that gives the middle of a cell."""
        canvas = (
            self.page.locator("figure", has=self.page.locator("figcaption", has_text=re.compile(title)))
            .locator("canvas")
            .first
        )
        canvas.wait_for()

        def middle(row, column, rows, columns):
            box = canvas.bounding_box()
            return box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / rows

        return canvas, middle

    def close(self):
        self.context.close()
