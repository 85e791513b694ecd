"""What one page may ask for, so that no page can take the whole machine."""

from __future__ import annotations

MOST_PAGES = 24  # open at once
MESSAGE_BYTES = 1 << 18  # of one message from a page
MOST_NESTED = 16  # lists and objects inside each other in one
HEAD_SECONDS = 10.0  # in which the head of a request must have come
MOST_ARRIVING = 128  # connections that wait for one at once
MOST_WAITING = 4  # requests of one kind that a page may have under way
MOST_UNREAD = 64  # messages that wait for a page to read them
MEMORY_BYTES = 2 << 30  # that one process of a page may take beyond what it starts with

MOST_PAIRS = 60_000  # of a world that is shown
MOST_NUMBER = 100_000  # any whole-number parameter of a world
MOST_LEARNING_PAIRS = 12_000  # of a world in which learners play
MOST_STEPS = 10_000_000  # of a run
MOST_LEARNERS = 6
MOST_RUNS = 20  # of each learner
MOST_STUDY_RUNS = 50_000  # of a results folder

SECONDS = {  # that one request may take, by service
    "world": 30.0, "facts": 120.0, "learning": 300.0, "study": 120.0, "report": 600.0,
}  # fmt: skip
