"""The wheel and the source archive: built, installed where there is nothing but what they require, and used.

Dependencies are linked from the environment of the tests, so that nothing is fetched; what is not declared is not
there. Inner loops are interpreted: compiling them would take longer than all the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import ProxyHandler, build_opener

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import equirl as eq
from counted_kit import COUNTED
from equirl.numerics.kernel_cache import runnable_processors

ROOT = Path(__file__).parents[1]
FOLDERS = (".ci", ".github", "docs", "examples", "src", "tests")
FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
         "CODE_OF_CONDUCT.md", "SECURITY.md", "SUPPORT.md", "paper.md", "paper.bib", "Makefile",
         "mkdocs.yml")  # fmt: skip
PAPER = """
from pathlib import Path
from equirl.lab.paper.report import draw_maps
from equirl.lab.paper.published import MAPS
from equirl.lab.paper.report import write_report
write_report([], draw_maps(Path("figures"), MAPS[:1]), Path(), "equirl paper")
"""
NOT_SOURCE = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*cache", ".hypothesis")


@dataclass(frozen=True)
class Installed:
    """An environment that holds equirl, and the variables for its processes."""

    folder: Path
    variables: dict[str, str]

    @property
    def site(self):
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder), "platbase": str(self.folder)}))

    @property
    def package(self):
        return self.site / "equirl"

    def start(self, program, *arguments):
        return subprocess.Popen(
            [self.folder / "bin" / program, *arguments], cwd=self.folder, env=self.variables, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def call(self, program, *arguments):
        """What a program prints, when it succeeds."""
        process = self.start(program, *arguments)
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        return out

    def pip(self, *arguments):
        """Have the pip of the tests work on this environment, which has none."""
        command = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--python",
            self.folder / "bin" / "python",
        ]
        told = subprocess.run([*command, *arguments], env=clean_variables(), capture_output=True, text=True)
        assert told.returncode == 0, told.stdout + told.stderr


def files_in(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def source_files():
    """The files of the package, by their names in an installation."""
    files = files_in(ROOT / "src" / "equirl")
    return {name: data for name, data in files.items() if "__pycache__" not in name}


def build(kind, source, out):
    """Build a wheel or a source archive with the backend that pyproject.toml names."""
    script = f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})"
    subprocess.run([sys.executable, "-c", script], cwd=source, env=clean_variables(), check=True, capture_output=True)


def clean_variables():
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def copy_tree(tree):
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=NOT_SOURCE)
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The folder of the wheel and of the source archive of this tree."""
    folder = tmp_path_factory.mktemp("built")
    copy_tree(folder / "tree")
    build("sdist", folder / "tree", folder)
    build("wheel", folder / "tree", folder)
    return folder


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request, archives, tmp_path_factory):
    """equirl from one of the two archives, with what it requires and the extra explore."""
    ending = {"wheel": "*.whl", "sdist": "*.tar.gz"}[request.param]
    environment = new_environment(tmp_path_factory.mktemp(request.param), next(archives.glob(ending)))
    link_requirements(environment.site, "equirl[explore]")
    return environment


@pytest.fixture(scope="module")
def bare(archives, tmp_path_factory):
    """equirl from the wheel with what it requires, without extras."""
    environment = new_environment(tmp_path_factory.mktemp("bare"), next(archives.glob("*.whl")))
    link_requirements(environment.site, "equirl")
    return environment


def new_environment(folder, archive):
    """An empty environment in which pip installs one archive, without what that requires."""
    own = {"HOME": str(folder), "MPLCONFIGDIR": str(folder), "NUMBA_DISABLE_JIT": "1"}
    environment = Installed(folder / "env", clean_variables() | own)
    venv.create(environment.folder, symlinks=True)
    if archive.suffix != ".whl":
        link_requirements(environment.site, "setuptools")  # which builds a wheel from it
    environment.pip("install", "--no-index", "--no-deps", "--no-build-isolation", "--no-compile", archive)
    return environment


def link_requirements(site, wanted):
    """Link all that something requires, directly or not, into the packages of an environment."""
    own = {canonicalize_name(found.name): found for found in distributions(path=[str(site)])}
    waiting, done = [Requirement(wanted)], set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found = own.get(name) or distribution(name)
        if name not in own:
            link(found, site)
        for extra in {"", *requirement.extras}:
            if (name, extra) not in done:
                done.add((name, extra))
                required = map(Requirement, found.requires or ())
                waiting += [part for part in required if part.marker is None or part.marker.evaluate({"extra": extra})]


def link(found: Distribution, site):
    for name in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
        with contextlib.suppress(FileExistsError):  # linked before, or shared by two distributions
            (site / name).symlink_to(found.locate_file(name))


