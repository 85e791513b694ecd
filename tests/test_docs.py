"""The README and the docs tell the truth: code runs, values are as shown, commands, options and links exist."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

import equirl
from equirl.lab.cli import app
from equirl.learners.catalogue import ROWS
from equirl.learners.learner_registry import AGENTS
from equirl.worlds.world_registry import WORLDS

ROOT = Path(__file__).parents[1]
ROOT_PAGES = ("README", "CONTRIBUTING", "CODE_OF_CONDUCT", "SECURITY", "SUPPORT")
PAGES = [*(ROOT / f"{name}.md" for name in ROOT_PAGES), *sorted((ROOT / "docs").rglob("*.md"))]
LEARNERS = list(ROWS)  # the package's own: other tests register more
SETTINGS = sorted({key for name in LEARNERS for key in AGENTS[name].keys})
COMMANDS = typer.main.get_command(app).commands


def loaded(path):
    """A module of the docs, which are no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


executed_pages = loaded(ROOT / "docs" / "executed_pages.py")


def blocks(page, *languages):
    return executed_pages.blocks(page.read_text(), *languages)


def named(page):
    return page.relative_to(ROOT).as_posix()


TUTORIALS = ("a-cluster", "my-simulator", "the-paper")
LONG = {"docs/gallery.md", *(f"docs/tutorials/{name}.md" for name in TUTORIALS)}  # ten seconds and more each
RUN = [
    pytest.param(page, marks=[pytest.mark.long] if named(page) in LONG else [], id=named(page))
    for page in PAGES
    if blocks(page, "python", "console")
]


@pytest.mark.parametrize("page", RUN)
def test_the_code_of_a_page_runs_and_shows_what_it_says(page, tmp_path):
    executed_pages.run_page(page.read_text(), named(page), tmp_path)
    written = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in written if (ROOT / path).exists()] == []  # what pages write is no part of the tree


def test_a_page_is_run_in_an_empty_folder_alone():
    with pytest.raises(ValueError, match=r"run in an empty folder for that; .* is not empty"):
        executed_pages.run_page("```python\n1\n```\n", "page", ROOT)


def test_what_a_page_of_the_site_writes_is_gone_once_it_is_built():
    pytest.importorskip("mkdocs")
    here, page = Path.cwd(), SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    code = "from pathlib import Path\nPath('left.csv').write_text('x')\nprint('in', Path.cwd())"
    config = SimpleNamespace(extra={"executed": ["page.md"]})
    shown = executed_pages.on_page_markdown(f"```python\n{code}\n```\n", page, config, [])
    folder = Path(re.search("^in (.+)$", shown, re.MULTILINE)[1])
    assert not folder.exists()
    assert not folder.is_relative_to(ROOT)
    assert not (here / "left.csv").exists()
    assert Path.cwd() == here


@pytest.mark.parametrize("page", sorted(LONG))
def test_what_a_page_that_takes_long_imports_is_there_and_its_calls_name_what_exists(page):
    for code in blocks(ROOT / page, "python"):
        tree = ast.parse(code, page)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), page, "exec"), {})
        used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        names = [node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == "eq"]
        assert [name for name in names if not hasattr(equirl, name)] == []


def test_what_a_block_prints_and_draws_is_kept(tmp_path):
    text = """
```toml
# one.toml
horizon = 10
```

```python
from pathlib import Path

from equirl.lab.plots.canvas import new_figure, save_figure

print(Path("one.toml").read_text().splitlines()[0])
save_figure(new_figure(1, 1), "made.png")
new_figure(1, 1)
```

```console
$ equirl solve riverswim:n_states=3 --json
```
"""
    python, console = executed_pages.run_page(text, "page", tmp_path).values()
    assert python.text == "# one.toml\n"
    assert [name for name, _ in python.pictures] == ["figure.png", "made.png"]
    assert all(content.startswith(b"\x89PNG") for _, content in python.pictures)
    line, said = console.text.splitlines()
    assert line == "$ equirl solve riverswim:n_states=3 --json"
    assert json.loads(said)["policy"] == [0, 0, 0]


