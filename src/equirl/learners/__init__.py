"""Learners: a contract, parts, and recipes that put parts together.

- ``contract``: what the rest of the package knows of a learner: decide, record, tell, state; with ``stretches`` (what
  it plays for some steps, and what ends that).
- ``optimistic``: the best policy of the best plausible MDP. Its parts: ``structures``, ``estimates``, ``model_sets``,
  ``planners``, ``stopping``; ``parts`` says what each kind takes and returns.
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

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.learners.catalogue import FAMILIES as FAMILIES, RECOMMENDED as RECOMMENDED
    from equirl.learners.contract import Learner as Learner
    from equirl.learners.estimates import EmpiricalPool as EmpiricalPool
    from equirl.learners.learner_registry import (
        AGENTS as AGENTS,
        HANDED as HANDED,
        agent_for as agent_for,
        check_tolerance as check_tolerance,
        find_learner as find_learner,
        make_agent as make_agent,
        make_settings as make_settings,
        outside_modules as outside_modules,
        register_learner as register_learner,
    )
    from equirl.learners.model_sets import LaplaceBalls as LaplaceBalls
    from equirl.learners.optimistic import OptimisticLearner as OptimisticLearner
    from equirl.learners.parts import AUTO as AUTO, Problem as Problem
    from equirl.learners.planners import POLICY_SWEEPS as POLICY_SWEEPS, OptimisticPlanner as OptimisticPlanner
    from equirl.learners.recipes import (
        COLUMNS as COLUMNS,
        Recipe as Recipe,
        Settings as Settings,
        needs_of_parts as needs_of_parts,
    )
    from equirl.learners.refuted_structure import RefutedStructure as RefutedStructure
    from equirl.learners.stopping import Doubling as Doubling
    from equirl.learners.structures import (
        EstimatedClasses as EstimatedClasses,
        clustering_rules as clustering_rules,
    )
else:
    EXPORTS = {
        "catalogue": "FAMILIES RECOMMENDED",
        "contract": "Learner",
        "estimates": "EmpiricalPool",
        "learner_registry": "AGENTS HANDED agent_for check_tolerance find_learner make_agent make_settings "
        "outside_modules register_learner",
        "model_sets": "LaplaceBalls",
        "optimistic": "OptimisticLearner",
        "parts": "AUTO Problem",
        "planners": "OptimisticPlanner POLICY_SWEEPS",
        "recipes": "COLUMNS Recipe Settings needs_of_parts",
        "refuted_structure": "RefutedStructure",
        "stopping": "Doubling",
        "structures": "EstimatedClasses clustering_rules",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
