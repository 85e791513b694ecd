"""For the API page: examples in docstrings become code blocks, which plain Markdown would take for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:meth|func|class|mod|data):`~?([^`]+)`")
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).*)*", re.MULTILINE)


class FenceExamples(griffe.Extension):
    """Put each paragraph that starts with ``>>>`` between fences; write names as code."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
