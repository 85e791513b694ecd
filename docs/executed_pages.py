"""Pages that run: the code of a page is executed in order, and what it prints and draws can stand below it.

One mechanism, used twice: ``tests/test_docs.py`` runs every page; the site's build runs those listed under
``extra: executed`` in ``mkdocs.yml`` and shows their output. Of a page the runner takes

- ``python`` blocks, all in one namespace. A line ``value  # -> text`` must show that text. The value of a last line is
  shown as in a notebook: a figure as a picture, anything else as text;
- ``console`` blocks: each line ``$ equirl ...`` is run, and followed by what it prints;
- ``toml`` blocks that begin with ``# name.toml``: they are written to that file before anything runs.

Pictures that a block leaves in the folder (png, gif) are shown below it. Other blocks are for reading.

Pages listed under ``extra: notebooks`` are offered as notebooks too, with what they printed and drew in that build;
``python docs/executed_pages.py`` runs them and writes the notebooks that stand beside them in the tree.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"(\S.*?)  # -> (.+)")
PICTURES = (".png", ".gif")
OFFER = re.compile(r"^\*This page \[as a notebook\]\([^)]*\)\.\*\n\n?", re.MULTILINE)
LARGEST_PICTURE = 150_000  # bytes; in a notebook a larger one is drawn by whoever runs the cell
DOCS = Path(__file__).parent


class Output(NamedTuple):
    """What a block printed and drew."""

    text: str = ""
    pictures: tuple[tuple[str, bytes], ...] = ()  # names and contents


def blocks(text: str, *languages: str) -> list[str]:
    """The blocks of a page in some languages."""
    return [found[2] for found in FENCE.finditer(text) if found[1] in languages]


@contextlib.contextmanager
def apart(folder: Path, page: ModuleType) -> Iterator[None]:
    """A folder, a registry and a module of its own, so that what a page writes or registers does not outlive it."""
    from equirl.learners.learner_registry import AGENTS

    rows, outside, here = {name: AGENTS[name] for name in AGENTS}, set(AGENTS.outside), Path.cwd()
    before = AGENTS._rows, AGENTS.outside
    AGENTS._rows, AGENTS.outside = rows, outside
    os.chdir(folder)
    sys.modules[page.__name__] = page
    try:
        yield
    finally:
        del sys.modules[page.__name__]
        os.chdir(here)
        AGENTS._rows, AGENTS.outside = before


def run_page(text: str, name: str, folder: Path) -> dict[int, Output]:
    """Run the code of a page in an empty folder; the output of each block by the place where it starts.

    An ``AssertionError`` names the line that does not show what it says, a ``RuntimeError`` a command that failed.
    """
    if any(folder.iterdir()):
        raise ValueError(f"pages write files, and run in an empty folder for that; {folder} is not empty")
    outputs: dict[int, Output] = {}
    page = ModuleType("page")  # learners that a page registers are found where they were made
    names: dict[str, Any] = vars(page)
    with apart(folder, page):
        for toml in blocks(text, "toml"):
            if (found := re.match(r"# (\S+\.toml)\n", toml)) is not None:
                Path(found[1]).write_text(toml)
        for found in FENCE.finditer(text):
            before = _pictures()
            if found[1] == "python":
                shown = _run_python(found[2], name, names)
            elif found[1] == "console":
                shown = Output(_run_commands(found[2]))
            else:
                continue
            new = [path for path, at in _pictures().items() if before.get(path) != at]
            left = tuple((path.name, path.read_bytes()) for path in new)
            outputs[found.start()] = Output(shown.text, shown.pictures + left)
    return outputs


def _pictures() -> dict[Path, int]:
    found = sorted(path for path in Path().rglob("*") if path.suffix in PICTURES)
    return {path: path.stat().st_mtime_ns for path in found}


def _run_python(code: str, name: str, names: dict[str, Any]) -> Output:
    lines, tree = code.splitlines(), ast.parse(code, name)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None and SHOWN.fullmatch(lines[last.lineno - 1]) is None:
        tree.body.pop()
    else:
        last = None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec", dont_inherit=True), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names)
        for line in lines:
            if (shown := SHOWN.fullmatch(line)) is not None:
                is_now = str(eval(compile(shown[1], name, "eval", dont_inherit=True), names))
                assert is_now == shown[2], f"{name}: {line} shows {is_now}"
    if hasattr(value, "_repr_png_"):
        return Output(printed.getvalue(), (("figure.png", value._repr_png_()),))
    said = "" if value is None or isinstance(value, Path) else f"{value}\n"
    return Output(printed.getvalue() + said)


def _run_commands(lines: str) -> str:
    """The commands of a console block, each with what it prints."""
    shown = []
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    for line in lines.splitlines():
        program, *words = shlex.split(line.removeprefix("$ "), comments=True)
        if not line.startswith("$ ") or program != "equirl":
            raise RuntimeError(f"a console block runs lines that begin with '$ equirl ', not {line!r}")
        command = [sys.executable, "-c", "from equirl.lab.cli import app; app()", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(f"{line} ended with code {done.returncode}:\n{done.stderr}")
        shown.append(f"{line}\n" + "".join(f"{row.rstrip()}\n" for row in done.stdout.splitlines()))
    return "\n".join(shown)


# --- as notebooks


def cells(text: str) -> Iterator[tuple[str, str, int]]:
    """The cells of a page: "markdown" or "code", what stands in it, and where in the page it starts."""
    end = 0
    for found in FENCE.finditer(text):
        code = _as_code(found[1], found[2])
        if code is None:
            continue
        if words := OFFER.sub("", text[end : found.start()]).strip():
            yield "markdown", words, end
        yield "code", code.strip("\n"), found.start()
        end = found.end()
    if words := OFFER.sub("", text[end:]).strip():
        yield "markdown", words, end


def _as_code(language: str, block: str) -> str | None:
    if language == "python":
        return block
    if language == "console":
        return re.sub(r"^\$ ", "!", block, flags=re.MULTILINE)
    if language == "toml" and (found := re.match(r"# (\S+\.toml)\n", block)) is not None:
        return f"%%writefile {found[1]}\n{block[found.end() :]}"
    return None


def notebook(text: str, outputs: Mapping[int, Any]) -> str:
    """A page and the output of its blocks (``executed_pages.Output`` by where they start) as a notebook."""
    made: list[dict[str, Any]] = []
    for k, (kind, source, start) in enumerate(cells(text)):
        cell = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}, "source": source.splitlines(keepends=True)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": list(_outputs(outputs.get(start), source))}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _outputs(shown: Any, source: str) -> Iterator[dict[str, Any]]:
    if shown is None:
        return
    said = shown.text
    if source.startswith("!"):  # a console block is told with its commands
        said = re.sub(r"^\$ .*\n", "", said, flags=re.MULTILINE)
    if said.strip():
        yield {"name": "stdout", "output_type": "stream", "text": said.splitlines(keepends=True)}
    for name, content in shown.pictures:
        if name.endswith(".png") and len(content) <= LARGEST_PICTURE:
            data = {"image/png": base64.b64encode(content).decode() + "\n"}
            yield {"data": data, "metadata": {}, "output_type": "display_data"}


# --- in the build of the site


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Run a page that asks for it and put the output of its blocks below them."""
    from mkdocs.structure.files import File

    if page.file.src_uri not in config.extra.get("executed", ()):
        return markdown
    with tempfile.TemporaryDirectory() as folder:
        outputs = run_page(markdown, page.file.src_uri, Path(folder))
    if page.file.src_uri in config.extra.get("notebooks", ()):
        beside = page.file.src_uri.removesuffix(".md") + ".ipynb"
        if (kept := files.get_file_from_path(beside)) is not None:
            files.remove(kept)
        files.append(File.generated(config, beside, content=notebook(markdown, outputs)))
    stem = page.file.src_uri.removesuffix(".md").replace("/", "-")
    parts, end = [], 0
    for found in FENCE.finditer(markdown):
        if (shown := outputs.get(found.start())) is None:
            continue
        parts += [markdown[end : found.start()], _with_text(found, shown.text)]
        end = found.end()
        for kind, content in shown.pictures:
            number = sum(file.src_uri.startswith(f"drawn/{stem}-") for file in files)
            file = File.generated(config, f"drawn/{stem}-{number}{Path(kind).suffix}", content=content)
            files.append(file)
            up = "../" * page.file.src_uri.count("/")
            parts.append(f"\n![What the code above draws]({up}{file.src_uri})\n")
    return "".join([*parts, markdown[end:]])


def _with_text(found: re.Match[str], text: str) -> str:
    if found[1] == "console":
        return f"```console\n{text}```\n"
    return found[0] + (f"\n```text\n{text}```\n" if text.strip() else "")


def main() -> None:
    """Run the pages that are notebooks, or those named, and write these."""
    from mkdocs.config import load_config

    listed = load_config(str(DOCS.parent / "mkdocs.yml")).extra["notebooks"]
    for name in sys.argv[1:] or listed:
        page = DOCS / name
        with tempfile.TemporaryDirectory() as folder:
            outputs = run_page(page.read_text(), name, Path(folder))
        page.with_suffix(".ipynb").write_text(notebook(page.read_text(), outputs))
        print(f"wrote {page.with_suffix('.ipynb').relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