def test_the_wheel_holds_the_files_of_the_package_and_no_others(archives):
    with zipfile.ZipFile(next(archives.glob("*.whl"))) as wheel:
        held = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == {f"equirl/{name}": data for name, data in source_files().items()}


def test_the_source_archive_holds_code_tests_and_docs(archives):
    with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    made = {"PKG-INFO", "setup.cfg"}
    assert {name for name in names if ".egg-info/" not in name} - made == {
        name for name in files_in(archives / "tree") if not name.startswith(("build/", "src/equirl.egg-info/"))
    }


def test_it_is_imported_from_where_it_was_installed_and_is_the_same(installed):
    file = installed.call("python", "-W", "error", "-c", "import equirl; print(equirl.__file__)")
    assert Path(file.strip()) == installed.package / "__init__.py"
    held = files_in(installed.package)
    assert {name: data for name, data in held.items() if "__pycache__" not in name} == source_files()


def test_all_that_pip_checks_is_there(installed):
    installed.pip("check")


def test_every_public_name_loads_without_extras_and_without_a_warning(bare):
    n = bare.call(
        "python", "-W", "error", "-c", "import equirl; print(len([getattr(equirl, name) for name in equirl.__all__]))"
    )
    assert int(n) == len(eq.__all__)


def test_the_report_of_the_paper_needs_the_extra_plot_alone(archives, tmp_path):
    environment = new_environment(tmp_path, next(archives.glob("*.whl")))
    link_requirements(environment.site, "equirl[plot]")
    environment.call("python", "-c", PAPER)
    assert {"report.html", "figures", "tables"} <= {path.name for path in environment.folder.iterdir()}


def test_solve_answers(installed):
    gain = eq.solve(eq.make("riverswim", n_states=3)).gain
    assert f"{gain:.10f}" in installed.call("equirl", "solve", "riverswim:n_states=3")


def test_run_plays(installed):
    asked = ("riverswim:n_states=3", "psrl", "--horizon", "50", "--runs", "1", "--json")
    told = json.loads(installed.call("equirl", "run", *asked))
    assert len(told["regret"]["psrl"]) == 1


def test_learn_reads_a_log(installed):
    log = installed.folder / "log.csv"
    log.write_text("state,action,reward,next_state\n" + "low,fill,-1,high\nhigh,sell,3,low\n" * 10)
    told = json.loads(installed.call("equirl", "learn", "log.csv", "--json"))
    assert {row["state"]: row["action"] for row in told["policy"]} == {"low": "fill", "high": "sell"}


def test_explore_serves_its_page_and_all_its_files(installed):
    opener = build_opener(ProxyHandler({}))
    static = {path.name: path.read_bytes() for path in (ROOT / "src/equirl/lab/explore/static").iterdir()}
    with installed.start("equirl", "explore", "--no-open", "--port", "0", "--json") as server:
        try:
            line = server.stdout.readline()
            assert line, server.stderr.read()
            address = urlsplit(json.loads(line)["address"])
            token, start = parse_qs(address.query)["token"][0], f"http://{address.netloc}"
            assert f"/static/{token}/main.js" in opener.open(f"{start}/?token={token}").read().decode()
            assert {name: opener.open(f"{start}/static/{token}/{name}").read() for name in static} == static
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate()


@pytest.mark.long
def test_a_wheel_that_carries_kernels_compiles_nothing(tmp_path):
    """Made for a baseline, used under its name where nothing was compiled before and no cache is."""
    tree, processor = tmp_path / "tree", runnable_processors()[-2:][0]  # x86-64, or where there is no other generic
    copy_tree(tree)
    into = tree / "src" / "equirl" / "kernels"
    prepare = [sys.executable, "-m", "equirl", "prepare", "c-psrl", "--cpu", processor, "--into", into]
    subprocess.run(prepare, check=True, capture_output=True, cwd=tmp_path)
    shipped = {path.name for path in into.rglob("*.nbc")}
    assert len(shipped) > 30
    build("wheel", tree, tmp_path)
    environment = new_environment(tmp_path / "used", next(tmp_path.glob("*.whl")))
    link_requirements(environment.site, "equirl")
    assert {path.name for path in (environment.package / "kernels" / processor).iterdir()} == shipped
    cache, log = tmp_path / "cache", tmp_path / "log.csv"
    log.write_text("state,action,reward,next_state\n" + "low,wait,0,low\nlow,fill,-1,high\nhigh,sell,3,low\n" * 20)
    asked = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(cache)}
    variables = {name: value for name, value in environment.variables.items() if name != "NUMBA_DISABLE_JIT"} | asked
    for words in (("run", "four-room", "c-psrl", "--runs", "1", "--horizon", "500"), ("learn", log)):
        command = [environment.folder / "bin" / "python", "-c", COUNTED, *words]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stderr.splitlines()[-1])[0] == []
    assert not list(cache.rglob("*.nbc"))
