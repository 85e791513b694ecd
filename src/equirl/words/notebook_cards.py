"""What notebooks show of an object: a title, facts and tables, as HTML in which every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from equirl.words.formatting import printable
from equirl.words.tables import Table, cell_text


def card(title: str, facts: Mapping[str, Any], tables: Mapping[str, Table] | None = None) -> str:
    """An object as HTML: its title, facts by name, and tables under their headings, each with its first rows.

    Examples
    --------
    >>> card("Box <1>", {"size": 0.123456789})
    '<div><strong>Box &lt;1&gt;</strong><table><tbody><tr><th>size</th><td>0.123457</td></tr></tbody></table></div>'
    """
    rows = "".join(
        f"<tr><th>{_escaped(name)}</th><td>{_escaped(cell_text(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    body = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    for heading, table in (tables or {}).items():
        if len(table):
            body += f"<p>{_escaped(heading)}</p>{table._repr_html_()}"
    return f"<div><strong>{_escaped(title)}</strong>{body}</div>"


def _escaped(text: object) -> str:
    return html.escape(printable(text))
