"""Pages that talk to the server: answered, kept apart, given up in time, ended when they go."""

from __future__ import annotations

import json
import os
import random
import signal
import string
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from websockets.exceptions import ConnectionClosed

from equirl.lab.explore import page_limits, page_link
from equirl.lab.explore.page_limits import MESSAGE_BYTES, MOST_PAGES, MOST_WAITING
from equirl.lab.explore.page_processes import explained
from explore_kit import page_of, running, wait_for

LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
GRID = {"text": "random-walls:height=30,width=30"}
RUNS = {"world": {"text": "four-room"}, "learners": [{"name": "psrl"}], "horizon": 1_000_000}


@pytest.fixture(scope="module")
def server():
    with running() as found:
        with page_of(found) as page:  # the first process loads everything
            page.get("catalogue")
        yield found


@pytest.fixture
def page(server):
    with page_of(server) as found:
        yield found


def links(monkeypatch):
    """The links that are opened from now on."""
    found = []
    born = page_link.PageLink.__init__

    def remembered(self, *given):
        born(self, *given)
        found.append(self)

    monkeypatch.setattr(page_link.PageLink, "__init__", remembered)
    return found


def test_a_world_is_answered_with_the_id_of_its_question(page):
    told = page.get("world", world={"text": "riverswim:n_states=6"})
    assert (told["S"], told["M"]) == (6, 12)
    assert page.get("pair", pair=3)["pair"] == 3


def test_worlds_asked_for_one_after_another_are_answered_by_one_process(server, monkeypatch):
    found = links(monkeypatch)
    with page_of(server) as page:
        page.get("world", world=GRID)
        process = found[-1].processes["world"].process
        for seed in range(1, 12):
            assert page.get("world", world={"text": f"{GRID['text']},seed={seed}"})["S"] > 400
        assert found[-1].processes["world"].process is process


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must be JSON"), ("{", "must be JSON"), ("[" * 100_000, "must be JSON"), ("[]", "what to do"),
        ("7", "what to do"), ('{"do": 3, "id": 1}', "what to do"), ('{"do": "world"}', "must have an id"),
        ('{"do": "world", "id": -1}', "must have an id"), ('{"do": "world", "id": true}', "must have an id"),
        ('{"do": "world", "id": 1e3}', "must have an id"), ('{"id": ' + "9" * 5000 + "}", "must be JSON"),
        ('{"do": "world", "id": 1, "world": ' + 900 * "[" + 900 * "]" + "}", "nested 16 deep"),
        ('{"do": "__init__", "id": 1}', "nothing called"), ('{"do": "' + "x" * 500 + '", "id": 1}', "nothing called"),
    ],
)  # fmt: skip
def test_broken_messages_are_refused_in_words_and_the_page_lives_on(page, text, complaint):
    page.socket.send(text)
    reply = page.hear()
    assert reply["kind"] == "problem"
    assert complaint in reply["message"]
    assert page.get("world", world={"text": "four-room"})["S"] == 20


def test_a_huge_message_ends_the_page_that_sent_it_alone(server):
    with page_of(server) as other, page_of(server) as page:
        page.socket.send("x" * (2 * MESSAGE_BYTES))
        with pytest.raises(ConnectionClosed):
            page.hear()
        assert other.get("world", world={"text": "four-room"})["S"] == 20


def test_what_would_take_all_memory_is_refused(page, monkeypatch):
    monkeypatch.setitem(page_limits.SECONDS, "world", 600.0)
    assert "memory" in page.refused("world", world={"text": "four-room:height=8000,width=8000"})
    assert page.get("world", world={"text": "four-room"})["S"] == 20


@contextmanager
def first_process_standing_still():
    """The next process that a page starts answers nothing until the block is over."""
    opened, stopped = page_link.PageLink._open, []

    def still(self, name):
        service = opened(self, name)
        if not stopped:
            stopped.append(service.process)
            os.kill(service.process.pid, signal.SIGSTOP)
        return service

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_link.PageLink, "_open", still)
        yield stopped
    for process in stopped:
        with suppress(ProcessLookupError):  # the page may have ended it, at any moment
            os.kill(process.pid, signal.SIGCONT)


