"""What is fuzzed: each subject is a function of drawn data and a ledger, found by its name."""

from __future__ import annotations

import ctypes
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import assume, strategies as st
from hypothesis.strategies import sampled_from
from log_calls import LOG_CALLS
from nonsense_values import HOSTILE, anything, numbers, texts
from promise import Ledger, judge, keep_promise
from public_calls import CALLS as LIBRARY_CALLS, FOLDER, LEARNER_WORDS, problems, river
from typer.testing import CliRunner

import equirl as eq
from equirl.keeping import read_journal
from equirl.lab.cli import app
from equirl.lab.studies.expansion import expand
from equirl.lab.studies.study_file import StudyError, load_study, parse_study

CALLS = {**LIBRARY_CALLS, **LOG_CALLS}
FUNCTIONS = {"callback", "progress", "step", "start", "env"}  # of a user's: they raise what they like
CODES = {0, 1, 2, 3}  # how a command may end without a signal


def public_call(data: st.DataObject, ledger: Ledger) -> None:
    """A public function with none, one, two or all of its arguments replaced by nonsense."""
    name = data.draw(sampled_from(sorted(CALLS)))
    call = CALLS[name]
    keys = sorted(call.arguments)
    some = data.draw(st.integers(0, 9)) > 0
    wrong = data.draw(st.sets(sampled_from(keys), max_size=2)) if some else set(keys)
    arguments = {key: data.draw(anything if key in wrong else call.arguments[key]) for key in call.arguments}
    assume(not is_long_work(arguments))
    assume(not any(callable(arguments.get(key)) for key in wrong & FUNCTIONS))
    keep_promise(ledger, name, call.function, arguments, call.words)


def is_long_work(arguments: dict[str, Any]) -> bool:
    """Whether a call asks for work that takes long, however fast the library: so many steps, draws or processes."""
    return any(
        isinstance(value, int | np.integer) and not isinstance(value, bool) and value > most
        for key, most in (("horizon", 10**4), ("steps", 10**3), ("draws", 100), ("passes", 100), ("jobs", 1))
        for value in [arguments.get(key)]
    )


def learner_settings(data: st.DataObject, ledger: Ledger) -> None:
    """A learner with some of its settings changed, for a few steps."""
    name = data.draw(sampled_from(sorted(set(eq.AGENTS) - {"fuzzed"})))
    defaults = eq.AGENTS[name].defaults()
    keys = data.draw(st.sets(sampled_from(sorted(defaults)), max_size=3)) if defaults else set()
    settings = {key: data.draw(_setting(defaults[key])) for key in sorted(keys)}
    mdp, horizon = data.draw(sampled_from(problems())), data.draw(sampled_from([1, 20, 60]))
    arguments = {"mdp": mdp, "agent": name, "horizon": horizon, "gain": 0.5, **settings}
    words = (*LEARNER_WORDS, *defaults, "ergodic", "classes", "tolerance")
    keep_promise(ledger, "simulate", eq.simulate, arguments, words)


def _setting(default: Any) -> st.SearchStrategy:
    words = [
        "random",
        "first",
        "index",
        "per_pair",
        "per_class",
        "known",
        "pooled",
        "theory",
        "balanced",
        "nearest",
        "law",
        "law_and_mean",
        "optimistic",
        "quicksort",
        "either",
        "pair",
        "class",
        "both",
        "empirical",
    ]
    if isinstance(default, bool):
        return st.booleans() | anything
    if isinstance(default, str):
        return sampled_from([default, *words]) | texts
    return st.one_of(sampled_from([default, 0, 1, 2, 0.1, 0.5, 0.9, 1.0, 10]), numbers, anything)


