"""Finite Markov decision processes: state-action pairs, sparse rows of transition probabilities, rewards.

:class:`equirl.model.mdp.TabularMDP` is what every other folder works on. Its parts are
:class:`equirl.model.pairs.Pairs` (which actions each state allows, and how pairs are numbered),
:class:`equirl.model.transition_rows.Rows` (transition probabilities by pair), the reward distributions of
:mod:`equirl.model.reward_laws` and the map of :mod:`equirl.model.picture`. All are immutable and own their arrays.

``mdp_makers`` makes one of what users hold, read by ``row_readers``; ``mdp_checks`` says what must hold of it,
``mdp_files`` saves and loads it, ``renumbering`` and ``reachability`` number its states anew.
"""