def ends(page, numbers):
    """How requests ended, by their numbers."""
    ended = {}
    while len(ended) < len(numbers):
        reply = page.hear()
        if reply["kind"] in ("done", "problem") and reply["id"] in numbers:
            ended[reply["id"]] = reply
    return ended


def test_what_takes_too_long_is_given_up(page, monkeypatch):
    page.get("world", world={"text": "four-room"})
    with monkeypatch.context() as patch, first_process_standing_still():
        patch.setitem(page_limits.SECONDS, "facts", 0.3)
        assert "longer than" in page.refused("facts", world={"text": "four-room"})
        assert page.get("world", world={"text": "four-room"})["S"] == 20
    assert page.get("facts", world={"text": "four-room"})["part"] == "diameter"


def test_the_time_a_process_takes_to_start_does_not_count(server, monkeypatch):
    opened, clock, looked = page_link.PageLink._open, [0.0], threading.Event()

    def now():
        looked.set()
        return clock[0]

    def slowly(self, name):
        service = opened(self, name)
        if name == "facts":
            clock[0] += 1000
            os.kill(service.process.pid, signal.SIGSTOP)
            threading.Thread(target=resume, args=(service.process,)).start()
        return service

    def resume(process):
        """The process may answer once the page has looked at its requests again, at least twice."""
        for _ in range(4):
            looked.clear()
            looked.wait(60)
        os.kill(process.pid, signal.SIGCONT)

    monkeypatch.setattr(page_link, "time", SimpleNamespace(monotonic=now))
    monkeypatch.setattr(page_link, "WATCH", 0.01)
    monkeypatch.setattr(page_link.PageLink, "_open", slowly)
    with page_of(server) as page:
        page.get("world", world={"text": "four-room"})
        assert page.get("facts", world={"text": "grid"})["part"] == "diameter"


def test_a_newer_question_about_facts_replaces_the_older(page):
    with first_process_standing_still():
        older = page.send("facts", world={"text": "four-room"})
        newer = page.send("facts", world={"text": "four-room"})
        ended = ends(page, {older, newer})
    assert "newer" in ended[older]["message"]
    assert ended[newer]["kind"] == "done"


def test_slow_work_can_be_cancelled(page):
    with first_process_standing_still():
        slow = page.send("facts", world={"text": "four-room"})
        page.send("cancel", service="facts")
        assert ends(page, {slow})[slow]["message"] == "cancelled"


def test_too_many_questions_at_once_are_refused(page):
    with first_process_standing_still():
        numbers = [page.send("world", world={"text": f"{GRID['text']},seed={k}"}) for k in range(40)]
        refused = ends(page, set(numbers[MOST_WAITING:]))
    assert all("wait for an answer" in reply["message"] for reply in refused.values())
    answered = ends(page, set(numbers[:MOST_WAITING]))
    assert all(reply["kind"] == "done" for reply in answered.values())


def test_two_pages_do_not_mix(server):
    with page_of(server) as one, page_of(server) as two:
        one.get("world", world={"text": "riverswim:n_states=6"})
        two.get("world", world={"text": "four-room"})
        one.get("learn", **{**RUNS, "world": {"text": "riverswim:n_states=6"}, "horizon": 400})
        two.get("learn", **{**RUNS, "horizon": 800})
        one.get("play")
        two.get("play")
        assert one.frames(lambda frame: frame["done"])["t"] == 400
        assert two.frames(lambda frame: frame["done"])["t"] == 800
        assert one.get("pair", pair=1)["state"] == "0"
        assert two.get("pair", pair=1)["state"] == "1,1"


