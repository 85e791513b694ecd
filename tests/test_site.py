"""The documentation site as it is built: nothing leads nowhere, nothing is asked of another host."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

ROOT = Path(__file__).parents[1]
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """Links, anchors and what a browser loads by itself."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors, self.formulas = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.anchors |= {held[key] for key in ("id", "name") if held.get(key)}
        if tag == "a" and held.get("href"):
            self.links.append(held["href"])
        if tag in LOADED and held.get(LOADED[tag]):
            self.loaded.append(held[LOADED[tag]])
        if "arithmatex" in (held.get("class") or "").split():
            self.formulas.append("")

    def handle_data(self, data):
        if self.formulas and self.formulas[-1] == "":
            self.formulas[-1] = data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site without the pages' output, which takes long; tests/test_docs.py runs the same code."""
    import logging

    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    config.extra["executed"] = []
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    build(config)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_of_the_docs_is_built(site):
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert sources == {path.relative_to(site) for path in site.rglob("*.html")} - {Path("404.html")}


def test_every_link_leads_to_a_page_and_a_place_in_it(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_another_host(site, pages):
    assert [link for page in pages.values() for link in page.loaded if urlsplit(link).netloc] == []
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert [url for url in re.findall(r"url\(([^)]*)\)", styles) if re.match(r"['\"]?(https?:)?//", url)] == []


def test_the_fonts_of_formulas_are_shipped_and_no_others(site):
    folder = site / "assets" / "katex"
    named = set(re.findall(r"url\(fonts/([^)]*)\)", (folder / "katex.min.css").read_text()))
    assert named == {path.name for path in (folder / "fonts").iterdir()}
    assert (folder / "LICENSE").exists()


def test_formulas_are_marked_and_whole(pages):
    formulas = [text for page in pages.values() for text in page.formulas]
    assert len(formulas) > 100
    for text in formulas:
        assert re.fullmatch(r"\\\(.*\\\)|\\\[.*\\\]", text.strip(), re.DOTALL), text
        assert text.count("{") == text.count("}"), text


def test_no_dollar_is_left_in_the_text_of_a_page(pages):
    for path in pages:
        text = re.sub(r"<(code|script|pre)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
        text = re.sub(r'<(span|div) class="arithmatex">.*?</\1>', "", text, flags=re.DOTALL)
        assert "$" not in text, path.name


def test_the_search_works_from_a_folder_without_a_server(site):
    script = (site / "search" / "search_index.js").read_text()
    assert script.startswith("var __index = ")
    titles = {entry["title"] for entry in json.loads(script.removeprefix("var __index = "))["docs"]}
    assert "Gallery" in titles
    assert "iframe-worker/shim.js" in (site / "index.html").read_text()
