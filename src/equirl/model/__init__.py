"""Finite Markov decision processes: state-action pairs, sparse rows of transition probabilities, rewards.

In reading order: ``pairs`` (which actions each state allows, how pairs are numbered and named), ``rows`` (transition
probabilities by pair), ``reachability``, ``reward_distributions``, ``mdp`` (``TabularMDP``, what every other folder
works on); ``row_readers`` (what users hold, as rows), ``renumbering`` (other numbers, or fewer states), ``dynamics``
(an MDP as compiled loops play it). All are immutable and own their arrays.
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP as TabularMDP, check_mdp as check_mdp
    from equirl.model.pairs import Pairs as Pairs
    from equirl.model.reward_distributions import (
        REWARD_DISTRIBUTIONS as REWARD_DISTRIBUTIONS,
        draw_rewards as draw_rewards,
        rescale_rewards as rescale_rewards,
    )
    from equirl.model.rows import Rows as Rows
else:
    EXPORTS = {
        "mdp": "TabularMDP check_mdp",
        "pairs": "Pairs",
        "reward_distributions": "REWARD_DISTRIBUTIONS draw_rewards rescale_rewards",
        "rows": "Rows",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
