"""What pyproject.toml requires, and what the Makefile installs of it."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lowest_versions import PYPROJECT, constraints, declared

ROOT = Path(__file__).parents[1]
FAILING = {  # a version that does not do, and why
    "coverage==7.6.0": "Numba cannot be imported beside it",
    "gymnasium==1.2.3": "its rainy taxi has other transition probabilities: the world would depend on the version",
    "matplotlib==3.10.6": "with a new pyparsing it warns wherever text is drawn",
    "numba==0.62.1": "kernels cannot be linked with what they call: its libraries lack a field",
    "numpy==1.26.4": "int64 and uint64 make a float: interpreted kernels differ from compiled ones",
    "scipy==1.11.1": "graphs with indices of 64 bits: nothing is reachable, in silence",
    "setuptools==76.1.0": "cannot read the licence: nothing is built",
    "typer==0.12.3": "no command starts",
    "typer==0.12.5": "no command starts with a new click",
    "typer==0.17.5": "an argument that is missing arrives as None with a new click",
    "websockets==14.2": "its client, the page of the tests, cannot be kept from a proxy",
}


@pytest.mark.parametrize("version", FAILING)
def test_a_version_that_is_known_to_fail_is_not_allowed(version):
    name, _, number = version.partition("==")
    found = [Requirement(text) for text in declared(PYPROJECT.read_text())]
    bounds = [requirement.specifier for requirement in found if requirement.name == name]
    assert bounds
    assert not any(bound.contains(number) for bound in bounds), FAILING[version]


def test_all_that_is_required_has_one_lowest_version_and_no_upper_one():
    names = [line.partition("==")[0] for line in constraints(declared(PYPROJECT.read_text()))]
    assert {"numpy", "setuptools", "matplotlib", "mkdocs", "pytest", "ruff"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy==2.0", "numpy~=2.0"])
def test_a_requirement_without_a_lowest_version_is_named(requirement):
    with pytest.raises(ValueError, match=f"'{requirement}' declares no lowest version"):
        constraints(["scipy>=1.13", requirement])


def test_two_lowest_versions_of_one_package_are_named():
    with pytest.raises(ValueError, match="pandas is declared with two lowest versions, 2 and 3"):
        constraints(["pandas>=2", "pandas>=3"])


def test_lowest_versions_are_asked_for_exactly_with_extras_left_out():
    assert constraints(["mkdocstrings[python]>=0.26", "b>=1.2rc3", "b>=1.2rc3"]) == ["b==1.2rc3", "mkdocstrings==0.26"]


def test_the_lowest_python_is_the_one_that_is_tested_with_the_lowest_versions():
    lowest = tomllib.loads(PYPROJECT.read_text())["project"]["requires-python"].removeprefix(">=")
    assert f"LOWEST_PYTHON ?= python{lowest}\n" in (ROOT / "Makefile").read_text()


@pytest.fixture
def said(tmp_path):
    """Which extras make would install for a goal, and where, when some files are there already, oldest first."""
    if shutil.which("make") is None:
        pytest.skip("needs make")
    (tmp_path / "tests").mkdir()
    for name in ("Makefile", "pyproject.toml", "tests/lowest_versions.py"):
        shutil.copy(ROOT / name, tmp_path / name)

    def ask(goal, *there):
        for name in there:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        done = subprocess.run(["make", "-n", goal], cwd=tmp_path, check=True, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if "pip install" in line]
        return [(line.partition("/")[0], line.partition(" -e ")[2]) for line in lines]

    return ask


def test_make_paper_installs_the_package_and_its_figures_alone(said):
    assert said("paper") == [(".venv", "'.[plot]'")]


def test_make_test_installs_the_tools_after_make_paper_did_not(said):
    assert said("test", ".venv/paper-ready") == [(".venv", "'.[dev]'")]


def test_make_paper_installs_nothing_after_make_test(said):
    assert said("paper", ".venv/paper-ready", ".venv/ready") == []


def test_make_test_installs_once(said):
    assert said("test", ".venv/paper-ready", ".venv/ready") == []


def test_make_test_lowest_leaves_the_usual_environment_alone(said):
    assert said("test-lowest") == [(".venv-lowest", "'.[test,docs]'")]
