import inspect
import io
import logging
import os
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial

import pytest
from typer.testing import CliRunner

from cluster_kit import Cluster, free_port, wait_until
from equirl.lab.cli import app
from equirl.lab.studies.engines import DaskEngine, EngineError, LocalEngine, SlurmEngine, without_main
from equirl.lab.studies.execution import compute, parse_shard, run_study, shard_of
from equirl.lab.studies.progress import LiveDisplay, LogLines, ProgressListener
from equirl.lab.studies.runs import RunFailure, execute
from equirl.lab.studies.store import Store
from equirl.lab.studies.summary import export
from studies_kit import SMALL, dying, interrupted, planned, raising, specs, with_lines

LONGER = with_lines(horizon="200_000", runs="4", worlds='["riverswim:n_states=8"]')


def table(store, text=SMALL):
    return export(planned(text), store, store.folder / "table.csv")[0].read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("expected"))
    run_study(planned(), store, LocalEngine(1), quiet=True)
    return table(store)


def equirl(*words, **options):
    words = [sys.executable, "-c", "from equirl.lab.cli import app; app()", *map(str, words)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def test_two_processes_give_the_same_table_as_one(tmp_path, expected):
    run_study(planned(), Store(tmp_path), LocalEngine(2), quiet=True)
    assert table(Store(tmp_path)) == expected


def test_workers_have_one_thread_and_the_parent_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with LocalEngine(2).open() as pool:
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_two_shards_together_are_the_whole_study(tmp_path, expected):
    store = Store(tmp_path)
    for shard in (1, 2):
        run_study(planned(), store, LocalEngine(1), shard=(shard, 2), quiet=True)
        assert len(store.status(specs()).done) == 2 * shard
    assert table(store) == expected


@pytest.mark.parametrize("n_shards", [1, 3, 5])
def test_shards_are_disjoint_and_complete(n_shards):
    keys = [spec.key for i in range(n_shards) for spec in shard_of(specs(), i + 1, n_shards)]
    assert sorted(keys) == sorted(spec.key for spec in specs())


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b"])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=r"written i/n with i from 1 to n"):
        parse_shard(text)


def test_runs_go_replicate_by_replicate_and_the_longest_first_in_each(tmp_path):
    order = []

    def run(spec):
        order.append((spec.replicate, spec.horizon))
        return execute(spec)

    mixed = [spec for horizon in ("100", "300", "200") for spec in specs(with_lines(horizon=horizon))]
    compute(mixed, Store(tmp_path), LocalEngine(1), run=run)
    replicates = [replicate for replicate, _ in order]
    for replicate in set(replicates):
        first, n = replicates.index(replicate), replicates.count(replicate)
        round_of_it = order[first : first + n]
        assert round_of_it == sorted(((replicate, horizon) for _, horizon in round_of_it), reverse=True)


def test_a_run_that_another_process_finished_meanwhile_is_not_computed_again(tmp_path):
    store, other = Store(tmp_path), specs()[3]

    def run(spec):
        if not store.path(other).exists():
            store.write(execute(other))
        return execute(spec)

    report = compute([spec for spec in specs() if spec != other] + [other], store, LocalEngine(1), run=run)
    assert report.n_computed + report.n_elsewhere == 4
    assert len(store.status(specs()).done) == 4


def test_a_run_that_kills_every_worker_fails_alone_and_costs_the_others_only_time(tmp_path, expected):
    store = Store(tmp_path)
    outcome = run_study(planned(), store, LocalEngine(2), quiet=True, run=dying)
    assert [(failure.spec.learner, failure.spec.replicate) for failure in outcome.report.failures] == [("ucrl2-l", 1)]
    assert "perhaps it needs more memory" in outcome.report.failures[0].error
    run_study(planned(), store, LocalEngine(1), quiet=True)
    assert table(store) == expected


def test_an_interruption_keeps_what_is_finished(tmp_path, expected):
    store = Store(tmp_path)
    compute([spec for spec in specs() if spec.replicate == 0], store, LocalEngine(1), run=interrupted)
    with pytest.raises(KeyboardInterrupt):
        compute(specs(), store, LocalEngine(1), run=interrupted)
    assert len(store.status(specs()).done) == 2
    run_study(planned(), store, LocalEngine(1), quiet=True)
    assert table(store) == expected


def test_a_study_killed_at_any_moment_ends_with_the_same_table(tmp_path):
    (tmp_path / "s.toml").write_text(LONGER)
    words = ("study", tmp_path / "s.toml", "--jobs", 2, "--out", tmp_path / "killed")
    killed, whole = Store(tmp_path / "killed"), Store(tmp_path / "whole")
    process = equirl(*words, start_new_session=True)
    wait_until(lambda: list(tmp_path.glob("killed/runs/*.run")) or process.poll() is not None)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    run_study(planned(LONGER), killed, LocalEngine(1), quiet=True)
    run_study(planned(LONGER), whole, LocalEngine(1), quiet=True)
    assert table(killed, LONGER) == table(whole, LONGER)


def test_workers_end_when_their_parent_is_killed(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from equirl.lab.studies.engines import LocalEngine\n"
        "if __name__ == '__main__':\n"
        "    with LocalEngine(2).open() as pool:\n"
        "        print(pool.submit(os.getpid).result(), flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "parent.py").write_text(code)
    parent = subprocess.run([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, text=True, check=False)
    worker = int(parent.stdout)

    def gone():
        try:
            with open(f"/proc/{worker}/stat") as stat:
                return stat.read().split()[2] == "Z"
        except FileNotFoundError:
            return True

    wait_until(gone)


def test_ctrl_c_ends_with_a_line_that_says_how_to_go_on(tmp_path):
    (tmp_path / "s.toml").write_text(LONGER.replace("runs = 4", "runs = 2000"))
    process = equirl("study", tmp_path / "s.toml", "--jobs", 2, "--out", tmp_path / "out", start_new_session=True)
    wait_until(lambda: list(tmp_path.glob("out/runs/*.run")))
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "give the same command again to go on" in output
    assert "Traceback" not in output


@pytest.fixture
def cluster(tmp_path):
    started = Cluster.start(tmp_path)
    yield started
    started.stop()


class Notes(ProgressListener):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_one_kind_of_run_is_one_kind(tmp_path):
    listener = Notes()
    compute(specs(with_lines(learners='["random"]')), Store(tmp_path), LocalEngine(jobs=1), listener)
    assert [note for note in listener.notes if note.startswith("preparing 1 kind of run (")]


class KillsWorker(ProgressListener):
    """Kills a worker when the first run comes in."""

    def __init__(self, process):
        self.process = process

    def finished(self, spec, outcome):
        self.process.kill()


def test_a_dask_scheduler_survives_a_killed_worker_with_the_same_table(tmp_path, cluster):
    store, whole = Store(tmp_path / "dask"), Store(tmp_path / "whole")
    engine = DaskEngine(2, cluster.address)
    report = compute(specs(LONGER), store, engine, KillsWorker(cluster.workers[0]))
    assert (report.n_computed, report.failures) == (8, [])
    assert cluster.workers[0].wait(300) == -signal.SIGKILL
    run_study(planned(LONGER), whole, LocalEngine(1), quiet=True)
    assert table(store, LONGER) == table(whole, LONGER)


def test_a_killed_scheduler_is_told_in_one_line_and_what_is_done_is_kept(tmp_path, cluster, caplog):
    store, log = Store(tmp_path / "dask"), logging.getLogger("distributed.client")
    many = specs(LONGER.replace("runs = 4", "runs = 12"))  # more than can be done before the scheduler is gone
    assert len(many) > len(specs(LONGER))
    log.addHandler(caplog.handler)
    with pytest.raises(EngineError, match=r"the scheduler went away. Finished runs are safe"):
        compute(many, store, DaskEngine(2, cluster.address), KillsWorker(cluster.scheduler))
    assert store.status(many).done
    log.removeHandler(caplog.handler)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


class Vanishing(Executor):
    """A scheduler that goes away: every job it was given is cancelled."""

    window, warms_here = 4, False

    @contextmanager
    def open(self):
        yield self

    def submit(self, *_):
        job = Future()
        job.cancel()
        return job


def test_a_scheduler_that_goes_away_is_named_with_what_to_do(tmp_path):
    with pytest.raises(EngineError, match=r"the scheduler went away. Finished runs are safe"):
        compute(specs(), Store(tmp_path), Vanishing())


def test_an_address_where_no_scheduler_answers_is_named():
    engine = DaskEngine(1, f"tcp://127.0.0.1:{free_port()}", patience=1.0)
    with pytest.raises(EngineError, match=r"no dask scheduler answers at tcp.*start one with 'dask scheduler'"):
        engine.open().__enter__()


@pytest.mark.parametrize(("engine", "module", "extra"), [
    (DaskEngine(1), "distributed", "cluster"),
    (SlurmEngine(1), "dask_jobqueue", "slurm"),
])  # fmt: skip
def test_an_engine_that_is_not_installed_names_the_extra(monkeypatch, engine, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EngineError, match=rf"pip install 'equirl\[{extra}\]'"):
        engine.open().__enter__()


def test_log_lines_are_few_and_tell_a_failure_once(capsys):
    log = LogLines(specs())
    failure = RunFailure(specs()[2], "RuntimeError: no luck", "")
    for spec in specs():
        log.finished(spec, failure if spec.learner == "random" else None)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ", 1)[1] for line in lines[:1]] == [
        "a run of random in riverswim failed: RuntimeError: no luck"
    ]
    assert lines[1].split(" ", 1)[1].startswith("4/4 runs, 2 failed")
    assert len(lines) == 2


def test_the_display_has_a_bar_for_each_learner_and_one_for_all():
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=io.StringIO())) as progress:
        display = LiveDisplay(progress, planned(), specs())
        display.begin()
        for spec in specs()[:3]:
            display.finished(spec, None)
    bars = {task.description: (task.completed, task.total) for task in progress.tasks}
    assert bars == {"ucrl2-l": (2, 2), "random": (1, 2), "all runs": (900, 1200)}