def test_a_run_ends_when_its_page_is_gone(server, monkeypatch):
    found = links(monkeypatch)
    with page_of(server) as page:
        page.get("world", world={"text": "four-room"})
        page.get("learn", **RUNS)
        page.get("play")
        page.frames(lambda frame: frame["t"] > 100)
        processes = [service.process for service in found[-1].processes.values()]
        assert len(processes) == 2
        assert all(process.is_alive() for process in processes)
    wait_for(lambda: not any(process.is_alive() for process in processes))


def test_starting_again_ends_what_was_under_way(page, monkeypatch):
    page.get("learn", **RUNS)
    page.get("play")
    page.frames(lambda frame: frame["t"] > 100)
    page.get("learn", **{**RUNS, "horizon": 300})
    page.news.clear()
    page.get("play")
    page.frames(lambda frame: frame["done"])
    assert all(frame["t"] <= 300 for frame in page.news)


def test_a_process_that_dies_is_told_and_replaced(page):
    with first_process_standing_still() as stopped:
        number = page.send("facts", world={"text": "four-room"})
        wait_for(lambda: stopped)
        os.kill(stopped[0].pid, 9)
        assert "ended" in ends(page, {number})[number]["message"]
    assert page.get("facts", world={"text": "four-room"})["part"] == "diameter"


def test_only_so_many_pages_are_open_at_once(server):
    wait_for(lambda: server.n_pages == 0)
    pages = [page_of(server) for _ in range(MOST_PAGES)]
    opened = [page.__enter__() for page in pages]
    wait_for(lambda: server.n_pages == MOST_PAGES)
    with page_of(server) as one_more, pytest.raises(ConnectionClosed, match="pages are open already"):
        one_more.hear()
    for page in pages:
        page.__exit__(None, None, None)
    assert len(opened) == MOST_PAGES
    wait_for(lambda: server.n_pages == 0)
    with page_of(server) as page:
        assert page.get("world", world={"text": "four-room"})["S"] == 20


def hostile(rng):
    """A message that someone might send who means no good, or has a broken page; its id, where it must be answered."""
    worlds = [
        {"text": "four-room"}, {"text": "x" * rng.randrange(5000)}, {"text": None}, [], None, 7,
        {"text": f"four-room:height={rng.choice([-1, 0, 3, 7, 10**9, '1e9', 'nan', 'inf', '²'])}"},
        {"text": "grid:map=" + "".join(rng.choices("#.SG5/?\x00", k=rng.randrange(60)))},
        {"file": rng.choice(["../x.npz", "/etc/passwd", "results", "..\\x", "\x00", "con"])},
        {"text": "random:n_states=99999,n_actions=99999"}, {"text": "planted:n_states=100000"},
        {"text": f"riverswim:n_states={rng.choice([1, 2, 99999, 10**30])}"}, {"text": "taxi:" + "," * 500},
    ]  # fmt: skip
    names = ["c-psrl", "psrl", "nobody", "", "optimal", None, ["psrl"], {"name": 1}]
    fields = {
        "world": rng.choice(worlds),
        "learners": [{"name": rng.choice(names), "settings": rng.choice(["", "prior=-1", "=", "a=b", 3])}],
        "horizon": rng.choice([10, 0, -5, 10**18, "10", None, 1e300]), "runs": rng.choice([1, 0, 10**6, "x"]),
        "seed": rng.choice([0, -1, 2**70]), "pair": rng.choice([0, -1, 10**9, "x", None, [1]]),
        "speed": rng.choice([1, 0, -1, 1e400, "fast", None]), "until": rng.choice([5, 0, -3, 10**20, "x"]),
        "what": rng.choice(["svg", "py", "../../x", None, 5]), "part": rng.choice(["..", None, 3]),
        "measure": rng.choice(["regret", "__class__", 9]),
        "service": rng.choice(["learning", "facts", "none", None, 4]),
        "learner": rng.choice([{"name": "psrl", "settings": "prior=2"}, None, "psrl", {"name": None}]),
        "rewards": rng.choice([True, False, "no"]), "diameter": False,
    }  # fmt: skip
    do = rng.choice([*page_link.SERVICE_OF, "cancel", "ack", "play", "quit", "", "__class__"])
    message = {"id": rng.choice([rng.randrange(10**6), rng.randrange(10**6), -1, None, "7"]), "do": do, **fields}
    text = json.dumps(message)
    kind = rng.randrange(10)
    if kind == 0:
        return text[: rng.randrange(len(text))], None
    if kind == 1:
        return "".join(rng.choices(string.printable, k=rng.randrange(2000))), None
    if kind == 2:
        return rng.choice(["null", "[[[[", '{"do":{}}', "\x00" * 100, "{}" * 1000, '"\\ud800"']), None
    number = message["id"]
    answered = isinstance(number, int) and number >= 0 and do not in ("ack", "quit", "", "__class__")
    return text, number if answered else None


