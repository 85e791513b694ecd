"""What the page says of the shipped studies: the paper's claims and the leaderboard's page, while runs land."""

from __future__ import annotations

import base64
import json
import math
import tomllib

import pytest

from equirl.lab.explore import results_watch
from equirl.lab.explore.messages import encoded
from equirl.lab.explore.results_watch import ResultsWatch
from equirl.lab.explore.study_service import StudyService, class_tables, shipped_kind
from equirl.lab.explore.takeaway import place_as_python, place_as_study
from equirl.lab.leaderboard import board_page
from equirl.lab.leaderboard.board_page import write_page
from equirl.lab.leaderboard.expectations import advise, check_expectations
from equirl.lab.leaderboard.leaderboard_study import leaderboard_study
from equirl.lab.leaderboard.standings import boards
from equirl.lab.paper.claims import check_claims
from equirl.lab.paper.paper_study import map_rows, paper_runs
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.plan_file import write_plan
from equirl.lab.studies.runs import RunFailure, build_world, execute
from equirl.lab.studies.store import Store
from equirl.lab.studies.study_file import parse_study
from equirl.lab.studies.summary import final_rows, summarise
from explore_kit import filled, stand_in

LEARNERS = ["ucrl2-l", "psrl", "c-psrl", "c-psrl-c-sigma"]
SMALL = """
name = "small"
seed = {seed}
runs = 2
horizon = 60
worlds = [{{ world = "riverswim", params = {{ n_states = 5 }}, label = "a $river" }}, "four-room"]
learners = ["random", {{ learner = "c-psrl", settings = {{ alpha = 0.7 }}, label = "ours" }}]
"""


def told(service, do="study", **fields):
    replies = list(service.handle({"do": do, **fields}))
    while service.pause() == 0.0:
        replies += list(service.tick())
    return {reply["kind"]: json.loads(encoded(reply)) for reply in replies}


def taken(service, what, **fields):
    return base64.b64decode(next(iter(service.handle({"do": "take", "what": what, **fields})))["base64"])


def words(cell):
    return cell if isinstance(cell, str) else cell["text"]


@pytest.fixture(autouse=True)
def all_is_read_at_once(monkeypatch):
    """However slow the machine is: between two messages a service reads for a while only."""
    monkeypatch.setattr(results_watch, "READ", math.inf)


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    folder, planned = tmp_path_factory.mktemp("paper"), paper_runs(2)
    return StudyService({"results": filled(folder, planned)}), summarise((run, stand_in(run)) for run in planned)


@pytest.fixture(scope="module")
def leaderboard(tmp_path_factory):
    planned = expand(leaderboard_study(2, LEARNERS, ["cycle-20", "random-20", "river-25"]))
    folder = tmp_path_factory.mktemp("board")
    return (
        StudyService({"results": filled(folder, planned)}),
        boards(summarise((run, stand_in(run)) for run in planned), planned),
        folder,
    )


def test_the_papers_claims_are_shown_with_their_verdicts(paper):
    service, groups = paper
    found = told(service)["findings"]
    (section,) = found["sections"]
    claims = check_claims(groups)
    rows = [row for row in section["table"]["rows"] if isinstance(row, list)]
    assert [row[3]["text"] for row in rows] == [claim.verdict for claim in claims]
    assert [(words(row[0]).rstrip(" *"), row[1], row[2]) for row in rows] == [
        (claim.statement, claim.published, claim.measured) for claim in claims
    ]
    subjects = [row["heading"] for row in section["table"]["rows"] if isinstance(row, dict)]
    assert subjects == list(dict.fromkeys(claim.subject for claim in claims))
    assert {(row[3]["text"], row[3]["verdict"]) for row in rows} >= {("not reproduced", "bad"), ("reported", "plain")}
    assert "Claims that hold" in found["facts"]
    assert "rest on 2 runs" in found["banner"]


def test_published_values_stand_beside_those_of_the_papers_study_alone(paper, tmp_path):
    service, _ = paper
    places = told(service)["study"]["places"]
    rows = {row["learner"]: row["published"] for row in places[0]["rows"]}
    assert (rows["UCRL2-L"], rows["C-UCRL (our defaults)"]) == (6.2e4, None)
    curves = told(service, "look", part="ergodic-25", world="ergodic-riverswim")["curves"]
    assert {line["label"]: line["published"] for line in curves["learners"]} == rows
    text = '[[parts]]\nname = "ergodic-25"\nhorizon = 50\nlearners = ["ucrl2-l"]\nworlds = ["ergodic-riverswim"]'
    other = told(StudyService({"results": filled(tmp_path, expand(parse_study(text)))}))
    assert other["study"]["places"][0]["rows"][0]["published"] is None
    assert "findings" not in other


