"""Writing files: modes and links are kept, nothing half-written stays, and what goes wrong names the file."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import equirl as eq
from equirl.files import DamagedFile, whole_files as files
from equirl.files.whole_files import check_file, open_file, write_aside, write_csv

RIVER = eq.make("riverswim", n_states=4)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, kept):
    path = write_aside(tmp_path / "file", b"old")
    path.chmod(kept)
    write_aside(path, b"new")
    assert (mode(path), path.read_bytes()) == (kept, b"new")


@pytest.mark.parametrize(("mask", "expected"), [("022", 0o644), ("077", 0o600), ("002", 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves_it(tmp_path, mask, expected):
    code = f"import os; os.umask(0o{mask}); from equirl.files.whole_files import write_aside; write_aside('file', b'')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert mode(tmp_path / "file") == expected


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("other threads would see it"))
    RIVER.save(tmp_path / "river.npz")


def test_a_link_stays_and_the_file_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    assert write_aside(link, b"new") == link
    assert link.is_symlink()
    assert (target.read_bytes(), target.is_symlink()) == (b"new", False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "link", "there"]


def test_a_link_that_leads_nowhere_yet_is_written_through(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("there/file")
    write_aside(link, b"new")
    assert (tmp_path / "there" / "file").read_bytes() == b"new"


def test_links_in_a_circle_are_named(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught:
        write_aside(tmp_path / "a", b"new")
    assert caught.value.filename == str(tmp_path / "a")


@pytest.mark.parametrize(("make", "reason"), [(os.mkdir, "Is a directory"), (os.mkfifo, "it is a pipe, not a file")])
def test_what_is_no_file_is_not_replaced(tmp_path, make, reason):
    make(tmp_path / "place")
    with pytest.raises(OSError, match=reason) as caught:
        write_aside(tmp_path / "place", b"new")
    assert caught.value.filename == str(tmp_path / "place")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_device_is_told_from_a_file_and_not_read():
    """No test writes to one: a mistake, made by root, would replace it for the whole machine."""
    with pytest.raises(OSError, match="it is a device, not a file"):
        check_file(os.stat(os.devnull).st_mode, os.devnull)
    with pytest.raises(OSError, match="it is a device, not a file"):
        open_file("/dev/zero")


def test_a_table_has_floats_in_their_shortest_spelling_and_nothing_for_none(tmp_path):
    path = write_csv(tmp_path / "table.csv", ["t", "regret"], [(10, np.float64(0.1)), (20, None)])
    assert path.read_text() == "t,regret\n10,0.1\n20,\n"


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, monkeypatch, step):
    path = write_aside(tmp_path / "file", b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "elsewhere")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, step, full)
        with pytest.raises(OSError, match="No space left on device") as caught:
            write_aside(path, b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_the_system_cuts_short_is_named_and_not_kept(tmp_path):
    code = (
        "import resource, sys, equirl as eq\n"
        "river = eq.make('riverswim', n_states=4)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    river.save('river.npz')\n"
        "except OSError as error:\n    print(error.filename, error.strerror)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "river.npz File too large\n"
    assert not list(tmp_path.iterdir())


def test_a_name_as_long_as_the_system_allows_is_written(tmp_path):
    name = "é" * 125 + ".npz"  # 254 bytes
    RIVER.save(tmp_path / name)
    assert eq.TabularMDP.load(tmp_path / name) == RIVER


def test_old_unfinished_files_are_cleared_by_a_later_save_and_nothing_else_is(tmp_path, monkeypatch):
    names = {
        ".river.npz.0123456789abcdef.part": True,
        "river.npz.0123456789abcdef.part": False, ".river.part": False, ".notes.txt": False,
    }  # fmt: skip
    for name in names:
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (0, 0))
    young = tmp_path / ".river.npz.ffffffffffffffff.part"
    young.write_bytes(b"half")
    RIVER.save(tmp_path / "river.npz")
    assert {name: not (tmp_path / name).exists() for name in names} == names
    assert young.exists()
    os.utime(young, (0, 0))
    RIVER.save(tmp_path / "river.npz")
    assert young.exists()  # folders are not looked through at every save
    later = time.time() + files.STALE_SECONDS + 1
    monkeypatch.setattr(files.time, "time", lambda: later)
    RIVER.save(tmp_path / "river.npz")
    assert not young.exists()


SAVES = """
import itertools, sys
import equirl as eq
rivers = [eq.make("riverswim", n_states=n) for n in (4, 5)]
print("ready", flush=True)
for k in itertools.count():
    rivers[k % 2].save(sys.argv[1])
"""


def test_a_save_that_is_killed_leaves_a_whole_file(tmp_path):
    path = tmp_path / "river.npz"
    RIVER.save(path)
    for k in range(5):
        process = subprocess.Popen([sys.executable, "-c", SAVES, path], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.013 * k)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert eq.TabularMDP.load(path).n_states in (4, 5)


def test_two_threads_that_save_over_one_file_leave_one_of_the_two(tmp_path):
    rivers = [eq.make("riverswim", n_states=n) for n in (4, 5)]
    path = tmp_path / "river.npz"

    def save(river):
        for _ in range(20):
            river.save(path)

    threads = [threading.Thread(target=save, args=(river,)) for river in rivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert eq.TabularMDP.load(path) in rivers
    assert [entry.name for entry in tmp_path.iterdir()] == ["river.npz"]


@pytest.mark.parametrize("load", [eq.TabularMDP.load, eq.load_agent])
def test_a_pipe_in_a_files_place_is_refused_and_not_waited_for(tmp_path, load):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(DamagedFile, match=r"pipe\.npz cannot be read as an equirl file: it is a pipe, not a file"):
        load(tmp_path / "pipe.npz")


def test_a_folder_in_a_files_place_is_named(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        eq.TabularMDP.load(tmp_path)
    assert caught.value.filename == str(tmp_path)
