"""The page of explore in a real Chromium: drawn on, pointed at, played, taken away, restored, broken."""

from __future__ import annotations

import re

import numpy as np
import pytest

import equirl as eq
from browser_kit import GRID, SECONDS, Visit
from equirl.lab.explore.first_view import FirstView, first_view_of
from equirl.lab.studies.engines import LocalEngine
from equirl.lab.studies.execution import run_study
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import parse_study
from explore_kit import running

pytestmark = pytest.mark.browser


def test_a_grid_is_drawn_by_hand_and_undone(visit):
    page = visit(f"#view=world&world={GRID.replace('#', '%23')}")
    assert page.fact("S", "^15$") == "15"
    _, middle = page.board("draw here")
    page.page.mouse.click(*middle(2, 3, 5, 7))
    page.fact("S", "^14$")
    walled = eq.make("grid", map="#######/#S....#/#..#..#/#....G#/#######")
    assert page.told("world")[0]["C"] == eq.equivalence_classes(walled).n_classes
    gain = page.fact("gain", f"^{eq.solve(walled).gain:.5g}$")
    page.page.mouse.move(*middle(1, 4, 5, 7))
    page.page.mouse.down()
    page.page.mouse.move(*middle(2, 4, 5, 7), steps=4)
    page.page.mouse.up()
    page.fact("S", "^12$")
    page.page.keyboard.press("Control+z")
    page.fact("S", "^14$")
    page.page.get_by_role("button", name="Undo").click()
    page.fact("S", "^15$")
    assert gain != page.fact("gain", f"^{eq.solve(eq.load_world(GRID)).gain:.5g}$")
    page.page.get_by_role("button", name="Redo").click()
    page.fact("S", "^14$")


def test_a_stroke_goes_on_while_answers_come(visit):
    page = visit(f"#view=world&world={GRID.replace('#', '%23')}")
    page.fact("S", "^15$")
    canvas, middle = page.board("draw here")
    page.page.mouse.move(*middle(2, 1, 5, 7))
    page.page.mouse.down()
    for column in range(1, 5):
        page.page.mouse.move(*middle(2, column, 5, 7))
        page.fact("S", f"^{15 - column}$")
    page.page.mouse.up()
    page.page.get_by_role("button", name="Undo").click()
    page.fact("S", "^15$")
    canvas.focus()
    for column in range(1, 4):
        page.page.keyboard.press("ArrowDown" if column == 1 else "ArrowRight")
        page.page.keyboard.press("Enter")
        page.fact("S", f"^{15 - column}$")


def test_rewards_start_and_goal_are_drawn_and_a_map_without_a_goal_is_refused_in_words(visit):
    page = visit(f"#view=world&world={GRID.replace('#', '%23')}")
    _, middle = page.board("draw here")
    page.page.get_by_role("button", name="Reward").click()
    page.page.mouse.click(*middle(1, 5, 5, 7))
    rows = "#######/#S...5#/#.....#/#....G#/#######"
    page.until(lambda: page.told("world")[0]["name"].endswith(rows))
    page.page.get_by_role("button", name="Floor").click()
    page.page.mouse.click(*middle(3, 5, 5, 7))
    page.reads(".error.big", "the map has no goal")
    page.page.get_by_role("button", name="Goal").click()
    page.page.mouse.click(*middle(2, 2, 5, 7))
    page.page.locator("#view-world .error.big").wait_for(state="hidden")
    page.fact(
        "gain", f"^{eq.solve(eq.make('grid', map=rows.replace('G', '.').replace('#.....#', '#.G...#', 1))).gain:.5g}$"
    )


def test_a_slider_changes_the_kernel_and_the_facts_follow(visit):
    page = visit("#view=world&world=four-room")
    page.fact("gain", f"^{eq.solve(eq.make('four-room')).gain:.5g}$")
    slider = page.page.get_by_label("Probability: forward")
    slider.focus()
    for _ in range(10):
        page.page.keyboard.press("ArrowRight")
    best = eq.solve(eq.make("four-room", kernel="0.8/0.05/0.1"))
    page.fact("gain", f"^{best.gain:.5g}$")
    assert "kernel%3Dappendix" in page.page.url


