"""A Bayesian model of equivalence, and draws from its posterior.

Which pairs are alike is itself uncertain: ``class_sampler`` draws classes and which successors correspond to each
other, ``reward_sampler`` draws which pairs share their mean reward, ``drawn_mdp`` turns both into an MDP with sparse
rows. All state lies in plain arrays. docs/posterior.md has the model.
"""