def test_a_line_that_shows_something_else_is_named(tmp_path):
    with pytest.raises(AssertionError, match=r"1 \+ 1  # -> 3 shows 2"):
        executed_pages.run_page("```python\n1 + 1  # -> 3\n```\n", "page", tmp_path)


def test_a_command_that_fails_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="equirl solve nowhere ended with code"):
        executed_pages.run_page("```console\n$ equirl solve nowhere\n```\n", "page", tmp_path)


def test_what_a_page_registers_does_not_outlive_it(tmp_path):
    before, here = list(AGENTS), Path.cwd()
    code = "import equirl as eq\neq.register_learner('mine', eq.Recipe('one', object, ()))"
    executed_pages.run_page(f"```python\n{code}\n'mine' in eq.AGENTS  # -> True\n```\n", "page", tmp_path)
    assert list(AGENTS) == before
    assert Path.cwd() == here


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "", "bash", "console")], ids=named)
def test_every_command_and_option_of_a_page_exists(page):
    for line in "".join(blocks(page, "", "bash", "console")).replace("$ equirl", "equirl").splitlines():
        if not line.startswith("equirl "):
            continue
        _, name, *words = shlex.split(line, comments=True)
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert {word.split("=")[0] for word in words if word.startswith("-")} <= options, line


def test_every_study_file_of_the_pages_is_valid(tmp_path):
    from equirl.lab.studies.expansion import expand
    from equirl.lab.studies.study_file import load_study

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
def test_every_command_is_on_the_page_of_commands(name):
    assert f"`equirl {name}" in (ROOT / "docs" / "commands.md").read_text()


def test_what_it_is_worth_to_know_classes_is_what_the_leaderboard_measured():
    def cells(page, start):
        lines = (ROOT / "docs" / page).read_text().splitlines()
        return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if line.startswith(start)]

    rows = [row for row in cells("which-learner.md", "| `") if "`, " in row[0]]
    assert len(rows) == 4
    for first, *shown in rows:
        world, steps = re.fullmatch(r"`(\S+)`, (\S+)", first).groups()
        nothing, classes, both = cells("leaderboard.md", f"| {world} |")[:3]
        assert nothing[1] == steps
        means = [text.split()[0].rstrip("†") for text in (nothing[3], nothing[2], classes[2], both[2])]
        assert shown == means


def test_a_page_of_the_api_shows_a_group_of_the_package_and_the_index_names_all_in_their_order():
    shown = []
    for title, group in equirl.GROUPS.items():
        page = (ROOT / "docs" / "api" / f"{title.lower().replace(' ', '-')}.md").read_text()
        names = [f"equirl.{module}.{name}" for module, names in group.items() for name in names.split()]
        names = [name for name in names if not name.endswith(("WORLDS", "AGENTS"))]
        section = page.split("## Names of `equirl`\n")[1].split("\n## ")[0]
        assert page.startswith(f"# {title}\n")
        assert re.findall(r"^::: (\S+)$", section, re.MULTILINE) == names
        shown += names
    index = (ROOT / "docs" / "api" / "index.md").read_text()
    assert re.findall(r"\]\[(equirl\S+?)\]", index) == shown


def test_nothing_is_on_two_pages_of_the_api():
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    shown = re.findall(r"^::: (\S+)$", pages, re.MULTILINE)
    assert len(shown) == len(set(shown))


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "mkdocs.yml").read_text()
    docs = ROOT / "docs"
    pages = [page.relative_to(docs).as_posix() for page in docs.rglob("*.md")]
    assert [page for page in pages if f": {page}" not in contents] == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_files_that_a_page_names_are_there(page):
    names = re.findall(r"`([\w/]+/[\w.]+\.(?:py|toml))`", (ROOT / page).read_text())
    places = (ROOT, Path(equirl.__file__).parent)
    assert names
    assert not [name for name in names if not any((place / name).exists() for place in places)]