def test_pointing_at_a_pair_lights_its_class_and_draws_its_profile(visit):
    page = visit("#view=world&world=four-room")
    page.fact("C")
    canvas, middle = page.board("^up$")
    before = canvas.screenshot()
    page.page.mouse.move(*middle(2, 1, 7, 7))
    mdp = eq.make("four-room")
    pair = mdp.pairs.index("2,1", "up")
    page.reads(".pair-title", "2,1, up")
    bars = page.page.locator(".bars li").all_inner_texts()
    told = eq.profiles(mdp)
    assert [float(bar.split()[-1]) for bar in bars] == pytest.approx(told.profile(pair).tolist())
    names = [mdp.pairs.state_names[s] for s in told.order(pair)]
    assert [bar.split()[1] for bar in bars] == names
    assert canvas.screenshot() != before
    page.page.mouse.click(*middle(2, 1, 7, 7))
    page.reads(".kept", "kept")
    page.until(lambda: f"pair={pair}" in page.page.evaluate("location.hash"))


def test_a_world_without_a_map_is_drawn_as_nodes_and_a_large_one_as_a_matrix(visit):
    page = visit("#view=world&world=riverswim")
    page.until(lambda: page.page.locator(".node-link .slice").count() == eq.make("riverswim").n_pairs)
    page.page.locator(".node-link .slice").nth(3).hover()
    page.reads(".pair-title", "right|left")
    assert page.page.locator(".node-link .flows path").count() > 0
    page.until(lambda: page.page.locator(".node-link .slice.dim").count() > 0)
    page.page.get_by_label("n states").fill("400")
    page.fact("S", "^400$")
    page.reads(".panels .note", "States sorted by class")


def test_wrong_input_is_told_where_it_arises_and_mended(visit):
    page = visit("#view=world&world=four-room")
    page.fact("S", "^20$")
    height = page.page.get_by_label("height")
    height.fill("3")
    page.reads(".field:has(input[aria-invalid]) .error", "height must be at least 5, not 3")
    height.fill("x")
    page.reads(".field:has(input[aria-invalid]) .error", "height must be an integer")
    height.fill("9")
    page.fact("S", "^28$")
    assert page.page.locator("input[aria-invalid]").count() == 0
    page.page.get_by_role("tab", name="Learning").click()
    page.page.get_by_label("Settings of c-psrl").fill("alpha=-2")
    page.reads(".learners .error:visible", "alpha")


def test_three_learners_play_to_the_end_with_the_numbers_of_simulate(visit):
    page = visit("#view=learning&world=four-room&learners=c-psrl|c-ucrl|ucrl2-l&T=800&seed=5&runs=2")
    page.page.locator("#play").click()
    page.reads("#where", "800 of 800 steps, done")
    mdp, frame = eq.make("four-room"), page.told("frame")[0]
    for label in ("c-psrl", "c-ucrl", "ucrl2-l"):
        runs = [eq.simulate(mdp, label, 800, seed=seed).regret for seed in (5, 6)]
        np.testing.assert_array_equal(frame["curves"][label]["regret"]["mean"], np.mean(runs, axis=0))
    assert page.page.locator(".learner").count() == 3
    assert page.page.locator(".chart polyline").count() == 3
    assert page.page.locator(".chart polygon").count() == 3
    page.page.get_by_label("logarithmic").first.check()
    page.reads(".chart .titles", "logarithmic")


def test_play_pauses_steps_and_goes_on(visit):
    page = visit("#view=learning&world=riverswim&learners=psrl|ucrl2-l&T=200000&runs=1&speed=2")
    page.page.locator("#step").click()
    page.reads("#where", "^[1-9]")
    plans = page.told("frame")[0]["learners"][1]["episodes"]
    page.page.locator("#step").click()
    page.until(lambda: page.told("frame")[0]["learners"][1]["episodes"] > plans)
    page.page.locator("#play").click()
    page.reads("#play", "Pause")
    before = page.told("frame")[0]["t"]
    page.until(lambda: page.told("frame")[0]["t"] > before)
    page.page.locator("#play").click()
    page.reads("#play", "Play")

    def rested():
        before = page.told("frame")[0]["t"]
        page.page.wait_for_timeout(300)
        return page.told("frame")[0]["t"] == before

    page.until(rested)  # frames on their way still arrive
    rest = page.told("frame")[0]["t"]
    assert rest < 200_000
    page.page.wait_for_timeout(500)
    assert page.told("frame")[0]["t"] == rest