def test_claims_without_runs_say_so_and_follow_when_runs_land(paper, tmp_path):
    planned = paper_runs(1)
    service = StudyService({"results": filled(tmp_path, planned[:1])})
    write_plan(planned, Store(tmp_path))
    before = told(service)["findings"]
    assert {row[3]["text"] for row in before["sections"][0]["table"]["rows"] if isinstance(row, list)} == {"no data"}
    for run in planned:
        Store(tmp_path).write(stand_in(run))
    after = {reply["kind"]: reply for reply in service.tick()}
    verdicts = {row[3]["text"] for row in after["findings"]["sections"][0]["table"]["rows"] if isinstance(row, list)}
    assert "no data" not in verdicts
    assert list(service.tick()) == []


def test_the_leaderboards_page_is_shown(leaderboard):
    service, found, _ = leaderboard
    sections = {section["name"]: section for section in told(service)["findings"]["sections"]}
    assert sections["when"]["table"]["rows"] == [board_page.advice_cells(item) for item in advise(found)]
    expected = check_expectations(found)
    assert [[words(cell) for cell in row] for row in sections["expected"]["table"]["rows"]] == [
        board_page.expectation_cells(item) for item in expected
    ]
    assert sections["failures"]["items"] == board_page.failures(found, expected, {})
    matrix = sections["matrix"]["table"]
    for board, (world, *cells) in zip(found, matrix["rows"], strict=True):
        assert world == {"text": board.name, "part": board.name}
        for name, cell in zip(matrix["head"][1:], cells, strict=True):
            assert cell["text"] == board_page.relative_text(board.find(name))
            assert cell["best"] == board_page.is_best(board.find(name))
    assert matrix["given"] == ["given nothing"] * 3 + ["given classes and profiles"]


def test_runs_that_raised_are_among_the_failures(leaderboard, tmp_path):
    planned = expand(leaderboard_study(1, ["psrl", "c-psrl"], ["cycle-20"]))
    service = StudyService({"results": filled(tmp_path, planned[:1])})
    store = Store(tmp_path)
    write_plan(planned, store)
    store.write_failure(RunFailure(planned[1].spec, "ValueError: no luck", "Traceback"))
    replies = told(service)
    assert replies["study"]["failed"] == 1
    items = next(s for s in replies["findings"]["sections"] if s["name"] == "failures")["items"]
    assert "1 run raised an error: c-psrl in cycle-20: ValueError: no luck." in items


def test_worlds_are_looked_at_once(leaderboard, monkeypatch):
    service, _, folder = leaderboard
    told(service)
    monkeypatch.setattr("equirl.lab.leaderboard.standings.build_world", None)
    next((folder / "runs").iterdir()).touch()
    assert {reply["kind"] for reply in service.tick()} >= {"study", "findings"}


@pytest.mark.parametrize(
    ("planned", "kind"),
    [
        (lambda: paper_runs(3)[5:9], "paper"),
        (lambda: expand(leaderboard_study(1, ["optimal"], ["cycle-20"])), "leaderboard"),
        (lambda: expand(parse_study(SMALL.format(seed=0))), None),
        (lambda: [*paper_runs(1), *expand(parse_study(SMALL.format(seed=0)))], None),
        (list, None),
    ],
)
def test_a_shipped_study_is_known_by_its_runs(planned, kind):
    assert shipped_kind(planned()) == kind


def test_the_tables_of_the_appendix_are_those_of_the_report():
    maps, draws, rooms = class_tables()["sections"]
    assert [row[4] for row in maps["table"]["rows"]] == [str(row.n_classes) for row in map_rows()]
    assert {row[5]["verdict"] for row in maps["table"]["rows"]} <= {"good", "bad", "plain"}
    assert len(draws["table"]["rows"]) == 4
    assert len(rooms["table"]["rows"]) == 8


@pytest.mark.parametrize("kind", ["paper", "leaderboard"])
def test_the_report_can_be_taken_away(kind, paper, leaderboard, monkeypatch, tmp_path):
    monkeypatch.setattr("equirl.lab.paper.report.draw_paper", lambda groups, folder: {})
    monkeypatch.setattr("equirl.lab.leaderboard.board_page.draw_boards", lambda found, folder: {})
    service = paper[0] if kind == "paper" else leaderboard[0]
    places = told(service)["study"]["places"]
    text = taken(service, "html", part=places[0]["part"], world=places[0]["world"]).decode()
    if kind == "leaderboard":
        command = "equirl leaderboard --runs 2"
        assert text == write_page(leaderboard[1], {}, tmp_path, command, {}).read_text()
    assert f"equirl {kind} --runs 2" in text


