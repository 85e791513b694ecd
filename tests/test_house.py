"""The package as a whole: imports point one way, names are found and explained, importing is light, caches optional."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path

import pytest

import equirl
from equirl.learners.catalogue import ROWS
from equirl.learners.learner_registry import AGENTS
from equirl.numerics.compiling import kernel
from equirl.worlds.world_registry import WORLDS

ROOT = Path(equirl.__file__).parent

# Folders in reading order: a module imports only from its own folder and from those before it.
GROUND = ("files", "words", "numerics")
SCIENCE = (
    "model", "worlds", "solving", "structure", "estimation", "clustering", "planning", "posterior", "learners",
    "simulation", "theory",
)  # fmt: skip
BRIDGES = ("interop", "keeping", "logs")
LABORATORY = ("studies", "plots", "paper", "leaderboard", "yardsticks", "benchmarks", "explore", "cli")
FOLDERS = (*GROUND, *SCIENCE, *BRIDGES, *(f"lab.{room}" for room in LABORATORY))
# Inside a function, for a user's convenience, these may point back.
CONVENIENCES = {("worlds", "interop"), ("learners", "keeping"), ("simulation", "lab.plots")}
CONVENIENCES |= {("lab.studies", "lab.plots")}
MOST_PARAMETERS, MOST_KERNEL_PARAMETERS = 10, 9
KERNELS = {"kernel", "lean_kernel", "inlined"}  # the decorators that compile
HEAVY = ("numba", "scipy", "matplotlib", "pydantic", "rich", "pyarrow", "distributed")  # NumPy and Gymnasium are not


def modules():
    return [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def dotted(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """(module, inside a function) for every import of this package, those for type checkers left out."""
    found = []

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.ImportFrom):
                names = [child.module or ""] if child.level == 0 else ["equirl"]
            else:
                names = [alias.name for alias in child.names] if isinstance(child, ast.Import) else []
            found.extend((name, inside) for name in names if name.split(".")[0] == "equirl")
            visit(child, inside or isinstance(child, ast.FunctionDef | ast.Lambda))

    visit(ast.parse(path.read_text()), False)
    return found


def folder_of(name):
    parts = name.split(".")[1:]
    return ".".join(parts[: 2 if parts[:1] == ["lab"] else 1]) or None


def functions(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


def n_parameters(function):
    """Those that are named; self, the class and ``**settings`` of something else are not counted."""
    args = function.args
    return len([arg for arg in args.posonlyargs + args.args + args.kwonlyargs if arg.arg not in ("self", "cls")])


def documented(function):
    """The names in the section "Parameters" of a docstring in NumPy style."""
    lines = iter(inspect.getdoc(function).splitlines())
    next((line for line in lines if line == "Parameters"), None)
    next(lines, None)
    names = set()
    for line in lines:
        if line and not line.startswith(" "):
            if " : " not in line and not line.startswith("*"):
                break  # the next section
            names |= {name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")}
    return names


def test_every_module_stands_in_a_folder_of_the_list():
    assert {folder_of(dotted(path)) for path in modules()} - {"__main__", "lab"} <= set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_to_earlier_folders(folder):
    wrong = []
    for path in modules():
        if folder_of(dotted(path)) != folder:
            continue
        for name, inside in imports(path):
            target = folder_of(name)
            if inside and (folder, target) in CONVENIENCES:
                continue
            if target is None or FOLDERS.index(target) > FOLDERS.index(folder):
                wrong.append(f"{dotted(path)} imports {name}")
    assert not wrong


def test_the_laboratory_uses_only_what_the_folders_of_the_science_export():
    wrong = []
    for path in (ROOT / "lab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and folder_of(node.module or "") in SCIENCE:
                exported = getattr(importlib.import_module(".".join(node.module.split(".")[:2])), "__all__", ())
                if node.module.count(".") > 1 or not {alias.name for alias in node.names} <= set(exported):
                    wrong.append(f"{dotted(path)}: {ast.unparse(node)}")
    assert not wrong


@pytest.mark.parametrize("folder", [*sorted(set(SCIENCE) - {"theory"}), *BRIDGES, "numerics"])  # theory loads at once
def test_type_checkers_see_what_a_folder_exports(folder):
    package = importlib.import_module(f"equirl.{folder}")
    tree = ast.parse((ROOT / folder / "__init__.py").read_text())
    seen = [alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(filter(None, seen)) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)


def test_no_module_is_in_an_import_cycle():
    graph = {dotted(path): {name for name, inside in imports(path) if not inside} for path in modules()}
    assert list(TopologicalSorter(graph).static_order())  # a cycle raises CycleError


def test_no_module_has_a_name_that_says_nothing():
    assert not {path.stem for path in modules()} & {"utils", "base", "common", "helpers", "misc"}


def test_no_module_name_occurs_twice():
    names = Counter(path.stem for path in modules() if path.stem != "__init__")
    assert not [name for name, n in names.items() if n > 1]


def test_no_function_takes_many_parameters():
    wrong = []
    for path in modules():
        if folder_of(dotted(path)) in ("worlds", "lab.cli"):  # parameters of a world, options of a command
            continue
        for function in functions(path):
            compiled = bool({ast.unparse(decorator) for decorator in function.decorator_list} & KERNELS)
            most = MOST_KERNEL_PARAMETERS if compiled else MOST_PARAMETERS
            if n_parameters(function) > most:
                wrong.append(f"{dotted(path)}.{function.name}")
    assert not wrong


@pytest.mark.parametrize("name", [name for name in equirl.__all__ if inspect.isfunction(getattr(equirl, name))])
def test_every_parameter_of_a_public_function_is_documented(name):
    function = getattr(equirl, name)
    assert set(inspect.signature(function).parameters) == documented(function)


@pytest.mark.parametrize("name", equirl.__all__)
def test_every_public_name_is_found_and_explained(name):
    value = getattr(equirl, name)
    if callable(value):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")  # the signature that dataclasses and tuples write by themselves


def test_the_public_names_are_few_and_stand_in_five_groups():
    grouped = [name for group in equirl.GROUPS.values() for names in group.values() for name in names.split()]
    assert len(equirl.GROUPS) == 5
    assert [*grouped, "__version__"] == equirl.__all__
    assert len(equirl.__all__) == len(set(equirl.__all__)) <= 45


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'riverswin'"):
        _ = equirl.riverswin


def test_type_checkers_see_every_name_and_no_other():
    """A ``__getattr__`` that they saw would make any misspelt name right."""
    tree = ast.parse((ROOT / "__init__.py").read_text())
    blocks = {ast.unparse(node.test): node.body for node in tree.body if isinstance(node, ast.If)}
    assert "__getattr__" not in "".join(ast.unparse(node) for node in tree.body if not isinstance(node, ast.If))
    assert "__getattr__" in "".join(ast.unparse(node) for node in blocks["not TYPE_CHECKING"])
    told = [alias.asname for node in blocks["TYPE_CHECKING"] for alias in node.names]
    assert sorted([*told, "__version__"]) == sorted(equirl.__all__)
    assert (ROOT / "py.typed").exists()


def test_the_version_is_that_of_the_installed_package():
    assert equirl.__version__ == version("equirl")


@pytest.mark.parametrize("name", [*ROWS, *WORLDS])
def test_every_learner_and_world_is_described_in_one_line(name):
    row = AGENTS[name] if name in AGENTS else WORLDS[name]
    assert row.description
    assert "\n" not in row.description


def in_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_the_package_loads_nothing_heavy():
    done = in_new_process(f"import sys, equirl; print(*[m for m in {HEAVY!r} if m in sys.modules])")
    assert done.stdout.strip() == "", done.stderr


def test_importing_the_command_loads_nothing_heavy():
    heavy = tuple(name for name in HEAVY if name != "rich")  # Typer's own
    done = in_new_process(f"import sys, equirl.lab.cli; print(*[m for m in {heavy!r} if m in sys.modules])")
    assert done.stdout.strip() == "", done.stderr


@pytest.mark.parametrize("name", ["equirl", "equirl.lab.cli"])
def test_importing_warns_of_nothing(name):
    command = [sys.executable, "-W", "error", "-c", f"import {name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_run_with_its_gain_given_loads_no_sparse_solvers():
    code = (
        "import sys, scipy.linalg\n"  # which Numba needs, and which loads them itself in older versions
        "before = set(sys.modules)\n"
        "import equirl as eq\n"
        "eq.simulate(eq.make('riverswim'), 'ucrl2-l', 10, seed=0, gain=0.5)\n"
        "print([m for m in set(sys.modules) - before if m.startswith('scipy.sparse')])"
    )
    done = in_new_process(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_kernels_work_where_no_cache_folder_can_be_written(monkeypatch):
    from numba.core.caching import CompileResultCacheImpl

    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])  # numba finds no place, as in a read-only home

    def thrice(x):
        return 3 * x

    import numba

    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(thrice)
    assert kernel(thrice)(2) == 6


def test_where_no_cache_can_be_written_the_remedy_is_told_at_that_moment():
    code = (
        "from numba.core.caching import CompileResultCacheImpl\n"
        "CompileResultCacheImpl._locator_classes = []\n"  # as in a read-only install and home
        "import numpy as np\n"
        "from equirl.simulation.trace import tally\n"
        "tally(np.ones(1), np.ones(1), 1, np.array([1, -1]), 0, np.zeros(2), np.zeros((2, 1)))"
    )
    told = in_new_process(code).stderr
    assert "at every start" in told
    assert "set the environment variable NUMBA_CACHE_DIR" in told


def test_kernels_keep_their_plain_body():
    from equirl.planning.l1_ball import sweep_balls

    assert sweep_balls.py_func.__name__ == "sweep_balls"