def learner_history(data: st.DataObject, ledger: Ledger) -> None:
    """A learner driven step by step, now and then wrongly; it goes on as if the wrong calls had not been made."""
    name = data.draw(sampled_from(sorted(set(eq.AGENTS) - {"fuzzed"})))
    agent, twin = (eq.agent_for(river(), name, 1) for _ in range(2))
    state = 0
    for _ in range(data.draw(st.integers(1, 8))):
        wrong = data.draw(
            sampled_from(["", "", "state", "action", "reward", "next_state", "terminated", "act", "save"])
        )
        step = {"state": state, "action": agent.act(state), "reward": data.draw(sampled_from([0.0, 0.25, 1.0]))}
        step |= {
            "next_state": data.draw(sampled_from(list(river().transition_probabilities(state, step["action"])))),
            "terminated": False,
        }
        assert twin.act(state) == step["action"], f"{name} decides otherwise after calls that were refused"
        if wrong == "act":
            keep_promise(ledger, f"{name}.act", agent.copy().act, {"state": data.draw(anything)})
        elif wrong == "save":
            keep_promise(ledger, f"{name}.save", agent.save, {"path": data.draw(anything)})
        elif wrong:
            value = data.draw(anything)
            before = agent.t
            keep_promise(ledger, f"{name}.observe", agent.observe, step | {wrong: value}, LEARNER_WORDS)
            if agent.t > before or agent.pending is not None:  # nonsense by accident of value only: it made sense
                return
        agent.observe(**step)
        twin.observe(**step)
        state = step["next_state"]


VALID = {
    "name": '"small"',
    "seed": "3",
    "runs": "2",
    "horizon": "30",
    "checkpoints": "3",
    "description": '"x"',
    "worlds": '["riverswim:n_states=4", { world = "grid", params = { map = "S.G" }, label = "rooms" }]',
    "learners": '["random", { learner = "ucrl2-l", settings = { delta = 0.1 }, label = "L" }]',
    "common_random_numbers": "true",
    "renumber": "false",
    "measures": "[]",
    "keep": '["agent"]',
}
toml_values = st.one_of(
    sampled_from(
        [
            "true",
            "false",
            "0",
            "-1",
            "1",
            "2",
            "10",
            "1.5",
            "nan",
            "inf",
            "-0.0",
            "9" * 30,
            "9" * 5000,
            "0x7f",
            "1e400",
            "[]",
            "{}",
            "[1]",
            "[[]]",
            "{ a = 1 }",
            "1979-05-27",
            "07:32:00",
            "1979-05-27T07:32:00Z",
            "'log'",
            "''",
            "[" * 3000,
            '"""',
            "=",
            '["riverswim"]',
            '["nonsense"]',
            '["random", "random"]',
            "[{}]",
            '[{ world = "riverswim", file = "x" }]',
            '[{ file = "x.npz" }]',
            '[{ file = "\\u0000" }]',
            '[{ world = "riverswim:n_states=1" }]',
            "[{ world = 1 }]",
            '[{ learner = "c-ucrl", settings = { delta = "x" } }]',
            '[{ learner = "c-ucrl", settings = { nonsense = 1 } }]',
            '[{ world = "grid", params = { map = [[1]] } }]',
            '["clustering"]',
            "[1, 5, 30]",
            "[30]",
            "[5, 1]",
            '["optimal"]',
        ]
    ),
    st.integers().map(str),
    st.floats().map(repr),
    texts.map(json.dumps),
    st.text(max_size=8),
)
toml_keys = st.one_of(
    sampled_from([*VALID, "horizn", '"a(b["', "a.b", "parts", "label", "world", "'\\x1b'"]), texts.map(json.dumps)
)


def study_text(data: st.DataObject, ledger: Ledger) -> None:
    """A study file with values and keys changed, parts added, characters lost."""
    lines = dict(VALID)
    for _ in range(data.draw(sampled_from([0, 1, 1, 1, 2]))):
        lines[data.draw(toml_keys)] = data.draw(toml_values)
    for key in data.draw(
        st.sets(sampled_from(["name", "seed", "runs", "horizon", "checkpoints", "measures"]), max_size=2)
    ):
        lines.pop(key, None)
    text = "\n".join(f"{key} = {value}" for key, value in lines.items())
    for part in range(data.draw(sampled_from([0, 0, 0, 1, 2]))):
        key = data.draw(sampled_from(["runs", "horizon", "seed", "worlds", "learners", "renumber", "nonsense"]))
        value = data.draw(toml_values) if data.draw(st.booleans()) else VALID.get(key, "1")
        text += f'\n[[parts]]\nname = "part {part}"\n{key} = {value}'
    if data.draw(st.integers(0, 5)) == 0:
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 5)) :]
    _only_study_errors(ledger, text, lambda: expand(parse_study(text, "study.toml"), FOLDER))