def test_what_is_taken_away_is_what_is_shown(visit, tmp_path):
    page = visit("#view=learning&world=ergodic-riverswim%3An_states%3D5&learners=c-psrl&T=1000&runs=1")
    page.page.locator("#play").click()
    page.reads("#where", "done")
    page.page.locator("#take").click()
    names = {}
    code = page.reads("pre[data-text=py]", "simulate_many")
    exec(code.replace("print(table)", ""), names)
    np.testing.assert_array_equal(
        names["table"].curves["c-psrl"].mean("regret"), page.told("frame")[0]["curves"]["c-psrl"]["regret"]["mean"]
    )
    page.reads("pre[data-text=toml]", 'worlds = \\["ergodic-riverswim:n_states=5"\\]')
    for what, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("csv", b"learner,seed,t,regret")):
        with page.page.expect_download() as started:
            page.page.locator(f"[data-take={what}]:not([data-of])").click()
        started.value.save_as(tmp_path / what)
        assert (tmp_path / what).read_bytes().startswith(head)
    page.page.get_by_role("button", name="Close").click()
    page.page.get_by_role("tab", name="World").click()
    page.page.locator("#take").click()
    with page.page.expect_download() as started:
        page.page.locator("[data-take=npz]").click()
    started.value.save_as(tmp_path / "world.npz")
    assert eq.TabularMDP.load(tmp_path / "world.npz") == eq.make("ergodic-riverswim", n_states=5)


def test_a_link_restores_the_view(visit):
    page = visit(f"#view=world&world={GRID.replace('#', '%23')}")
    _, middle = page.board("draw here")
    page.page.mouse.click(*middle(2, 2, 5, 7))
    page.fact("S", "^14$")
    _, middle = page.board("^left$")
    page.page.mouse.click(*middle(1, 3, 5, 7))
    page.reads(".pair-title", "1,3, left")
    page.page.get_by_role("tab", name="Learning").click()
    page.page.get_by_label("steps", exact=True).fill("600")
    page.page.get_by_label("steps", exact=True).press("Enter")
    page.page.locator("#play").click()
    page.reads("#where", "done")
    page.page.locator("#take").click()
    link = page.page.locator("#link-here").input_value()
    again = visit(link[link.index("#") :])
    again.reads("#where", "600 of 600 steps, done")
    assert again.told("frame")[0]["curves"] == page.told("frame")[0]["curves"]
    again.page.get_by_role("tab", name="World").click()
    again.fact("S", "^14$")
    again.reads(".pair-title", "1,3, left")


def test_two_pages_go_their_own_ways(visit):
    one, two = visit("#view=world&world=riverswim"), visit("#view=world&world=four-room")
    two.fact("S", "^20$")
    one.page.get_by_label("n states").fill("9")
    one.fact("S", "^9$")
    assert two.fact("S") == "20"
    for page, steps in ((one, "700"), (two, "900")):
        page.page.get_by_role("tab", name="Learning").click()
        page.page.get_by_label("steps", exact=True).fill(steps)
        page.page.locator("#play").click()
    one.reads("#where", "700 of 700 steps, done")
    two.reads("#where", "900 of 900 steps, done")


