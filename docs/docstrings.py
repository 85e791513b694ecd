"""Docstrings for the API page: roles as code, and examples that stand in no section of their own as code blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:meth|func|class|mod|data|attr):`~?([^`]+)`")
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).*)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """What mkdocstrings does not do by itself; a section "Examples" it renders."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            if "Examples\n---" not in text:
                text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
            obj.docstring.value = text
