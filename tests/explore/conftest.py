"""A browser for the tests of a module, a server, and pages on it."""

from __future__ import annotations

import pytest

from browser_kit import FLAGS, Visit, browser_program
from explore_kit import running


@pytest.fixture(scope="module")
def browser():
    program = browser_program()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def served(browser):
    with running() as found:
        yield found


@pytest.fixture
def visit(browser, served):
    """Opens pages, on the server of the module or one that is given; none may have had an error or asked elsewhere."""
    visits = []

    def opened(state="", server=None, **options):
        visits.append(Visit(browser, server or served, state, **options))
        return visits[-1]

    yield opened
    for one in visits:
        assert one.errors == []
        assert one.hosts <= {f"127.0.0.1:{one.server.port}"}
        one.close()
