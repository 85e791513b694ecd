"""Every kernel of the package: what goes in travels in bundles, what comes out needs no Python to be made."""

import ast
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import equirl
from equirl.numerics import compiling

ROOT = Path(equirl.__file__).parent
DECORATORS = {"kernel", "lean_kernel", "inlined"}
MOST_ARGUMENTS = 9  # about eight


@cache
def definitions():
    """Kernels by name and the names of named tuples; read when a test asks, since collecting is done by each worker."""
    kernels, named_tuples = {}, set()
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and DECORATORS & {ast.unparse(d) for d in node.decorator_list}:
                kernels[f"{path.stem}.{node.name}"] = node
            elif isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases):
                named_tuples.add(node.name)
    return kernels, named_tuples


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def returns_a_named_tuple(node, named_tuples):
    returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is not None]
    calls = [value.func for value in returned if isinstance(value, ast.Call)]
    return any(names_in(part) & named_tuples for part in [node.returns, *calls])


def unpacks_into_a_call(node):
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any(isinstance(given, ast.Starred) for call in calls for given in call.args)


def test_there_are_kernels_and_named_tuples_to_look_at():
    kernels, named_tuples = definitions()
    assert len(kernels) > 30
    assert {"Rows", "Clusters"} <= named_tuples


def test_every_kernel_says_what_it_returns():
    assert [name for name, node in definitions()[0].items() if node.returns is None] == []


def test_no_kernel_returns_a_named_tuple():
    """Boxing one runs Python code, which crashes the interpreter when an interrupt is pending."""
    kernels, named_tuples = definitions()
    assert [name for name, node in kernels.items() if returns_a_named_tuple(node, named_tuples)] == []


def test_no_kernel_takes_many_arguments():
    assert [name for name, node in definitions()[0].items() if len(node.args.args) > MOST_ARGUMENTS] == []


def test_no_kernel_unpacks_a_bundle_into_a_call():
    assert [name for name, node in definitions()[0].items() if unpacks_into_a_call(node)] == []


def test_that_kernels_are_compiled_is_said_once_and_only_of_our_own(caplog, monkeypatch):
    def compiled(module):
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})

    for uncached, text in ((False, compiling.COMPILING), (True, compiling.COMPILING_AT_EVERY_START)):
        caplog.clear()
        monkeypatch.setattr(compiling._Notice, "uncached", uncached)
        notice = compiling._Notice()
        for module in ("others.kernels", "equirl.planning.l1_ball", "equirl.solving.chains"):
            notice.on_start(compiled(module))
            assert caplog.messages == ([] if module.startswith("others") else [text])
