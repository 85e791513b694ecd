"""What readers of the page stumbled over, in a real Chromium: playing, colours that stay, old facts, lessons."""

from __future__ import annotations

import re

import pytest

import equirl as eq
from browser_kit import GRID
from equirl.lab.plots.canvas import LEARNER_STYLES, OTHER_STYLES

pytestmark = pytest.mark.browser

CHIPS = """Array.from(document.querySelectorAll('#view-world tbody tr'), (row) => [
  `${row.cells[2].textContent} ${row.cells[3].textContent}`,
  getComputedStyle(row.querySelector('.chip')).backgroundColor])"""


def test_start_sets_up_and_play_plays(visit):
    page = visit("#view=learning&world=four-room&learners=psrl&T=300&runs=1")
    page.page.locator("#start").click()
    page.reads("#where", "^0 of 300 steps, ready: Play, or Step$")
    assert page.asked("play") == []
    assert page.page.locator("#play").text_content() == "Play"
    assert page.page.evaluate("document.activeElement.id") == "play"
    page.page.locator("#play").click()
    page.reads("#where", "^300 of 300 steps, done$")


def test_a_pause_says_so(visit):
    page = visit("#view=learning&world=riverswim&learners=psrl&T=200000&runs=1&speed=2")
    page.page.locator("#play").click()
    page.reads("#where", "^[1-9].*playing$")
    page.page.locator("#play").click()
    page.reads("#where", "^[1-9].*paused$")


def test_classes_keep_their_colours_while_a_map_is_edited(visit):
    page = visit(f"#view=world&world={GRID.replace('#', '%23')}")
    page.fact("S", "^15$")
    before = dict(page.page.evaluate(CHIPS))
    _, middle = page.board("draw here")
    order = []
    for k, cell in enumerate([(2, 3), (1, 3), (2, 5), (3, 2)]):
        page.page.mouse.click(*middle(*cell, 5, 7))
        page.fact("S", f"^{14 - k}$")
        now = page.page.evaluate(CHIPS)
        order.append([law for law, _ in now])
        after = dict(now)
        assert {law: after[law] for law in before.keys() & after.keys()} == {
            law: before[law] for law in before.keys() & after.keys()
        }
        assert len(set(after.values())) == len(after)
        before |= after
    assert len({tuple(laws[:3]) for laws in order}) > 1  # by size alone they would have changed


