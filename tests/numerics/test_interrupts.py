"""Ctrl-C at awkward moments: it waits until a kernel is compiled, and ends a command that has not begun."""

import os
import signal
import subprocess
import sys
import threading

import pytest
import typer.main

from equirl.lab.cli import app
from equirl.numerics.compiling import interrupts_deferred, kernel


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


SCRIPT = "import sys\nfrom equirl.__main__ import main\nsys.exit(main())\n"  # as installers write it


def run_interrupted(folder, module, *words, script=None):
    """A program during which Ctrl-C comes as a module is imported."""
    (folder / f"{module}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    if script is not None:
        (folder / script).write_text(SCRIPT)
        words = (str(folder / script), *words)
    return subprocess.run(
        [sys.executable, *words], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("module", ["gymnasium", "typer", "scipy"])  # of the package, the command, one of the commands
@pytest.mark.parametrize("script", [None, "equirl"])
def test_an_interrupt_while_the_command_is_loading_is_one_line_and_code_130(tmp_path, module, script):
    words = ["-m", "equirl"] if script is None else []
    done = run_interrupted(tmp_path, module, *words, "solve", "riverswim:n_states=3", script=script)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "equirl: interrupted\n")


@pytest.mark.parametrize("script", ["equirl.exe", "equirl-script.py"])
def test_the_command_is_known_by_its_names_on_windows_too(tmp_path, script):
    done = run_interrupted(tmp_path, "gymnasium", script=script)
    assert (done.returncode, done.stderr) == (130, "equirl: interrupted\n")


def test_a_worker_that_is_loading_leaves_the_line_to_its_parent(tmp_path):
    done = run_interrupted(tmp_path, "gymnasium", "--multiprocessing-fork", script="equirl")
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("words", [["-c", "import equirl"], ["-m", "other"]])
def test_a_program_that_imports_the_package_is_interrupted_as_python_does_it(tmp_path, words):
    (tmp_path / "other.py").write_text("import equirl\n")
    done = run_interrupted(tmp_path, "gymnasium", *words)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_once_loaded_the_command_leaves_interrupts_as_they_were(tmp_path):
    (tmp_path / "equirl").write_text(
        "import signal, equirl\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "equirl"], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


def test_interrupts_that_are_ignored_stay_ignored(tmp_path):
    """As in a job that a shell runs in the background."""
    (tmp_path / "equirl").write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nfrom equirl.__main__ import main\nmain()\n"
    )
    done = run_interrupted(tmp_path, "gymnasium", str(tmp_path / "equirl"), "--version")
    assert "interrupted" not in done.stderr
