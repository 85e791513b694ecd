"""Tables as CSV files, whole or absent, the same bytes on every machine."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equirl.files.whole_files import write_aside


def write_csv(path: str | os.PathLike[str], header: Iterable[str], rows: Iterable[Sequence[Any]]) -> Path:
    """Write a table as CSV; floats in their shortest exact spelling, nothing for None.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(f"{folder}/table.csv", ["t", "regret"], [(10, np.float64(0.1)), (20, None)]).read_text()
    't,regret\\n10,0.1\\n20,\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([value.item() if isinstance(value, np.generic) else value for value in row] for row in rows)
    return write_aside(path, text.getvalue().encode())
