"""What must hold of the rewards, the first state and the map of an MDP; an error names what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equirl.model.reward_laws import REWARD_LAWS
from equirl.model.transition_rows import ROW_TOLERANCE
from equirl.words.checking import choice
from equirl.words.formatting import shown

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP


def checked_floats(name: str, values: Any, n: int) -> tuple[float, ...]:
    """So many floats."""
    try:
        floats = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError):
        floats = ()
    if len(floats) != n:
        raise TypeError(f"{name} must be {n} number{'s' * (n > 1)}, not {shown(values)}")
    return floats


def check_fields(mdp: TabularMDP) -> None:
    """Refuse an MDP whose rewards, initial distribution, title or picture make no sense."""
    _check_means(mdp)
    _check_initial(mdp)
    choice("reward_law", mdp.reward_law, REWARD_LAWS)
    if not isinstance(mdp.name, str):
        raise TypeError(f"name must be a str, not {shown(mdp.name)}")
    if not 0 < mdp.concentration < np.inf:
        raise ValueError(f"concentration must be a positive, finite number, not {mdp.concentration!r}")
    scale, shift = mdp.reward_map
    if not (0 < scale < np.inf and np.isfinite(shift)):
        raise ValueError(f"reward_map must be (scale, shift) with a positive scale, not {mdp.reward_map}")
    if mdp.picture is not None and mdp.picture.cell.shape != (mdp.n_states, 2):
        raise ValueError(f"the picture places {len(mdp.picture.cell)} states, the MDP has {mdp.n_states}")


def _check_means(mdp: TabularMDP) -> None:
    M, pairs = mdp.n_pairs, mdp.pairs
    if mdp.r_mean.shape != (M,):
        raise ValueError(f"r_mean has shape {mdp.r_mean.shape}; one mean reward per pair would be ({M},)")
    bad = np.flatnonzero(~((mdp.r_mean >= 0) & (mdp.r_mean <= 1)))
    if len(bad):
        k = int(bad[0])
        raise ValueError(
            f"the mean reward of ({pairs.describe(k)}) is {mdp.r_mean[k]:g}, outside [0, 1]; "
            "equirl.rescale_rewards maps rewards onto [0, 1], as does rescale=True"
        )


def _check_initial(mdp: TabularMDP) -> None:
    S = mdp.n_states
    if mdp.initial.shape != (S,):
        raise ValueError(f"the initial distribution has shape {mdp.initial.shape}, not ({S},)")
    bad = np.flatnonzero(~(np.isfinite(mdp.initial) & (mdp.initial >= 0)))
    if len(bad):
        raise ValueError(f"the initial distribution gives state {bad[0]} the probability {mdp.initial[bad[0]]}")
    if abs(mdp.initial.sum() - 1) > ROW_TOLERANCE:
        raise ValueError(f"the initial distribution sums to {mdp.initial.sum():.10g}, not 1")
