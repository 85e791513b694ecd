"""Finite Markov decision processes: state-action pairs, sparse rows of transition probabilities, rewards.

:class:`equirl.model.mdp.TabularMDP` is what every other folder works on. Its parts are
:class:`equirl.model.pairs.Pairs` (which actions each state allows, and how pairs are numbered),
:class:`equirl.model.transition_rows.Rows` (transition probabilities by pair), the reward distributions of
:mod:`equirl.model.reward_laws` and the map of :mod:`equirl.model.picture`. All are immutable and own their arrays.

``mdp_makers`` makes one of what users hold, read by ``row_readers``; ``mdp_checks`` says what must hold of it,
``mdp_files`` saves and loads it, ``renumbering`` and ``reachability`` number its states anew.
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.model.mdp import TabularMDP as TabularMDP, check_mdp as check_mdp
    from equirl.model.pairs import Pairs as Pairs
    from equirl.model.reward_laws import REWARD_LAWS as REWARD_LAWS, rescale_rewards as rescale_rewards
else:
    EXPORTS = {
        "mdp": "TabularMDP check_mdp",
        "pairs": "Pairs",
        "reward_laws": "REWARD_LAWS rescale_rewards",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
