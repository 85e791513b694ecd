"""The README and the docs tell the truth: code runs, values are as shown, commands, options and links exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

import equirl
from equirl.cli import app
from equirl.learners.catalogue import ROWS
from equirl.learners.learner_registry import AGENTS, LATER
from equirl.worlds.world_registry import WORLDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"(\S.*?)  # -> (.+)")
LEARNERS = [*ROWS, *LATER]  # the package's own: other tests register more
SETTINGS = sorted({key for name in LEARNERS for key in AGENTS[name].keys})
COMMANDS = typer.main.get_command(app).commands


def blocks(page, *languages):
    return [text for language, text in BLOCK.findall(page.read_text()) if language in languages]


def named(page):
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """A folder and a registry of its own, so that what a page writes or registers does not outlive it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(AGENTS, "_rows", {name: AGENTS[name] for name in AGENTS})  # with those of later folders loaded
    monkeypatch.setattr(AGENTS, "outside", set(AGENTS.outside))


def compiled(text, page, mode):
    """As in a file of its own: without this file's __future__ imports."""
    return compile(text, named(page), mode, dont_inherit=True)


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_the_code_of_a_page_runs_and_shows_what_it_says(page):
    for text in blocks(page, "toml"):
        if (name := re.match(r"# (\S+\.toml)\n", text)) is not None:
            Path(name[1]).write_text(text)
    names = {"__name__": "page"}
    for text in blocks(page, "python"):
        exec(compiled(text, page, "exec"), names)
        for line in text.splitlines():
            if (shown := SHOWN.fullmatch(line)) is not None:
                assert str(eval(compiled(shown[1], page, "eval"), names)) == shown[2], line


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "", "bash")], ids=named)
def test_every_command_and_option_of_a_page_exists(page):
    for line in "".join(blocks(page, "", "bash")).splitlines():
        if not line.startswith("equirl "):
            continue
        _, name, *words = shlex.split(line, comments=True)
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert {word.split("=")[0] for word in words if word.startswith("-")} <= options, line


def test_every_study_file_of_the_pages_is_valid(tmp_path):
    from equirl.studies.expansion import expand
    from equirl.studies.study_file import load_study

    texts = [text for page in PAGES for text in blocks(page, "toml")]
    assert texts
    for text in texts:
        (tmp_path / "study.toml").write_text(text)
        assert expand(load_study(tmp_path / "study.toml"))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_file(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("name", [*LEARNERS, *SETTINGS])
def test_every_learner_and_setting_is_on_the_page_of_learners(name):
    assert f"`{name}`" in (ROOT / "docs" / "learners.md").read_text()


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_is_on_the_page_of_worlds(name):
    assert f"`{name}`" in (ROOT / "docs" / "worlds.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name):
    assert f"`equirl {name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", [n for n in equirl.__all__ if not n.isupper() and n != "__version__"])
def test_every_public_name_is_on_the_page_of_the_api(name):
    assert re.search(rf"^::: equirl\S*\.{name}$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f": {page.name}" not in contents] == []
