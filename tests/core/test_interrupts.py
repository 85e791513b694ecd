"""Ctrl-C at awkward moments: it waits until a kernel is compiled, and ends a command that has not begun."""

import os
import signal
import threading

import pytest
import typer.main

from equirl.cli import app
from equirl.core.compiling import kernel
from equirl.core.interrupts import interrupts_deferred


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_what_is_inside():
    steps = []

    def work():
        with interrupts_deferred():
            interrupt()
            steps.append("went on")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_inside_another_it_is_the_outer_one_that_ends_the_wait():
    steps = []

    def work():
        with interrupts_deferred():
            with interrupts_deferred():
                interrupt()
            steps.append("went on")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["went on"]


def test_an_error_inside_does_not_swallow_the_interrupt():
    def fail():
        interrupt()
        raise ValueError("inside")

    with pytest.raises(KeyboardInterrupt) as caught, interrupts_deferred():
        fail()
    assert str(caught.value.__context__) == "inside"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_changes_nothing():
    seen = []

    def look():
        with interrupts_deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_an_interrupt_while_a_kernel_is_compiled_waits_and_the_kernel_works(monkeypatch):
    @kernel
    def thrice(x):
        return 3 * x

    thrice._cache.disable()
    whole = thrice._compiler.compile

    def interrupted(*arguments):
        interrupt()
        return whole(*arguments)

    monkeypatch.setattr(thrice._compiler, "compile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        thrice(2)
    assert len(thrice.overloads) == 1
    assert thrice(2) == 6


def test_a_command_interrupted_before_it_is_read_ends_with_code_130(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(typer.main, "get_command", interrupted)
    with pytest.raises(SystemExit) as caught:
        app(["worlds"])
    assert caught.value.code == 130
    assert capsys.readouterr().err == "equirl: interrupted\n"
