"""A known problem as a notebook shows it: its size, its rewards, and its first pairs with where they lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equirl.model.names import action_labels, state_labels
from equirl.model.reward_laws import original_rewards
from equirl.words.formatting import number
from equirl.words.tables import Table, card

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP

PAIRS, SUCCESSORS = 20, 4  # shown


def mdp_card(mdp: TabularMDP) -> str:
    """The problem as HTML; rewards in the user's units."""
    means = original_rewards(mdp.r_mean, mdp.reward_map)
    low, high = float(means.min()), float(means.max())
    facts = {
        "states": f"{mdp.n_states:,}", "pairs": f"{mdp.n_pairs:,}", "successors": f"{len(mdp.rows.succ):,}",
        "rewards": f"{mdp.reward_law}, means from {number(low, 6)} to {number(high, 6)}", "discount": mdp.discount,
    }  # fmt: skip
    n = min(PAIRS, mdp.n_pairs)
    shown = Table({
        "state": state_labels(mdp.pairs, mdp.pairs.state[:n].tolist()),
        "action": action_labels(mdp.pairs, mdp.pairs.action[:n].tolist()),
        "mean_reward": means[:n],
        "leads_to": [_leads_to(mdp, k) for k in range(n)],
    })  # fmt: skip
    heading = "Pairs" if n == mdp.n_pairs else f"The first {n} of {mdp.n_pairs:,} pairs"
    return card(f"TabularMDP {mdp.name}".strip(), facts, {heading: shown})


def _leads_to(mdp: TabularMDP, pair: int) -> str:
    """The most probable successors of a pair."""
    row = slice(mdp.rows.ptr[pair], mdp.rows.ptr[pair + 1])
    likely = sorted(zip(mdp.rows.prob[row].tolist(), mdp.rows.succ[row].tolist(), strict=True), reverse=True)
    names = state_labels(mdp.pairs, [x for _, x in likely[:SUCCESSORS]])
    text = ", ".join(f"{name} {number(p)}" for name, (p, _) in zip(names, likely, strict=False))
    return text + (", ..." if len(likely) > SUCCESSORS else "")
