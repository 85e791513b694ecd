"""The notebooks are their pages, cell by cell, with outputs that are small."""

from __future__ import annotations

import base64
import json
import re

import pytest

from test_docs import ROOT, executed_pages

NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))
LISTED = re.search(r"^  notebooks: \[(.*)\]$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)[1].split(", ")
MOST_BYTES = 400_000


def joined(cell):
    return "".join(cell["source"])


def test_there_are_four_and_their_pages_offer_them():
    assert [path.with_suffix(".md").relative_to(ROOT / "docs").as_posix() for path in NOTEBOOKS] == sorted(LISTED)
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        assert f"*This page [as a notebook]({path.name}).*\n" in path.with_suffix(".md").read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_page(path):
    book = json.loads(path.read_text())
    wanted = [(kind, source) for kind, source, _ in executed_pages.cells(path.with_suffix(".md").read_text())]
    assert [(cell["cell_type"], joined(cell)) for cell in book["cells"]] == wanted, "make notebooks writes them anew"
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_kept_and_small(path):
    book = json.loads(path.read_text())
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", ())]
    assert {output["output_type"] for output in outputs} <= {"stream", "display_data"}
    assert outputs
    assert path.stat().st_size < MOST_BYTES
    for output in outputs:
        if output["output_type"] == "display_data":
            assert base64.b64decode(output["data"]["image/png"]).startswith(b"\x89PNG")


def test_blocks_become_cells():
    text = """# Title

*This page [as a notebook](x.ipynb).*

Words.

```python
1 + 1
```

```toml
# a.toml
b = 1
```

```console
$ equirl worlds
$ equirl agents
```

More, and

```
equirl paper
```

```toml
c = 2
```
"""
    assert [(kind, source) for kind, source, _ in executed_pages.cells(text)] == [
        ("markdown", "# Title\n\nWords."),
        ("code", "1 + 1"),
        ("code", "%%writefile a.toml\nb = 1"),
        ("code", "!equirl worlds\n!equirl agents"),
        ("markdown", "More, and\n\n```\nequirl paper\n```\n\n```toml\nc = 2\n```"),
    ]


def test_what_cells_said_and_drew_is_kept_but_for_large_pictures_and_films():
    text = "```python\n1\n```\n\n```console\n$ equirl worlds\n```\n"
    small, large = b"\x89PNG", b"\x89PNG" + bytes(executed_pages.LARGEST_PICTURE)
    pictures = (("a.png", small), ("b.png", large), ("c.gif", b"GIF"))
    outputs = {0: executed_pages.Output("1\n", pictures), 17: executed_pages.Output("$ equirl worlds\ngrid\n")}
    python, console = json.loads(executed_pages.notebook(text, outputs))["cells"]
    said, drawn = python["outputs"]
    assert said == {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
    assert base64.b64decode(drawn["data"]["image/png"]) == small
    assert console["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["grid\n"]}]


def test_the_site_offers_the_notebook_of_the_build():
    pytest.importorskip("mkdocs")
    from types import SimpleNamespace

    from mkdocs.config import load_config
    from mkdocs.structure.files import Files

    config = load_config(str(ROOT / "mkdocs.yml"))
    config.plugins._current_plugin = None  # as outside of any plugin
    config.extra.update(executed=["page.md"], notebooks=["page.md"])
    page, files = SimpleNamespace(file=SimpleNamespace(src_uri="page.md")), Files([])
    for word in ("one", "two"):
        executed_pages.on_page_markdown(f"```python\nprint('{word}')\n```\n", page, config, files)
    book = json.loads(files.get_file_from_path("page.ipynb").content_string)
    assert book["cells"][0]["outputs"][0]["text"] == ["two\n"]
