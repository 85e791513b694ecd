"""Learners: a contract, parts, and recipes that put parts together.

In reading order:

- ``contract``: what the rest of the package knows of an agent: it decides, records and can be saved. ``beliefs``: the
  questions it answers. ``explanations``: one pair and one action in words. ``refuted_structure``: given classes, tested
  while it learns.
- ``optimistic``: the best policy of the best plausible MDP. Its parts: ``structures``, ``estimates``, ``model_sets``,
  ``planners``, ``stopping``; ``parts`` says what each kind takes and returns. ``published_learner``: C-UCRL's parts as
  published.
- ``posterior_sampling``: the best policy of an MDP drawn from the posterior, where its parts stand.
- ``imed``: an index decides every step. ``q_learning``: values alone. ``baselines``: agents that learn nothing.
- ``recipes``, ``catalogue``, ``learner_registry``: an agent by name; ``register_learner`` adds one from outside.
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.learners.catalogue import FAMILIES as FAMILIES, RECOMMENDED as RECOMMENDED
    from equirl.learners.contract import Learner as Learner
    from equirl.learners.estimates import EmpiricalPool as EmpiricalPool
    from equirl.learners.learner_registry import (
        AGENTS as AGENTS,
        GIVEN_KEYWORDS as GIVEN_KEYWORDS,
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
        "learner_registry": "AGENTS GIVEN_KEYWORDS agent_for check_tolerance find_learner make_agent make_settings "
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