def test_other_studies_have_no_report(tmp_path):
    service = StudyService({"results": filled(tmp_path, expand(parse_study(SMALL.format(seed=0))))})
    told(service)
    with pytest.raises(ValueError, match="unknown file to take away 'html'"):
        taken(service, "html", part="small", world="four-room")


@pytest.mark.parametrize("seed", [0, 2019])
@pytest.mark.parametrize("world", ["a $river", "four-room"])
def test_the_study_taken_away_has_the_very_runs_on_screen(tmp_path, seed, world):
    planned = expand(parse_study(SMALL.format(seed=seed)))
    service = StudyService({"results": filled(tmp_path, planned, lambda run: execute(run.spec))})
    told(service)
    own = [run for run in planned if run.world == world]
    again = expand(parse_study(taken(service, "toml", part="small", world=world).decode()))
    assert [(run.part, run.world, run.learner, run.spec.key) for run in again] == [
        (run.part, run.world, run.learner, run.spec.key) for run in own
    ]
    printed = []
    exec(taken(service, "py", part="small", world=world).decode(), {"print": printed.append})
    (place,) = (place for place in told(service)["study"]["places"] if place["world"] == world)
    assert {row["learner"]: row["mean"] for row in printed} == {row["learner"]: row["mean"] for row in place["rows"]}


@pytest.mark.parametrize(
    "change",
    [
        "seeds = [4, 9]", "common_random_numbers = true", "renumber = true", 'checkpoints = "log"',
        'measures = ["clustering"]',
    ],
)  # fmt: skip
def test_every_kind_of_study_is_written_back(change):
    text = SMALL.format(seed=5) if "seeds" not in change else SMALL.format(seed=5).replace("runs = 2\n", "")
    planned = [run for run in expand(parse_study(f"{change}\n{text}")) if run.world == "four-room"]
    assert {run.spec.key for run in expand(parse_study(place_as_study(planned)))} == {run.spec.key for run in planned}


def test_the_shipped_studies_are_written_back():
    for planned in (paper_runs(2), expand(leaderboard_study(2, ["psrl"], ["cycle-20", "two-kinds-halves"]))):
        for part in dict.fromkeys(run.part for run in planned):
            own = [run for run in planned if run.part == part]
            assert tomllib.loads(place_as_study(own))["runs"] == 2


def test_a_seed_that_cannot_be_found_is_not_made_up():
    planned = [run for run in expand(parse_study(SMALL.format(seed=10**9))) if run.world == "four-room"]
    with pytest.raises(ValueError, match="the seed of this study is not known here"):
        place_as_python(planned)


def test_the_world_of_a_study_can_be_taken_away(leaderboard, tmp_path):
    from equirl import TabularMDP

    service, _, _ = leaderboard
    told(service)
    (tmp_path / "world.npz").write_bytes(taken(service, "npz", part="cycle-20", world="cycle"))
    first = next(run for run in service.watch.planned if run.part == "cycle-20")
    assert TabularMDP.load(tmp_path / "world.npz") == build_world(first.spec)[0]


def test_groups_are_summed_up_again_where_runs_have_landed_alone(tmp_path):
    planned = expand(parse_study(SMALL.format(seed=0)))
    filled(tmp_path, planned)
    watch = ResultsWatch(tmp_path)
    assert watch.refresh()
    before = watch.groups()
    assert final_rows(before) == final_rows(summarise((run, stand_in(run)) for run in planned))
    Store(tmp_path).path(planned[0].spec).unlink()
    assert watch.refresh()
    after = watch.groups()
    assert (after[0].n_runs, before[0].n_runs) == (1, 2)
    assert all(one is other for one, other in zip(after[1:], before[1:], strict=True))
    assert not watch.refresh()


def test_a_run_that_two_parts_share_lands_in_both(tmp_path):
    text = SMALL.format(seed=0) + '[[parts]]\nname = "one"\n[[parts]]\nname = "two"\n'
    planned = expand(parse_study(text))
    filled(tmp_path, planned)
    path = Store(tmp_path).path(planned[0].spec)
    held = path.read_bytes()
    path.unlink()
    watch = ResultsWatch(tmp_path)
    watch.refresh()
    assert [group.n_runs for group in watch.groups() if group.learner == "random"][::2] == [1, 1]
    path.write_bytes(held)
    watch.refresh()
    assert {group.n_runs for group in watch.groups()} == {2}