def _only_study_errors(ledger: Ledger, text: str, read: Any) -> None:
    ledger.counts["calls"] += 1
    ledger.announce(text)
    try:
        read()
    except StudyError as error:
        if not str(error).strip():
            ledger.breaks("a study: no message", text)
        ledger.counts["refused"] += 1
    except Exception as error:
        judge(ledger, "a study", error, {"text": text})
        if not isinstance(error, StudyError):
            ledger.breaks(f"a study: {type(error).__name__}", f"{text[:2000]}\n{error!r} is no StudyError")
    else:
        ledger.counts["answered"] += 1


WORLD_WORDS = sampled_from(
    [
        "riverswim:n_states=4",
        "grid:map=S.G",
        "two-room",
        "riverswim:n_states=-1",
        "riverswim:n_states",
        "riverswim:=,=",
        "grid:map=x",
        "random:n_states=4,seed=1",
        "no.npz",
        ".npz",
        "x.txt",
        ":",
        "riverswim:preset=x",
        "cycle:n_states=1e3",
        "riverswim:n_states=4,n_states=5",
    ]
)
WORDS = st.one_of(
    sampled_from(
        [
            "-1",
            "0",
            "1",
            "2",
            "nan",
            "inf",
            "1e-400",
            "x",
            "--",
            "-",
            ".",
            "..",
            "/dev/null",
            "~",
            "9" * 30,
            "true",
            *HOSTILE,
        ]
    ),
    texts,
).filter(lambda word: "\0" not in word)
SETTINGS = sampled_from(
    ["delta=0.1", "x", "=", "delta=x", "a=b", "ucrl2-l.delta=0.2", "random.x=1", "ucrl2l.delta=0", ".=", "a.b.c=1"]
)
COMMANDS: dict[str, tuple[list[st.SearchStrategy], dict[str, st.SearchStrategy | None]]] = {
    "worlds": ([], {"--json": None}),
    "agents": ([sampled_from(["no.npz", ".", "s.toml", "o"])], {"--json": None}),
    "completion": ([sampled_from(["bash", "zsh", "fish", "tcsh"])], {"--json": None}),
    "classes": (
        [WORLD_WORDS],
        {
            "--plot": sampled_from(["a.png", "a.xyz", "d/b.svg", "/proc/x.png"]),
            "--laws-only": None,
            "--tolerance": WORDS,
            "--json": None,
        },
    ),
    "solve": (
        [WORLD_WORDS],
        {
            "--plot": sampled_from(["a.png", "a", "d/b.svg"]),
            "--discount": sampled_from(["0.9", "1", "x", "nan", "-1"]),
            "--accuracy": sampled_from(["1e-8", "0", "nan", "1", "-1"]),
            "--diameter": None,
            "--no-diameter": None,
            "--json": None,
        },
    ),
    "learn": (
        [sampled_from(["log.csv", "log.csv", "no.csv", "bad.csv", "bad.parquet", "s.toml", "."])],
        {
            "--column": sampled_from(["state=state", "state=s", "weight=reward", "time=next_state", "x=y", "x", "="]),
            "--actions": sampled_from(["seen", "all", "x"]),
            "--reward-range": sampled_from([["0", "9"], ["1", "0"], ["nan", "1"], ["-inf", "inf"], ["0"]]),
            "--costs": None,
            "--restart": WORDS,
            "--draws": sampled_from(["1", "0", "x"]),
            "--steps": sampled_from(["0", "3", "-1"]),
            "--seed": sampled_from(["0", "-1", "9" * 30]),
            "--csv": sampled_from(["p.csv", "/proc/p.csv", "."]),
            "--save": sampled_from(["p.npz", "/proc/p.npz", "."]),
            "--agent": sampled_from(["psrl", "optimal", "nonsense"]),
            "--json": None,
        },
    ),
    "run": (
        [
            WORLD_WORDS,
            sampled_from(["random", "ucrl2-l", "optimal,random", "nonsense", "random,random", ",", "c-ucrl"]),
        ],
        {
            "--horizon": sampled_from(["20", "1", "0", "-5", "x", "1e3"]),
            "--runs": sampled_from(["1", "2", "0", "x"]),
            "--seed": sampled_from(["0", "7", "-1", "9" * 30]),
            "--jobs": sampled_from(["1", "0", "x"]),
            "--set": SETTINGS,
            "--save": sampled_from(["kept", "/proc/kept", "s.toml", "."]),
            "--plot": sampled_from(["r.png", "r"]),
            "--csv": sampled_from(["r.csv", "/proc/r.csv", "."]),
            "--common-random-numbers": None,
            "--until": sampled_from(["gap=0.1", "seconds=0.001", "gap", "x=1", "gap=nan", "delta=0.1", "gap=0.1,"]),
            "--json": None,
        },
    ),
    "study": (
        [sampled_from(["s.toml", "no.toml", ".", "bad.toml", "nonsense"])],
        {
            "--out": sampled_from(["o", "s.toml", "o/p", "/proc/x"]),
            "--jobs": sampled_from(["1", "0", "x"]),
            "--engine": sampled_from(["local", "x"]),
            "--address": sampled_from(["x"]),
            "--shard": sampled_from(["1/2", "3/2", "x", "1/99999999999999999999"]),
            "--figures": None,
            "--quiet": None,
            "--set": SETTINGS,
            "--keep-agents": None,
            "--json": None,
        },
    ),
    "status": (
        [sampled_from(["s.toml", "no.toml", ".", "bad.toml"])],
        {
            "--out": sampled_from(["o", "s.toml", "/proc/x"]),
            "--set": SETTINGS,
            "--keep-agents": None,
            "--json": None,
        },
    ),
    "export": (
        [sampled_from(["s.toml", "no.toml", "bad.toml"])],
        {
            "--table": sampled_from(["t.csv", "t.parquet", "t.x", "/proc/t.csv"]),
            "--out": sampled_from(["o", "s.toml"]),
            "--set": SETTINGS,
            "--json": None,
        },
    ),
    "paper": ([], {"--runs": sampled_from(["0", "-1", "x"]), "--engine": sampled_from(["x"])}),
    "leaderboard": (
        [],
        {
            "--runs": sampled_from(["0", "x"]),
            "--learners": sampled_from(["nonsense"]),
            "--worlds": sampled_from(["nonsense"]),
        },
    ),
    "bench": ([], {"--only": sampled_from(["nonsense", "", "x,y"]), "--quick": None, "--full": None}),
}
LONG = {
    "paper": "--runs",
    "leaderboard": "--learners",
    "bench": "--only",
}  # given, and wrongly, so that they end at once