def test_swatches_follow_the_theme(visit):
    page = visit("#view=learning&world=four-room&learners=ucrl2-l&T=100&t=100&runs=1", color_scheme="light")
    page.reads("#where", "done")
    chip = "getComputedStyle(document.querySelector('.learner h3 .chip')).backgroundColor"
    line = "getComputedStyle(document.querySelector('.chart polyline')).stroke"
    assert {page.page.evaluate(chip), page.page.evaluate(line)} == {"rgb(0, 0, 0)"}
    page.page.locator("#theme").click()
    assert {page.page.evaluate(chip), page.page.evaluate(line)} == {"rgb(232, 234, 238)"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_map_is_painted_anew_in_the_other_theme(visit, theme):
    page = visit("#view=world&world=four-room", color_scheme=theme)
    page.fact("gain")
    corner = "Array.from(document.querySelector('#view-world canvas').getContext('2d').getImageData(3, 3, 1, 1).data)"
    wall = {"light": [57, 66, 78, 255], "dark": [7, 9, 12, 255]}
    assert page.page.evaluate(corner) == wall[theme]
    page.page.locator("#theme").click()
    assert page.page.evaluate(corner) == wall["dark" if theme == "light" else "light"]


def test_another_world_shows_no_gain_of_the_last(visit):
    page = visit("#view=world&world=four-room")
    gain = page.fact("gain")
    page.page.evaluate(
        "new MutationObserver(() => { const gain = document.getElementById('fact-gain');"
        " (window.seen ??= []).push(document.getElementById('fact-S').textContent + ' ' + gain.textContent); })"
        ".observe(document.querySelector('.facts'), {subtree: true, childList: true, characterData: true})"
    )
    page.page.get_by_label("world", exact=True).select_option("riverswim")
    page.fact("gain", f"^{eq.solve(eq.make('riverswim')).gain:.5g}$")
    seen = page.page.evaluate("window.seen")
    assert "25 …" in seen
    assert f"25 {gain}" not in seen


@pytest.mark.parametrize("width", [1280, 1181, 1180, 800, 761, 400])
def test_the_kind_of_chain_is_read_whole(visit, width):
    page = visit("#view=world&world=four-room", viewport={"width": width, "height": 800})
    page.fact("chain", "^communicating$")
    box = "document.getElementById('fact-chain')"
    assert page.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")


@pytest.mark.parametrize(
    ("world", "panels", "words"),
    [
        ("frozen-lake", ["map and an optimal policy", "left", "down", "right", "up"], ""),
        ("access-control", ["states and an optimal policy", "accept", "reject"], "the first part (0 to 10) across"),
    ],
)
def test_grids_are_drawn_as_grids(visit, world, panels, words):
    page = visit(f"#view=world&world={world}")
    page.fact("gain")
    assert page.page.locator("#view-world figcaption").all_text_contents() == panels
    assert page.page.locator(".node-link").count() == 0
    assert words in page.page.locator(".pictures").text_content()
    assert page.page.locator("#draw-it").is_hidden()


@pytest.mark.parametrize("world", ["random", "planted", "cycle", "taxicab"])
def test_other_worlds_lie_by_flow_and_no_disc_on_another(visit, world):
    page = visit(f"#view=world&world={world}")
    page.fact("gain")
    discs = page.page.evaluate(
        "Array.from(document.querySelectorAll('.node-link g[transform]'), (g) => g.transform.baseVal[0].matrix)"
        ".map((m) => [m.e, m.f])"
    )
    mdp = eq.make(world)
    assert len(discs) == mdp.n_states
    for k, (x, y) in enumerate(discs):
        assert all(abs(x - u) + abs(y - v) > 20 for u, v in discs[:k])
    if world != "cycle":
        first = int(mdp.initial.argmax())
        assert all(x >= discs[first][0] for x, _ in discs)


@pytest.mark.parametrize("step", range(1, 6))
def test_a_step_of_the_lesson_is_a_link(visit, step):
    page = visit(f"#lesson={step}")
    page.reads(".lesson .note", f"Lesson, {step} of 5")
    page.reads(".lesson code", f"equirl explore lesson={step}")
    view = "world" if step < 3 else "learning"
    assert page.page.locator(f"#view-{view}").is_visible()
    assert page.page.get_by_role("link", name="Next").count() == (step < 5)
    assert page.page.get_by_role("link", name="Back").count() == (step > 1)
    page.until(lambda: f"lesson={step}&view={view}&world=" in page.page.evaluate("location.hash"))


def test_the_lesson_is_walked_through_and_left(visit):
    page = visit("")
    page.page.locator("#to-lesson").click()
    page.reads(".lesson h2", "What is alike")
    page.fact("S", "^40$")
    page.page.get_by_role("link", name="Next").click()
    page.reads(".lesson h2", "What is shared")
    page.reads(".pair-title", "2,2, up")
    page.page.get_by_role("link", name="Leave").click()
    page.page.locator(".lesson").wait_for(state="hidden")


def test_a_step_that_is_asked_for_while_the_address_is_written_is_shown(visit):
    page = visit("#lesson=1")
    page.page.evaluate("location.hash = 'lesson=2'; history.replaceState(null, '', '#lesson=1')")
    page.reads(".lesson h2", "What is shared")


def test_what_the_lesson_says_of_its_worlds_is_so(visit):
    text = visit("#lesson=1").page.locator(".lesson").text_content()
    rooms, queue = eq.make("four-room", height=9, width=9), eq.make("random")
    n_classes = eq.equivalence_classes(rooms).n_classes
    assert f"{rooms.n_pairs} pairs, and only {n_classes} classes" in text
    text = visit("#lesson=2").page.locator(".lesson").text_content()
    assert f"{eq.equivalence_classes(rooms).sizes.max()} pairs of the largest class" in text
    text = visit("#lesson=5").page.locator(".lesson").text_content()
    assert f"{queue.n_pairs} pairs and {eq.equivalence_classes(queue).n_classes} classes" in text


def test_a_link_may_bring_a_world_of_its_own_to_a_step(visit):
    page = visit("#lesson=1&world=two-room")
    page.reads(".lesson h2", "What is alike")
    page.fact("S", f"^{eq.make('two-room').n_states}$")


def test_a_learner_without_a_style_of_its_own_looks_like_no_other(visit):
    page = visit("#view=learning&world=four-room&learners=psrl|ucrl2-l-vm&T=100&t=100&runs=1")
    page.reads("#where", "done")
    strokes = [line.get_attribute("stroke") for line in page.page.locator(".chart polyline").all()]
    assert LEARNER_STYLES["psrl"].color in strokes
    assert any(OTHER_STYLES[0].color in stroke for stroke in strokes)
    assert re.search("light-dark", " ".join(strokes))
