"""How many small wrong changes the nearest tests notice: ``make mutants N=100``, with SEED= and WHERE= as wanted.

Random mutations of the package (``mutations.py``) are made one at a time in a private copy of the tree, and the tests
nearest to each run until one fails; how long test files take that passed is noted, for the next. Tests of stored
numbers run first and with kernels interpreted: nothing is compiled for what they notice, which is most. Kernels that
were compiled are kept, so that later only what a mutation touches is compiled. What is found is appended to a file at
once: the same command again goes on where it was interrupted. In the end all tests that failed run once more without a
mutation: where one fails even so, the mutant does not count.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import functools
import hashlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parent.parent
MATHEMATICS = ("numerics", "model", "solving", "structure", "estimation", "clustering", "planning", "posterior")
MATHEMATICS += ("learners", "simulation", "theory")
OTHERS = ("files", "words", "interop", "keeping", "worlds", "studies", "logs", "leaderboard")
WEIGHTS = dict.fromkeys(MATHEMATICS, 3.0) | dict.fromkeys(OTHERS, 1.0)
KERNEL_WEIGHT = 2.0  # times more often in compiled code
FAR = ("tests/explore/", "tests/fuzz/", "tests/benchmarks/", "tests/test_house", "tests/test_site", "tests/test_docs")
KEY_TEST = "tests/learners/test_same_numbers.py"  # of all that learners are made of
STORED_WORLDS = "tests/worlds/test_same_worlds.py"  # of all numbers of every world
STORED_DEFAULTS = "tests/test_defaults.py"  # of every signature, and named constants
KEY_FOLDERS = {"numerics", "estimation", "clustering", "planning", "posterior", "learners"}
BUDGET = 45.0  # seconds of the processor that the tests of one mutant take unchanged
GUESS = 5.0  # of a test file that has not run yet
STORED = "from stored_kit import"  # in test files of stored numbers
NEXT_TO_IT = 2  # of the others, test files that run first
CANDIDATES = 10  # test files considered for one mutant
TEST_SECONDS = 40  # of the processor for one test, compiling included; more is a loop without end
MUTANT_SECONDS = 1800  # of the clock for all tests of a mutant
MEMORY = 16 * 2**30
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "Makefile", "README.md", "CHANGELOG.md", "mkdocs.yml")
# A plugin of the tests: a loop without end is ended, in a kernel too; where all passed it is noted what files took.
PLUGIN = """import json, os, signal

seconds, last = {{}}, [0.0]

def pytest_runtest_logstart():
    signal.setitimer(signal.ITIMER_PROF, {seconds})

def pytest_runtest_logfinish(nodeid):
    signal.setitimer(signal.ITIMER_PROF, 0)
    now, test = sum(os.times()[:4]), nodeid.partition("::")[0]
    seconds[test] = seconds.get(test, 0.0) + now - last[0]
    last[0] = now

def pytest_sessionfinish(exitstatus):
    if exitstatus == 0:
        with open({times!r}, "a") as file:
            file.writelines(json.dumps(dict(test=test, seconds=round(n, 1))) + "\\n" for test, n in seconds.items())
