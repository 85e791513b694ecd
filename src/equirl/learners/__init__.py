"""Learners: a contract, parts, and recipes that put parts together.

- ``contract``: what the rest of the package knows of a learner: decide, record, tell, state.
- ``structures``, ``estimates``, ``model_sets``, ``planners``, ``stopping``: the parts, each with its own settings.
- ``optimistic``, ``baselines``: the families.
- ``recipes``, ``learner_registry``: a learner by name; ``register_learner`` adds one from outside the package.
- ``given``, ``rewards``: what a learner is given in advance, and the scale of its rewards.
- ``saving``: a learner in a file.
"""
