"""Defaults of signatures, named constants and tables are promises: what they are is stored, and a change must be meant.

Results of a seed, answers of commands and limits of files depend on them. A change that is meant says so in the
changelog, raises ``RESULT_VERSION`` where runs change, and stores them anew: ``python tests/test_defaults.py``.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import pkgutil
import types
from pathlib import Path

import numpy as np

import equirl

STORED = Path(__file__).with_name("defaults.json")
ELSEWHERE = ("equirl.__main__", "equirl.lab.benchmarks", "equirl.lab.explore", "equirl.lab.cli", "equirl.lab.plots")


def plain(value, kinds=(bool, int, float, str)):
    """Values that a file can hold, the same on every machine."""
    if isinstance(value, tuple):
        return all(plain(item, kinds) for item in value)
    return isinstance(value, kinds) and not isinstance(value, enum.Enum)


def rounded(number):
    """Twelve digits: logarithms are not the same to the last bit everywhere."""
    return float(f"{float(number):.12g}")


def numbers_in(value):
    """All numbers of a table, however deep, in its order."""
    if isinstance(value, bool | int | float) and not isinstance(value, enum.Enum):
        yield value
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(part)


def attributes(module):
    """Numbers that classes of a module hold for all their objects."""
    for name, item in vars(module).items():
        if isinstance(item, type) and item.__module__ == module.__name__ and not issubclass(item, enum.Enum):
            for key, value in vars(item).items():
                constant = key.isupper() or "ClassVar" in str(vars(item).get("__annotations__", {}).get(key))
                if constant and plain(value, (int, float)):
                    yield f"{name}.{key}", value


def functions(module):
    """The functions and methods of a module by their names, private ones too."""
    for name, item in vars(module).items():
        if getattr(item, "__module__", None) != module.__name__:
            continue
        if isinstance(item, type):
            for key, method in vars(item).items():
                method = getattr(method, "__func__", method)
                if isinstance(method, types.FunctionType):
                    yield f"{name}.{key}", method
        elif callable(item):
            yield name, getattr(item, "py_func", item)


def promises():
    """By module: ``NAME`` of a constant, ``function.parameter`` of a default."""
    found = {}
    for info in pkgutil.walk_packages(equirl.__path__, "equirl."):
        if info.name.startswith(ELSEWHERE):
            continue
        module, held = importlib.import_module(info.name), {}
        others = {
            "TYPE_CHECKING",
            *(getattr(module, "__all__", ()) if info.ispkg else ()),
        }  # exports are lazy
        for name, value in vars(module).items():
            if name[0] == "_" or not name.isupper() or name in others:
                continue
            if plain(value, (int, float)):
                held[name] = value
            elif table := list(numbers_in(value)):
                held[name] = table
        held |= attributes(module)
        for name, function in functions(module):
            if isinstance(function, types.FunctionType):
                for key, parameter in inspect.signature(function).parameters.items():
                    if parameter.default is not parameter.empty and plain(parameter.default):
                        held[f"{name}.{key}"] = parameter.default
        if held:
            found[info.name] = dict(sorted(held.items()))
    return json.loads(json.dumps(found), parse_float=rounded)  # tuples are lists there


def test_defaults_and_constants_are_those_stored():
    stored, now = json.loads(STORED.read_text()), promises()
    assert now.keys() == stored.keys()
    for module, held in now.items():
        assert held == stored[module], module


if __name__ == "__main__":
    lines = [f" {json.dumps(module)}: {json.dumps(held)}" for module, held in promises().items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