def attack(server, seed, n_messages):
    """Send hostile messages through one page, and wait until every one that has an id is answered."""
    rng, open_questions = random.Random(seed), set()
    with page_of(server) as page:

        def listen(seconds):
            try:
                reply = page.hear(seconds)
            except TimeoutError:
                return False
            if reply["kind"] == "frame":
                page.socket.send(json.dumps({"id": 0, "do": "ack"}))
            if reply["kind"] in ("done", "problem"):
                open_questions.discard(reply["id"])
                assert "unexpected" not in reply.get("message", ""), reply
            return True

        for _ in range(n_messages):
            text, number = hostile(rng)
            open_questions |= {number} - {None}
            page.socket.send(text)
            while listen(0.002):
                pass
        wait_for(lambda: not open_questions or (listen(1.0) and not open_questions), 120)
        page.number = 10**9
        wait_for(lambda: page.ask("world", world={"text": "four-room"})[0].get("S") == 20, 60)


def resident(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


@LINUX
@pytest.mark.parametrize(
    ("n_pages", "n_messages"), [(4, 250), pytest.param(12, 2500, marks=pytest.mark.fuzz)], ids=["short", "long"]
)
def test_hostile_messages_are_refused_and_nothing_hangs_or_grows(server, n_pages, n_messages):
    before, failed = resident(os.getpid()), []

    def work(seed):
        try:
            attack(server, seed, n_messages)
        except BaseException as error:  # told below, in the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(n_pages)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()
    assert failed == []
    assert resident(os.getpid()) - before < 150
    wait_for(lambda: server.n_pages == 0)


def clicks(server, n_clicks, failed):
    """A page on which someone clicks, while its learners play: every click is answered, and frames come."""
    try:
        with page_of(server) as page:
            page.get("world", world=GRID)
            page.get("learn", **{**RUNS, "learners": [{"name": "psrl"}, {"name": "ucrl2-l"}]})
            page.get("play")
            for seed in range(1, n_clicks + 1):
                asked = {"text": f"{GRID['text']},seed={seed}"}
                assert page.get("world", world=asked)["asked"] == asked
                assert page.get("pair", pair=seed)["pair"] == seed
                page.socket.ping()
            reached = page.frames(lambda _: True)["t"]
            page.frames(lambda frame: frame["t"] > reached)
    except BaseException as error:  # told in the test's own thread
        failed.append(error)


@pytest.mark.parametrize(
    ("n_pages", "n_clicks"), [(6, 6), pytest.param(20, 200, marks=pytest.mark.fuzz)], ids=["short", "long"]
)
def test_many_pages_at_once_are_all_served(server, n_pages, n_clicks):
    failed = []
    work = [threading.Thread(target=clicks, args=(server, n_clicks, failed)) for _ in range(n_pages)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join(600)
        assert not thread.is_alive()
    assert failed == []


def test_an_error_is_explained_to_a_page():
    assert explained(MemoryError()) == "this needs more memory than one page may use; ask for less"
    assert explained(ValueError("n_states must be at least 2, not 1")) == "n_states must be at least 2, not 1"
