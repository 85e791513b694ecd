"""Learners: a contract, parts, and recipes that put parts together.

- ``contract``: what the rest of the package knows of a learner: decide, record, tell, state; with ``stretches`` (what
  it plays for some steps, and what ends that).
- ``optimistic``: the best policy of the best plausible MDP. Its parts: ``structures``, ``estimates``, ``model_sets``,
  ``planners``, ``stopping`` and ``vanishing_rule``.
- ``posterior_sampling``: the best policy of a drawn MDP. Its parts: ``row_priors``, ``reward_priors``.
- ``imed`` with ``imed_index``: an index decides every step. ``baselines``: learners that learn nothing. ``greedy``: the
  best policy of the estimates, for all of them.
- ``recipes``, ``catalogue``, ``learner_registry``: a learner by name; ``register_learner`` adds one from outside.
- ``given``, ``stated``, ``rewards``: what a learner is given in advance, how users state it, and the scale of its
  rewards. ``statement_watch``: what was stated, tested while it learns.
- ``telling``, ``answers``, ``explaining``: what it tells people.
- ``saving``: a learner in a file. ``sameness``: whether two are the same.
- ``journal``: a learner in a folder, which goes on after a crash; with ``journalled_agent`` (what is driven),
  ``journal_sync`` (when it is forced to disk), ``journal_folder`` and ``journal_records`` (its files),
  ``journal_recovery`` and ``journal_log`` (reading them).
"""
