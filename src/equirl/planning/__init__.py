"""Planning with uncertain models: the best policy in the best model of a set.

A set of models brings its own inner maximum, ``max q.u`` over the plausible transition probabilities q of a pair
(``l1_ball``, ``intervals``, ``kl_ball``, ...; ``exact_model`` for one MDP). The sweeps and the loop around it
(``sweeps``, ``threaded_sweeps``) and the outcome (``extended_value_iteration``: a ``Plan``) are the same for all.
"""
