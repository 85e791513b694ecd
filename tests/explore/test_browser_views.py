"""Every view of the page in a real Chromium: shipped studies, what can be taken away, keys, widths, both themes."""

from __future__ import annotations

import csv
from itertools import product

import pytest

import equirl as eq
from browser_kit import GRID
from equirl.lab.explore.first_view import first_view_of
from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
from equirl.lab.paper.paper_study import paper_runs
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.plan_file import write_plan
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import parse_study
from explore_kit import filled, running, stand_in

pytestmark = pytest.mark.browser

SMALL = """
name = "small"
runs = 2
horizon = 60
measures = ["clustering"]
worlds = ["riverswim:n_states=5", "four-room"]
learners = ["psrl", "random"]
"""
PLANS = {
    "paper": lambda: paper_runs(2),
    "leaderboard": lambda: expand(leaderboard_study(2, ["psrl", "c-psrl", "c-psrl-c"], ["cycle-20", "random-20"])),
    "small": lambda: expand(parse_study(SMALL)),
}
DRAWN = f"#view=world&world={GRID.replace('#', '%23')}"
PLAYED = "#view=learning&world=four-room&learners=c-psrl|ucrl2-l|random&T=300&t=300&runs=2"
VIEWS = {
    "form": "#view=world&world=four-room", "drawn": DRAWN, "nodes": "#view=world&world=random",
    "named": "#view=world&world=access-control", "lake": "#view=world&world=frozen-lake", "lesson": "#lesson=2",
    "matrix": "#view=world&world=riverswim:n_states=350", "not started": "#view=learning&world=four-room",
    "played": PLAYED, "lines": "#view=learning&world=riverswim&learners=psrl&T=300&t=300&runs=1",
    "small": "#view=study", "paper": "#view=study", "leaderboard": "#view=study",
}  # fmt: skip