def cli(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_study_from_the_command_line_reports_status_and_exports(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    out = ("--out", tmp_path / "out")
    study = cli("study", tmp_path / "s.toml", "--jobs", 1, "--figures", "--bounds", *out)
    assert (study.exit_code, "4 runs are done" in study.output) == (0, True)
    assert "4 done, 0 missing, 0 failed, 0 damaged" in cli("status", tmp_path / "s.toml", *out).output
    assert "t.parquet: 16 rows" in cli("export", tmp_path / "s.toml", "-o", tmp_path / "t.parquet", *out).output
    drawn = tmp_path / "out" / "figures"
    assert sorted(path.name for path in drawn.iterdir()) == [
        "small-riverswim-n_states-5-loglog.png", "small-riverswim-n_states-5.png",
    ]  # fmt: skip
    cli("study", tmp_path / "s.toml", "--jobs", 1, "--figures", "--format", "svg", "--format", "pdf", *out)
    assert sorted(path.suffix for path in drawn.iterdir()) == 2 * [".pdf"] + 2 * [".png"] + 2 * [".svg"]


def test_a_study_with_a_mistake_ends_with_its_message_and_code_2(tmp_path):
    (tmp_path / "s.toml").write_text(with_lines(runs="0"))
    result = cli("study", tmp_path / "s.toml", "--out", tmp_path / "out")
    assert (result.exit_code, "runs must be at least 1, not 0" in result.output) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_study_with_failed_runs_ends_with_code_1_and_says_where_the_traceback_is(tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(SMALL)
    monkeypatch.setattr("equirl.lab.studies.execution.run_study", partial(run_study, run=raising))
    result = cli("study", tmp_path / "s.toml", "--jobs", 1, "--out", tmp_path / "out")
    assert (result.exit_code, "failed: 2 of random: RuntimeError: no luck today" in result.output) == (1, True)


def test_a_folder_that_is_a_file_ends_with_its_message_and_code_3(tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    result = cli("study", tmp_path / "s.toml", "--jobs", 1, "--out", tmp_path / "s.toml")
    assert (result.exit_code, "a file stands where a folder should be" in result.output) == (3, True)


def test_other_threads_can_look_at_their_code_while_a_process_starts():
    before, inside = (compile("0", f"{name}.py", "exec") for name in ("before", "inside"))
    assert inspect.getsourcefile(before) is None  # from now on inspect knows the file of __main__
    with without_main():
        assert inspect.getsourcefile(inside) is None
