"""The list of yardsticks, and the page made of them.

A new one is a file with its words and results beside it, and a row here.
"""

from __future__ import annotations

from pathlib import Path

from equirl.lab.yardsticks.bsuite_yardstick import BSUITE_YARDSTICK
from equirl.lab.yardsticks.colosseum_yardstick import COLOSSEUM_YARDSTICK
from equirl.lab.yardsticks.exact_yardstick import EXACT_YARDSTICK
from equirl.lab.yardsticks.homes_yardstick import HOMES_YARDSTICK
from equirl.lab.yardsticks.offline_yardstick import OFFLINE_YARDSTICK
from equirl.lab.yardsticks.safety_yardstick import SAFETY_YARDSTICK
from equirl.lab.yardsticks.yardstick import Yardstick, stored_table, stored_words
from equirl.words.checking import unknown_name

YARDSTICKS: dict[str, Yardstick] = {
    "colosseum": COLOSSEUM_YARDSTICK,
    "bsuite": BSUITE_YARDSTICK,
    "homes": HOMES_YARDSTICK,
    "exact": EXACT_YARDSTICK,
    "offline": OFFLINE_YARDSTICK,
    "safety": SAFETY_YARDSTICK,
}


def yardsticks_page(tables: Path | None = None) -> str:
    """The page in Markdown, from the results of this package or of a folder."""
    parts = [stored_words("lead")]
    for name, yardstick in YARDSTICKS.items():
        parts += [f"#{stored_words(name)}", yardstick.tables(stored_table(name, tables)).strip()]
    return "\n\n".join(parts) + "\n"


def measure_yardstick(name: str, runs: Path, tables: Path) -> Path:
    """Compute the results anew, with runs kept in a folder, and write them as CSV into another."""
    if name not in YARDSTICKS:
        raise ValueError(unknown_name("yardstick", name, YARDSTICKS))
    return YARDSTICKS[name].measure(runs).to_csv(tables / f"{name}.csv")
