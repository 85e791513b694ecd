"""A figure that a notebook shows by itself, whether or not anything else of Matplotlib was set up there."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """Matplotlib's figure, which notebooks ask for its picture as they ask other objects.

    Matplotlib tells notebooks how to show figures only when ``matplotlib.pyplot`` is imported; then that way is used.
    """

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()
