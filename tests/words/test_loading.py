"""The package as it loads: names that come when they are first used, and who ends at once on Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import types

import pytest

from equirl.words import loading
from equirl.words.loading import InterruptsEndLoading, _end, _is_command, lazily


@pytest.mark.parametrize(
    ("argv", "given", "expected"),
    [
        (["/usr/bin/equirl", "study"], [], True),
        (["equirl.exe"], [], True),
        (["equirl-script.py"], [], True),
        (["/usr/bin/pytest"], [], False),
        (["/home/equirl/run.py"], [], False),
        (["/lib/equirl/__main__.py", "study"], [], True),
        (["/lib/pytest/__main__.py", "equirl"], [], False),
        (["-m", "study"], ["python", "-m", "equirl", "study"], True),
        (["-m", "study"], ["python", "-Im", "equirl", "study"], True),
        (["-m", "equirl"], ["python", "-m", "pytest", "equirl"], False),
        (["-m"], ["python", "m", "equirl"], False),
        (["-m"], ["python", "-mx", "equirl"], False),
        (["-c"], ["python", "-c", "equirl"], False),
        ([], ["python", "-m", "equirl"], False),
        ([""], [], False),
    ],
)
def test_the_command_is_known_by_how_it_was_called(argv, given, expected, monkeypatch):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", given)
    assert _is_command() is expected


def test_without_any_arguments_it_is_not_the_command(monkeypatch):
    monkeypatch.delattr(sys, "argv")
    assert not _is_command()


def handler_inside(monkeypatch, command):
    monkeypatch.setattr(loading, "_is_command", lambda: command)
    with InterruptsEndLoading():
        return signal.getsignal(signal.SIGINT)


def test_interrupts_end_the_command_while_it_loads_and_are_as_usual_after(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert handler_inside(monkeypatch, True) is _end
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert handler_inside(monkeypatch, False) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what someone else has set stays
        assert handler_inside(monkeypatch, True) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_loaded_in_a_thread_interrupts_stay_as_they_are(monkeypatch):
    found = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        work = threading.Thread(target=lambda: found.append(handler_inside(monkeypatch, True)))
        work.start()
        work.join()
        assert found == [signal.default_int_handler]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("words", "said"), [(["equirl"], b"equirl: interrupted\n"), (["--multiprocessing-fork"], b"")])
def test_the_end_is_one_line_and_a_code_and_workers_say_nothing(words, said, monkeypatch):
    written, codes = [b""], []
    monkeypatch.setattr(sys, "orig_argv", words)
    monkeypatch.setattr(loading.os, "write", lambda place, text: written.append(text if place == 2 else b"elsewhere"))
    monkeypatch.setattr(loading.os, "_exit", codes.append)
    _end(signal.SIGINT, None)
    assert (b"".join(written), codes) == (said, [130])


def test_names_come_from_their_modules_when_first_used_and_stay(monkeypatch):
    package = types.ModuleType("parcel")
    inner = types.ModuleType("parcel.inner")
    inner.second, inner.first = object(), object()
    monkeypatch.setitem(sys.modules, "parcel", package)
    monkeypatch.setitem(sys.modules, "parcel.inner", inner)
    get, listed, every = lazily("parcel", {"inner": "second first"})
    assert (listed(), every) == (["first", "second"], ["second", "first"])
    assert get("first") is inner.first is package.first
    assert not hasattr(package, "second")
    with pytest.raises(AttributeError, match="module 'parcel' has no attribute 'third'"):
        get("third")