"""
KERNEL_FILES = {f"src/equirl/numerics/{name}.py" for name in ("kernel_cache", "compiling")}  # which name kernels
OWN = {"tests/mutants.py", "tests/mutations.py"}
PASSED = (0, 5)  # exit codes of pytest: all passed, or none is to run


class Tree:
    """A private copy of the tree with the kernels that its tests compile, and what is known of these tests."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder, self.path, self.warm = folder, folder / "tree", folder / "kernels"
        self.warm.mkdir(parents=True, exist_ok=True)
        (folder / "end_loops.py").write_text(PLUGIN.format(seconds=TEST_SECONDS, times=str(folder / "times.jsonl")))
        files = _files(root)
        for name, here in files.items():
            there = self.path / name
            if not there.is_file() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(here, there)
        for name in _files(self.path).keys() - files:
            (self.path / name).unlink()
        texts = {name: path.read_text() for name, path in files.items() if name.endswith(".py")}
        self.sources = {name: text for name, text in texts.items() if name.startswith("src/")}
        self.tests = {name: text for name, text in texts.items() if re.search(r"^tests/(.*/)?test_\w+\.py$", name)}
        kits = {name: text for name, text in texts.items() if name not in {*self.tests, *OWN}}
        self.kits = {Path(name).stem: text for name, text in kits.items() if name.startswith("tests/")}
        self.key = _hash([kits, self.tests])

    def seconds(self, test: str) -> float:
        """What a test file took of the processor when it last passed; a guess where that is not known."""
        known = {line["test"]: line["seconds"] for line in _read_lines(self.folder / "times.jsonl")}
        return known.get(test, GUESS)

    def run(self, tests: list[str], kernels: Path, *more: str, plain: bool = False) -> tuple[int, float, str]:
        """The exit code of tests that stop at the first failure, their seconds of the processor, their last words.

        ``plain``: with kernels interpreted, where whole numbers of 64 bits warn when they begin anew.
        """
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        env = os.environ | {
            "PYTHONPATH": f"{self.path / 'src'}:{self.folder}", "NUMBA_CACHE_DIR": str(kernels),
            "TMPDIR": str(scratch), "HOME": str(scratch), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
        }  # fmt: skip
        if kernels != self.warm:
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        if plain:
            env["NUMBA_DISABLE_JIT"] = "1"
            more = ("-W", "ignore::RuntimeWarning", *more)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "end_loops", "--tb=line", *more]
        before = _processor_seconds()
        child = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests], cwd=self.path, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )  # fmt: skip
        try:
            said, _ = child.communicate(timeout=MUTANT_SECONDS)
        except subprocess.TimeoutExpired:
            said = ""
        finally:
            _end(child)
        return child.returncode, round(_processor_seconds() - before, 1), said[-800:]

    def nearest(self, name: str, mutation: Mutation) -> Iterator[str]:
        """The tests of a source file, nearest first, as many as the budget allows; its doctests are the first."""
        scores = {test: nearness(test, text, name, mutation.function, self) for test, text in self.tests.items()}
        if mutation.kind == "constant" and STORED_DEFAULTS in scores:  # however many tests name what it stands in
            scores[STORED_DEFAULTS] = max(scores.values())
        near = sorted((test for test in scores if scores[test]), key=lambda test: (-scores[test], test))
        left, chosen = BUDGET, 0
        for test in ([name] if ">>>" in self.sources[name] else []) + near[:CANDIDATES]:
            seconds = self.seconds(test)
            if seconds <= (left / 2 if chosen else math.inf):  # one must not crowd out others
                yield test
                left, chosen = left - seconds, chosen + 1
            if left < BUDGET / 5:
                return

    @functools.cached_property
    def importers(self) -> dict[str, set[str]]:
        """By module, those that import it."""
        found: dict[str, set[str]] = {}
        for name, text in self.sources.items():
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module:
                    found.setdefault(node.module, set()).add(_module(name))
        return found


def nearness(test: str, text: str, name: str, function: str, tree: Tree) -> int:
    """How near a test file is to a function of a source file, by its name, its imports, its words and its folder."""
    folder, stem = Path(name).parts[-2:]
    if test.startswith(FAR) and f"tests/{folder}/" not in test:
        return 0
    stem, module, words, public = Path(stem).stem, _module(name), _words(text), _public(tree.sources[name])
    importers = tree.importers.get(module, set())
    kits = [tree.kits.get(kit, "") for kit in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)]
    named = {stem, *map(_underscored, function.split("."))}  # a test file may be of a file, a class or a function
    return (
        32 * (Path(test).stem.removeprefix("test_") in named)
        + 16 * bool(set(function.split(".")) & words)
        + 16 * (module in text)
        + 12 * (test == KEY_TEST and folder in KEY_FOLDERS)
        + 28 * (test == STORED_WORLDS and folder == "worlds")
        + 28 * (STORED in text and Path(test).parts[1] == folder)
        + 10 * (test == STORED_DEFAULTS)
        + 8 * bool(public & words)
        + 8 * any(module in kit for kit in kits)
        + 4 * any(importer in text for importer in importers)
        + 4 * (Path(test).parts[1] == folder)
    )


def drawn(sources: dict[str, str], seed: int, where: str) -> Iterator[tuple[str, Mutation]]:
    """All mutations, in a random order with weights, so that the first N are a sample without repetition."""
    rng, keyed = random.Random(seed), []
    for name, text in sources.items():
        weight = WEIGHTS.get(Path(name).parts[-2], 1.0 if where else 0.0)
        for mutation in mutations(text) if weight and where in name else []:
            more = weight * (KERNEL_WEIGHT if mutation.kernel else 1.0)
            keyed.append((rng.random() ** (1.0 / more), name, mutation))
    return ((name, mutation) for _, name, mutation in sorted(keyed, reverse=True))


