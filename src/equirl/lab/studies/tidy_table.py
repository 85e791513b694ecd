"""Runs of several learners as one tidy table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equirl.simulation import Curves, half_width, in_usual_order
from equirl.words.answer_units import InUnits
from equirl.words.checking import unknown_name
from equirl.words.formatting import counted, mean_with_interval
from equirl.words.tables import Table, card


@dataclass(frozen=True, eq=False, repr=False)
class TidyTable:
    """Runs of several learners as columns of equal length, a row per learner, seed and checkpoint.

    ``pandas.DataFrame(table.columns)`` takes it.

    Parameters
    ----------
    curves : mapping of str to Curves
        By the label of the learner; one row per seed, all with the same checkpoints.
    seeds : tuple of int
        The seeds, in the order of the rows.
    """

    curves: InUnits[Mapping[str, Curves]]
    seeds: tuple[int, ...]

    @cached_property
    def columns(self) -> InUnits[dict[str, np.ndarray]]:
        """``learner``, ``seed``, ``t`` and every curve; NaN where a learner lacks one."""
        parts = list(self.curves.values())
        n_times = len(parts[0].t)
        columns = {
            "learner": np.repeat(list(self.curves), len(self.seeds) * n_times),
            "seed": np.tile(np.repeat(self.seeds, n_times), len(parts)),
            "t": np.tile(parts[0].t, len(self.seeds) * len(parts)),
        }
        nothing = np.full(len(self.seeds) * n_times, np.nan)
        for name in self.measures:
            columns[name] = np.concatenate([part[name].ravel() if name in part else nothing for part in parts])
        return columns

    @property
    def measures(self) -> list[str]:
        """The curves that some learner has: ``regret``, ``pseudo_regret``, ``reward``, ``n_classes``, then others."""
        return in_usual_order(name for part in self.curves.values() for name in part)

    def __getitem__(self, name: str) -> np.ndarray:
        if not isinstance(name, str) or name not in self.columns:
            raise KeyError(unknown_name("column", name, self.columns))
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["t"])

    def final(self, curve: str = "regret") -> InUnits[dict[str, np.ndarray]]:
        """The last value of a curve by learner, (n_seeds,) each; learners that lack it are left out."""
        if not isinstance(curve, str) or curve not in self.measures:
            raise KeyError(unknown_name("column", curve, self.measures))
        return {label: part.final(curve) for label, part in self.curves.items() if curve in part}

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``; needs pandas."""
        return Table(self.columns).to_pandas()

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as CSV; the file is whole or absent."""
        return Table(self.columns).to_csv(path)

    def plot(self, measure: str = "regret") -> Any:
        """A Matplotlib figure of one measure, a curve per learner with its confidence interval."""
        from equirl.lab.plots.curve_figures import draw_comparison

        return draw_comparison(self, measure)

    def _ends(self) -> tuple[str, list[tuple[str, float, float, int]]]:
        """A measure, and of each learner that has it: label, mean at the end, half its 95 % interval, runs."""
        measure = "regret" if "regret" in self.measures else self.measures[0]
        ends = self.final(measure).items()
        return measure, [(name, float(v.mean()), float(half_width(v)), len(v)) for name, v in ends]

    def _repr_html_(self) -> str:
        measure, ends = self._ends()
        columns = ("learner", measure, "± (95 %)", "runs")
        shown = Table({name: [end[k] for end in ends] for k, name in enumerate(columns)})
        return card("TidyTable", {"rows": f"{len(self):,}", "columns": ", ".join(self.columns)}, {"At the end": shown})

    def __repr__(self) -> str:
        measure, ends = self._ends()
        lines = [f"TidyTable of {len(self)} rows: {', '.join(self.columns)}"]
        for name, mean, half, runs in ends:
            lines.append(f"  {name}: {measure} {mean_with_interval(mean, half)} ({counted(runs, 'run')})")
        return "\n".join(lines)