def test_light_and_dark_follow_the_system_and_the_reader(visit):
    page = visit("#view=world&world=four-room", color_scheme="dark")
    page.fact("C")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.page.evaluate(ground)
    assert page.page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.page.locator("#theme").click()
    assert page.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.page.evaluate(ground) != dark


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize(
    "state", ["#view=world&world=four-room", "#view=world&world=taxi", "#view=learning&world=riverswim&T=300&t=300"]
)
def test_nothing_runs_out_of_the_page(visit, width, state):
    page = visit(state, viewport={"width": width, "height": 800})
    if "learning" in state:
        page.reads("#where", "done")
    else:
        page.fact("gain")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_everything_is_reached_by_keys(visit):
    page = visit(f"#view=world&world={GRID.replace('#', '%23')}")
    page.fact("S", "^15$")
    canvas, _ = page.board("draw here")
    canvas.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.page.keyboard.press(key)
    page.fact("S", "^14$")
    page.page.keyboard.press("Control+z")
    page.fact("S", "^15$")
    page.board("^up$")[0].focus()
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Enter")
    page.reads(".pair-title", "1,2, up")
    page.page.get_by_role("tab", name="World").focus()
    page.page.keyboard.press("ArrowRight")
    assert page.page.locator("#view-learning").is_visible()


def test_the_first_paint_waits_for_nothing_to_be_computed(browser, served):
    context = browser.new_context()
    page = context.new_page()
    page.route_web_socket(re.compile("/page"), lambda _: None)  # nothing is ever answered
    page.goto(f"http://127.0.0.1:{served.port}/?token={served.token}#view=world&world=four-room")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length", timeout=SECONDS)
    context.close()


@pytest.mark.parametrize("side", [30, 100])
def test_a_click_is_one_question_and_one_answer(visit, side):
    walls = "#" * side
    rows = [walls, f"#S{'.' * (side - 3)}#", *[f"#{'.' * (side - 2)}#"] * (side - 4), f"#{'.' * (side - 3)}G#", walls]
    page = visit(f"#view=world&world=grid%3Amap%3D{'/'.join(rows).replace('#', '%23')}")
    page.fact("S", f"^{(side - 2) ** 2:,}$")
    _, middle = page.board("draw here")
    for k in range(7):
        asked, told = len(page.asked("world")), len(page.told("world"))
        page.page.mouse.click(*middle(3 + 2 * k, 5, side, side))
        page.until(lambda told=told: len(page.told("world")) > told)
        assert (len(page.asked("world")), len(page.told("world"))) == (asked + 1, told + 1)


def test_a_study_is_shown_while_its_runs_land(browser, tmp_path):
    text = 'name = "s"\nruns = 2\nhorizon = 200\nworlds = ["riverswim:n_states=5"]\nlearners = ["psrl", "random"]'
    run_study(expand(parse_study(text)), Store(tmp_path), LocalEngine(1), quiet=True)
    last = max((tmp_path / "runs").iterdir())
    held = last.read_bytes()
    last.unlink()
    with running(first_view_of(str(tmp_path))) as own:
        page = Visit(browser, own, first_view_of(str(tmp_path)).fragment)
        page.reads("#study-words", "3 of 4 runs done")
        last.write_bytes(held)
        page.reads("#study-words", "4 of 4 runs done")
        rows = page.page.locator("#view-study table").first.locator("tbody tr")
        assert {rows.nth(k).locator("td").first.text_content() for k in range(2)} == {"psrl", "random"}
        assert page.page.locator("#view-study .chart polyline").count() == 2
        with page.page.expect_download() as started:
            page.page.locator("#take").click()
            page.page.locator("[data-take=csv]").click()
        started.value.save_as(tmp_path / "table.csv")
        assert len((tmp_path / "table.csv").read_text().splitlines()) == 3
        assert page.errors == []
        page.close()


def test_a_server_that_stops_is_told_and_what_is_shown_stays(browser):
    with running(FirstView()) as own:
        page = Visit(browser, own, "#view=learning&world=four-room&learners=psrl&T=5000000&runs=1")
        page.page.locator("#play").click()
        page.reads("#where", "^[1-9]")
        own.stop()
        page.reads("#lost", "The server has stopped")
        page.page.get_by_role("tab", name="World").click()
        assert page.fact("S", "^20$") == "20"
        page.close()


def test_a_wrong_token_is_told(browser, served):
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(f"http://127.0.0.1:{served.port}/?token=wrong")
    assert answer.status == 403
    assert "open the address that equirl explore printed" in page.inner_text("body")
    context.close()