def outcome(tree: Tree, name: str, mutation: Mutation) -> dict[str, Any]:
    """Whether the nearest tests notice a mutation, and how: those next to it first, the others if they do not."""
    place, times = tree.path / name, (tree.path / name).stat()
    near, tests, total, code, said, plain = list(tree.nearest(name, mutation)), [], 0.0, 0, "", False
    stored = [test for test in near if STORED in tree.tests.get(test, "")]
    others = [test for test in near if test not in stored]
    kernels = tree.folder / "kernels of the mutant"
    for group, plain in ((stored, True), (others[:NEXT_TO_IT], False), (others[NEXT_TO_IT:], False)):
        if not group:
            continue
        shutil.rmtree(kernels, ignore_errors=True)
        shutil.copytree(tree.warm, kernels, copy_function=os.link)  # a kernel compiled anew is another file
        try:
            place.write_text(mutation.applied(tree.sources[name]))
            code, seconds, said = tree.run(group, kernels, plain=plain)
        finally:
            place.write_text(tree.sources[name])
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
        if name not in KERNEL_FILES:
            _keep_new(kernels, tree.warm)
        tests, total = tests + group, round(total + seconds, 1)
        if code not in PASSED:
            break
    late = code in (-signal.SIGPROF, -signal.SIGKILL)
    result = "survived" if code in PASSED else "timed out" if late else "killed"
    return {"outcome": result, "by": _failed(said)[:1], "plain": plain, "code": code, "tests": tests, "seconds": total}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> None:
    """Draw, try, report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("n", type=int, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--where", default="", help="only files whose path contains this")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants", help="for the copy and the results")
    asked = parser.parse_args(arguments)
    tree = Tree(root, asked.folder.resolve())
    journal = tree.folder / "outcomes.jsonl"
    done = {line["index"]: line for line in _read_lines(journal) if line["run"] == [tree.key, asked.seed, asked.where]}
    results = []
    for index, (name, mutation) in zip(range(asked.n), drawn(tree.sources, asked.seed, asked.where), strict=False):
        if index not in done:
            place = {"run": [tree.key, asked.seed, asked.where], "index": index, "place": f"{name}:{mutation.line}"}
            done[index] = place | mutation._asdict() | outcome(tree, name, mutation)
            done[index]["diff"] = diff(tree.sources[name], mutation)
            _append(journal, done[index])
        line = done[index]
        results.append(line)
        print(f"{index + 1:4} {line['outcome']:9} {line['seconds']:6} s  {line['place']}  {line['kind']}", flush=True)
    confirm(tree, results)
    report(results)
    target = tree.folder / f"mutants-{asked.seed}.json"
    target.write_text(json.dumps(results, indent=1))
    print(f"details: {target}")


def confirm(tree: Tree, results: list[dict]) -> None:
    """Run what noticed mutants without them; where a test fails even so, the mutant counts as not tried."""
    wrong: set[str] = set()
    for plain in (True, False):
        noticed = {_function(test) for line in results for test in line["by"] if line.get("plain", False) == plain}
        for tests, options in (({test for test in noticed if "::" in test}, []), (noticed, ["--collect-only"])):
            while left := sorted(tests - wrong):
                _, _, said = tree.run(left, tree.warm, *options, plain=plain)
                failed = {_function(test) for test in _failed(said)} & set(left)
                if not failed:
                    break
                wrong |= failed
    for line in results:
        if wrong & {_function(test) for test in line["by"]}:
            line["outcome"] = "not tried"


def diff(source: str, mutation: Mutation) -> str:
    before, after = source.splitlines(), mutation.applied(source).splitlines()
    return "\n".join(line for line in list(difflib.unified_diff(before, after, n=1, lineterm=""))[3:])


def report(results: list[dict]) -> None:
    """The survivors, one by one, and the counts."""
    for line in results:
        if line["outcome"] == "survived":
            print(f"\nsurvived: {line['place']} in {line['function'] or 'the module'}\n{line['diff']}")
            print("tests: " + " ".join(line["tests"]))
    counts = Counter(line["outcome"] for line in results)
    noticed, tried = counts["killed"] + counts["timed out"], len(results) - counts["not tried"]
    print(f"\n{noticed} of {tried} noticed: {counts['killed']} killed, {counts['timed out']} timed out")


def _files(root: Path) -> dict[str, Path]:
    found = (path for name in COPIED for path in [root / name, *(root / name).rglob("*")])
    return {str(path.relative_to(root)): path for path in found if path.is_file() and "__pycache__" not in path.parts}


@functools.cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


@functools.cache
def _public(source: str) -> frozenset[str]:
    """The functions and classes at the top of a file."""
    return frozenset(node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef))


def _module(name: str) -> str:
    return name.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _underscored(name: str) -> str:
    """``_ClassSampler`` as files are named: class_sampler."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_").lower()


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _hash(parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _read_lines(path: Path) -> list[dict]:
    """What was appended; a last line that was cut off is left out."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def _failed(said: str) -> list[str]:
    """The tests that failed, and the files that could not be read."""
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)


def _function(test: str) -> str:
    """Without its parameters."""
    return test.partition("[")[0]


def _keep_new(kernels: Path, warm: Path) -> None:
    """What was compiled with a mutation is kept too: a kernel is named by all that it is compiled from."""
    for path in kernels.rglob("*.nbc"):
        there = warm / path.relative_to(kernels)
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, there)


def _append(path: Path, line: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _end(child: subprocess.Popen) -> None:
    """The child and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended too
    main()