QUICKLY = (("--draws", "2"), ("--steps", "3"))  # of what is learned from a log, where nothing else is said
LOG_TEXT = "state,action,reward,next_state,terminated\na,up,0.5,b,0\nb,up,2,a,1\na,down,0,a,0\n"


def command(data: st.DataObject, ledger: Ledger) -> None:
    """A command with its arguments, some of them missing, wrong or hostile."""
    name = data.draw(sampled_from(sorted(COMMANDS)))
    positional, options = COMMANDS[name]
    words = [name]
    for place in positional:
        words += (
            [data.draw(WORDS if data.draw(st.integers(0, 7)) == 0 else place)] if data.draw(st.integers(0, 19)) else []
        )
    given = data.draw(st.sets(sampled_from(sorted(options)), max_size=3)) if options else set()
    for option in sorted(given | {LONG[name]} if name in LONG else given):
        value = options[option]
        given_words = [] if value is None else data.draw(value)
        words += [option, *([given_words] if isinstance(given_words, str) else given_words)]
    if name == "run" and "--horizon" not in words:
        words += ["--horizon", "20"]
    if name == "run" and "--runs" not in words:
        words += ["--runs", "2"]
    if name == "learn":
        words += [word for pair in QUICKLY for word in pair if pair[0] not in words]
    if name not in LONG and data.draw(st.integers(0, 9)) == 0:
        words.insert(data.draw(st.integers(0, len(words))), data.draw(WORDS))
    _run_command(ledger, words)


