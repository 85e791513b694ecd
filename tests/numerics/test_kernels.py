"""Every kernel of the package: what goes in travels in bundles, what comes out needs no Python to be made."""

import ast
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags

import equirl
from equirl.numerics import compiling
from equirl.numerics.compiling import inlined, kernel, lean_kernel
from equirl.numerics.linking import KernelFlags

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


# What a kernel calls is compiled with it, and without it.


@kernel
def _leaf(values, k):
    return values[k] + 1.0


@lean_kernel
def _branch(values, k):
    return 2.0 * _leaf(values, k)


@kernel
def _root(values):
    return _branch(values, 0) + _leaf(values, 1) + np.zeros(3)[2]


@inlined
def _pasted(values):
    return _branch(values, 1)


@numba.njit
def _numba_s_own(values):
    return _root(values)


@kernel
def _refuses(k):
    if k < 0:
        raise ValueError("below nothing")
    return k


@kernel
def _passes_on(k):
    return _refuses(k) + 1


def test_what_a_kernel_calls_is_no_program_of_its_own_until_python_calls_it():
    @kernel
    def leaf(x):
        return x + 1

    @kernel
    def branch(x):
        return 2 * leaf(x)

    assert branch(1) == 4
    assert (len(branch.overloads), len(leaf.overloads)) == (1, 0)
    assert leaf(1) == 2
    assert len(leaf.overloads) == 1


def test_kernels_of_both_kinds_call_each_other():
    values = np.array([1.0, 2.0])
    assert _root(values) == _root.py_func(values) == 7.0


def test_functions_of_numba_s_own_decorator_can_call_kernels():
    assert _numba_s_own(np.array([1.0, 2.0])) == 7.0


def test_a_pasted_function_can_be_called_by_python():
    assert _pasted(np.array([1.0, 2.0])) == 6.0


def test_errors_of_what_a_kernel_calls_reach_python():
    assert _passes_on(1) == 2
    with pytest.raises(ValueError, match="below nothing"):
        _passes_on(-1)


def test_flags_are_alike_when_numba_says_so():
    plain, other = Flags(), Flags()
    other.nrt = True
    usual = KernelFlags(plain)
    usual.nrt = plain.nrt  # set, to what it is anyway
    assert KernelFlags(plain) == plain == usual == KernelFlags(usual)
    assert KernelFlags(other) != plain
    assert KernelFlags(other) != usual
    assert KernelFlags(other) == KernelFlags(other)
    assert KernelFlags(plain) != 1
    assert hash(KernelFlags(other)) == hash(other)
