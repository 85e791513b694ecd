"""Finite Markov decision processes: state-action pairs, sparse rows of transition probabilities, rewards.

:class:`equirl.model.mdp.TabularMDP` is what every other folder works on. Its parts are
:class:`equirl.model.pairs.Pairs` (which actions each state allows, and how pairs are numbered),
:class:`equirl.model.transition_rows.Rows` (transition probabilities by pair) and the reward distributions of
:mod:`equirl.model.reward_laws`. All are immutable and own their arrays.
"""