def _run_command(ledger: Ledger, words: list[str]) -> None:
    study = "\n".join(f"{key} = {value}" for key, value in VALID.items())
    Path("s.toml").write_text(study)
    Path("bad.toml").write_bytes(b"\xff\x00")
    Path("log.csv").write_text(LOG_TEXT)
    Path("bad.csv").write_bytes(b"state,action,reward,next_state\n\xff,1,1,1\n")
    Path("bad.parquet").write_bytes(b"PAR1\0\0PAR1")
    ledger.counts["calls"] += 1
    told = f"equirl {' '.join(map(repr, words))}"
    ledger.announce(told)
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        judge(ledger, "equirl", result.exception, {"words": words})
        ledger.breaks(f"a command: {type(result.exception).__name__}", f"{told}\nescaped: {result.exception!r}")
    elif result.exit_code not in CODES or "Traceback" in result.output:
        ledger.breaks(
            f"a command: {result.exit_code}", f"{told}\nended with {result.exit_code}\n{result.output[-2000:]}"
        )
    elif not all(c.isprintable() or c == "\n" for c in result.output):
        ledger.breaks(f"a command: {words[0]} speaks", f"{told}\nprinted {result.output!r}")
    else:
        ledger.counts["refused" if result.exit_code else "answered"] += 1


LOG_HEAD = b"state,action,reward,next_state\n"
LOG_ENDINGS = (".csv", ".tsv", ".parquet")


def foreign_file(data: st.DataObject, ledger: Ledger) -> None:
    """Bytes that are none of ours, given to everything that reads files."""
    ending = data.draw(sampled_from([".npz", ".txt", ".toml", ".json", ".csv", ".tsv", ".parquet"]))
    head = data.draw(
        sampled_from(
            [
                b"",
                b"PK",
                b"PK\x03\x04",
                b"\x93NUMPY",
                b"\x89PNG\r\n",
                b"{",
                b"S.G\n",
                b"[[parts]]\n",
                b"\xff\xfe",
                b"PAR1",
                LOG_HEAD,
            ]
        )
    )
    content = head + data.draw(st.binary(max_size=60))
    if data.draw(st.booleans()):
        content = _damaged(data, ending)
    path = FOLDER / f"foreign{ending}"
    path.write_bytes(content)
    readers = {
        "TabularMDP.load": lambda path: eq.TabularMDP.load(path),
        "load_agent": lambda path: eq.load_agent(path),
        "read_journal": lambda path: read_journal(path),
        "from_log": lambda path: eq.from_log(path),
        "load_world": lambda path: eq.load_world(path),
        "Partition.from_json": lambda path: eq.Partition.from_json(path.read_bytes().decode("latin-1")),
    }
    anyone = sampled_from([*readers, "load_study", "equirl classes"])
    name = data.draw(sampled_from(["from_log"] * 3 + ["equirl classes"]) | anyone if ending in LOG_ENDINGS else anyone)
    if name == "load_study":
        _only_study_errors(ledger, repr(content), lambda: expand(load_study(path), FOLDER))
    elif name == "equirl classes":
        _run_command(ledger, ["classes", str(path)])
    else:
        words = (str(path), "partition", "label", "map", "cell", "row", "world", "log", "column")
        keep_promise(ledger, f"{name} of {content!r}", readers[name], {"path": path}, words)


def _damaged(data: st.DataObject, ending: str) -> bytes:
    """A file of ours with some bytes changed or lost, or of another kind than its name says."""
    whole = FOLDER / f"whole{ending}"
    if not whole.exists():
        if ending == ".npz":
            river().save(whole)
        elif ending == ".parquet":
            columns = {"state": [0, 1], "action": [0, 1], "reward": [0.5, 1.0], "next_state": [1, 0]}
            pq.write_table(pa.table(columns), whole)
        else:
            whole.write_text(
                {
                    ".txt": "S.G\n",
                    ".toml": "\n".join(f"{k} = {v}" for k, v in VALID.items()),
                    ".csv": LOG_TEXT,
                    ".tsv": LOG_TEXT.replace(",", "\t"),
                    ".json": eq.Partition.singletons(3).to_json(),
                }[ending]
            )
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    return bytes(content[: data.draw(st.integers(0, len(content)))]) if data.draw(st.booleans()) else bytes(content)


def crash(data: st.DataObject, ledger: Ledger) -> None:
    """The interpreter dies: to see that this is told."""
    keep_promise(ledger, "crash on purpose", lambda: ctypes.string_at(0), {})


def hang(data: st.DataObject, ledger: Ledger) -> None:
    """A call does not end: to see that this is told. The clock is set forward."""

    def forever() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        while True:
            pass

    keep_promise(ledger, "hang on purpose", forever, {})


def defect(data: st.DataObject, ledger: Ledger) -> None:
    """An error that nobody meant: to see that this is told."""
    keep_promise(ledger, "defect on purpose", lambda: np.zeros(3)[np.zeros(3)], {})
