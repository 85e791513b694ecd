"""Every kernel of the package: what goes in travels in bundles, what comes out needs no Python to be made."""

import ast
from pathlib import Path

import pytest

import equirl

ROOT = Path(equirl.__file__).parent
DECORATORS = {"kernel", "lean_kernel", "inlined"}
MOST_ARGUMENTS = 9  # about eight


def trees():
    return {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def kernels():
    found = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and DECORATORS & {ast.unparse(d) for d in node.decorator_list}:
                found[f"{path.stem}.{node.name}"] = node
    return found


def named_tuples():
    classes = (node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {node.name for node in classes if "NamedTuple" in map(ast.unparse, node.bases)}


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


KERNELS, NAMED_TUPLES = kernels(), named_tuples()


def test_there_are_kernels_and_named_tuples_to_look_at():
    assert len(KERNELS) > 30
    assert {"Rows", "Clusters"} <= NAMED_TUPLES


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_returns_a_named_tuple(name):
    """Boxing one runs Python code, which crashes the interpreter when an interrupt is pending."""
    node = KERNELS[name]
    assert node.returns is not None
    assert not names_in(node.returns) & NAMED_TUPLES
    returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is not None]
    assert not [call for call in returned if isinstance(call, ast.Call) and names_in(call.func) & NAMED_TUPLES]


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_takes_many_arguments_or_unpacks_a_bundle_into_a_call(name):
    node = KERNELS[name]
    assert len(node.args.args) <= MOST_ARGUMENTS
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    assert not [call for call in calls if any(isinstance(given, ast.Starred) for given in call.args)]
