"""What worlds take for a setting, and what they refuse, is what it was, at either side of its limits.

``python tests/worlds/test_same_limits.py`` stores it anew (``same_limits.json``).
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from equirl.worlds.deliveries import delivery
from equirl.worlds.inventories import lost_sales, perishable
from equirl.worlds.like_units import machines, sites
from equirl.worlds.queues import admission
from equirl.worlds.rivers import ergodic_riverswim, riverswim
from stored_kit import answers, check, store

SMALL = {  # what keeps them small
    lost_sales: {"max_order": 3, "lead_time": 2, "mean": 2.0}, perishable: {"mean": 2.0, "max_order": 3},
    machines: {"n_machines": 2, "n_wear": 3}, sites: {"n_sites": 2}, delivery: {}, riverswim: {"n_states": 4},
    ergodic_riverswim: {"n_states": 4},
    admission: {},
}  # fmt: skip


def limits(world):
    """Every number of a world at the ends of common ranges, one at a time."""
    own = inspect.signature(world).parameters
    small = {name: value for name, value in SMALL[world].items() if name in own}

    def made(name, value):
        mdp = world(**(small | {name: value}))
        return [mdp.n_states, mdp.n_pairs, float(mdp.r_mean.sum()), float(mdp.rows.prob @ mdp.rows.succ)]

    def case():
        found = {}
        for name, parameter in own.items():
            default = parameter.default
            if isinstance(default, int | float) and not isinstance(default, bool):
                tried = (-1, 0, 1, 2) if isinstance(default, int) else (-1e-9, 0, 1e-9, 1 - 1e-9, 1, 1 + 1e-9)
                found[name] = answers([lambda name=name, value=value: made(name, value) for value in tried])
        return found

    return case


CASES = {world.__name__: limits(world) for world in SMALL}


@pytest.mark.parametrize("case", CASES)
def test_settings_of_worlds_have_the_limits_they_had(case):
    check(__file__, CASES, case)


if __name__ == "__main__":
    store(__file__, CASES)