@pytest.fixture(scope="module")
def study_servers(tmp_path_factory):
    """A server for each kind of results folder, started when it is first asked for."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        started = {}

        def server_of(kind):
            if kind not in started:
                folder = filled(tmp_path_factory.mktemp(kind), PLANS[kind]())
                started[kind] = stack.enter_context(running(first_view_of(str(folder))))
            return started[kind]

        yield server_of


@pytest.fixture
def view(visit, study_servers):
    """Opens a view by its name and waits until all of it is there."""

    def opened(name, **options):
        page = visit(VIEWS[name], study_servers(name) if name in PLANS else None, **options)
        if name in PLANS:
            page.reads("#study-words", r"^(\d+) of \1 runs done")
            page.until(lambda: page.page.locator("#view-study .chart polyline").count() > 0)
        elif "learning" not in VIEWS[name]:
            page.fact("gain")
        elif name != "not started":
            page.reads("#where", "done")
        return page

    return opened


def saved(page, selector, path):
    with page.page.expect_download() as started:
        page.page.locator(selector).click()
    started.value.save_as(path)
    return path.read_bytes()


def test_the_papers_claims_are_shown_and_change_when_runs_land(visit, tmp_path):
    planned = paper_runs(1)
    filled(tmp_path, planned[:6])
    write_plan(planned, Store(tmp_path))
    with running(first_view_of(str(tmp_path))) as own:
        page = visit("#view=study", own)
        page.reads("#study-words", "6 of 28 runs done")
        page.reads("#found-claims h2", "The paper’s claims")
        page.reads(".findings-facts", "Claims that hold: .*Provisional: some results rest on 1 run")
        absent = page.page.locator("#found-claims .verdict", has_text="no data")
        page.until(lambda: absent.count() == 5)  # three figures of regret, two of clustering
        squares = page.page.locator(".chart .published")
        page.until(lambda: squares.count() == 4)
        page.page.locator("#found-claims summary").click()
        for run in planned:
            Store(tmp_path).write(stand_in(run))
        page.reads("#study-words", "28 of 28 runs done")
        page.until(lambda: absent.count() == 0)
        assert page.page.locator("#found-claims").get_attribute("open") is None  # what was shut stays shut
        page.page.locator("#found-maps summary").click()
        page.reads("#found-maps table", "Two-room, 7x7")
        page.page.close()


def test_a_damaged_plan_is_told_on_the_page(visit, tmp_path):
    filled(tmp_path, paper_runs(1)[:2])
    (tmp_path / "plan.json").write_bytes(b"{}")
    with running(first_view_of(str(tmp_path))) as own:
        page = visit("#view=study", own)
        page.reads("#study-complaints", r"plan\.json is damaged.*the runs that are there are taken instead")
        page.page.close()


def test_the_leaderboards_page_is_shown_and_leads_to_its_worlds(view, tmp_path):
    page = view("leaderboard")
    page.reads("#found-when", "nothing known, any world")
    page.reads("#found-expected", "without structure c-psrl has at most 1.05 times the regret of psrl")
    page.reads("#found-failures", "locked in")
    page.page.locator("#found-matrix").get_by_role("button", name="random-20").click()
    page.until(lambda: page.told("curves")[0]["part"] == "random-20")
    page.until(lambda: "part=random-20" in page.page.url)
    assert page.page.locator("#view-study select").first.evaluate("e => e === document.activeElement")
    page.page.locator("#take").click()
    world = saved(page, "[data-take=npz]", tmp_path / "world.npz")
    assert world == saved(page, "[data-take=npz]", tmp_path / "again.npz")
    assert eq.TabularMDP.load(tmp_path / "world.npz").n_states == 20
    page.reads("pre[data-text=toml]", "seed = 2024")
    page.reads("pre[data-text=py]", "parse_study")


def test_the_report_of_a_study_is_written_aside_and_can_be_given_up(view, tmp_path):
    page = view("leaderboard")
    page.page.locator("#take").click()
    button = page.page.locator("[data-take=html]")
    button.click()
    page.reads("[data-take=html]", "Writing … cancel")
    page.page.get_by_role("button", name="Close").click()
    page.page.locator("#take").click()
    button.click()
    page.reads("dialog .error", "cancelled")
    page.reads("[data-take=html]", "Report, HTML")
    text = saved(page, "[data-take=html]", tmp_path / "board.html").decode()
    assert "Leaderboard: which learner, in which world" in text
    assert "data:image/svg+xml" in text


def test_a_link_restores_the_world_and_measure_of_a_study(view, visit, study_servers):
    page = view("small")
    page.page.get_by_label("part").select_option(label="small: four-room")
    page.until(lambda: page.told("curves")[0]["world"] == "four-room")
    page.page.locator("#view-study").get_by_label("What is drawn").select_option("misclustering_ratio")
    page.page.get_by_label("logarithmic").last.check()
    page.until(lambda: "place=four-room" in page.page.url and "log=1" in page.page.url)
    page.until(lambda: page.told("curves")[0]["measure"] == "misclustering_ratio")
    again = visit(page.page.url[page.page.url.index("#") :], study_servers("small"))
    again.until(lambda: again.told("curves") and again.told("curves")[0]["measure"] == "misclustering_ratio")
    assert again.told("curves")[0]["world"] == "four-room"
    again.reads("#view-study .chart .titles", "logarithmic")


def test_learners_can_be_taken_away_as_they_are(view, tmp_path):
    page = view("played")
    page.page.locator("#take").click()
    assert saved(page, "[data-take=svg][data-of=learners]", tmp_path / "l.svg").startswith(b"<?xml")
    assert saved(page, "[data-take=png][data-of=learners]", tmp_path / "l.png").startswith(b"\x89PNG")
    saved(page, "[data-take=csv][data-of=learners]", tmp_path / "l.csv")
    with open(tmp_path / "l.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["learner"] for row in rows} == {"c-psrl", "ucrl2-l", "random"}
    for name in ("c-psrl", "random"):
        assert sum(int(row["visits"]) for row in rows if row["learner"] == name) == 300
    saved(page, "[data-take=npz]", tmp_path / "w.npz")
    assert eq.TabularMDP.load(tmp_path / "w.npz") == eq.make("four-room")


def test_preparing_learners_can_be_given_up(visit):
    page = visit("#view=learning&world=random:n_states=400,branching=200&learners=c-ucrl3&T=1000&runs=20")
    page.page.locator("#start").click()
    page.reads("#start", "Preparing … cancel")
    assert page.page.locator("#where").text_content().startswith("preparing")
    page.page.locator("#start").click()
    page.reads("#start", "^Start$")
    assert page.page.locator("#view-learning .error.big").is_hidden()
    assert page.page.locator("#where").text_content() == "not started"


def test_a_world_that_takes_long_can_be_given_up(visit):
    page = visit("#view=world&world=four-room")
    page.fact("S", "^20$")
    page.page.get_by_label("world", exact=True).select_option("random")
    page.until(lambda: page.told("world")[0]["S"] == eq.make("random").n_states)
    page.page.get_by_label("n states").fill("3000")
    page.page.get_by_label("branching").fill("500")
    page.page.locator(".working button").click()
    page.reads("#view-world .error.big", "cancelled")
    page.page.get_by_label("n states").fill("12")
    page.page.get_by_label("branching").fill("3")
    page.fact("S", "^12$")


def test_a_world_that_is_none_leaves_nothing_to_press(visit):
    page = visit("#view=world&world=nowhere")
    page.reads("#view-world .error.big", "unknown world 'nowhere'")
    assert page.page.locator("#draw-it").is_hidden()
    page.page.get_by_label("world", exact=True).select_option("two-room")
    page.fact("gain")
    assert page.page.locator("#draw-it").is_visible()


@pytest.mark.parametrize("name", VIEWS)
def test_no_view_runs_out_of_the_page_or_says_an_error(view, name):
    page = view(name)
    for width, theme in product((1280, 400), ("light", "dark")):
        page.page.set_viewport_size({"width": width, "height": 800})
        page.page.emulate_media(color_scheme=theme)
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, theme)
        page.page.locator("#take").click()
        page.until(lambda: "…" not in page.page.locator("dialog pre").all_text_contents())
        assert page.page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth"), (width, theme)
        page.page.get_by_role("button", name="Close").click()
    assert page.errors == []


REACHABLE = """() => Array.from(document.querySelectorAll(
  'a[href], button, input, select, summary, pre[tabindex], canvas[tabindex], svg[tabindex], [role=region][tabindex]'))
  .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0)"""
NAMED = "(e) => `${e.tagName} ${e.id || e.getAttribute('aria-label') || e.textContent.trim().slice(0, 30)}`"


@pytest.mark.parametrize("name", ["form", "drawn", "nodes", "lesson", "not started", "played", "leaderboard"])
def test_tab_reaches_everything_in_the_order_of_the_page_and_shows_where_it_is(view, name):
    page = view(name)
    if name in ("form", "drawn", "nodes", "lesson"):
        page.fact("diameter")
    page = page.page
    wanted = page.evaluate(f"() => ({REACHABLE})().map({NAMED})")
    found, unseen = [], []
    page.evaluate("document.activeElement.blur()")
    for _ in range(len(wanted)):
        page.keyboard.press("Tab")
        found.append(page.evaluate(f"() => ({NAMED})(document.activeElement)"))
        seen = page.evaluate(
            "() => { const s = getComputedStyle(document.activeElement);"
            " return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; }"
        )
        unseen += [] if seen else [found[-1]]
    assert found == wanted
    assert unseen == []


def test_the_dialog_keeps_the_keys_and_gives_them_back(view):
    page = view("form").page
    page.locator("#take").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('dialog').open")
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "take"
