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
    from equirl.learners.beliefs import Beliefs as Beliefs, CountedBeliefs as CountedBeliefs
    from equirl.learners.catalogue import FAMILIES as FAMILIES, RECOMMENDED as RECOMMENDED
    from equirl.learners.contract import (
        CountingLearner as CountingLearner,
        Learner as Learner,
        Limits as Limits,
        State as State,
        Stretch as Stretch,
        is_over as is_over,
        pair_limits as pair_limits,
        step_limits as step_limits,
    )
    from equirl.learners.estimates import EmpiricalPool as EmpiricalPool, OwnEstimate as OwnEstimate
    from equirl.learners.explanations import Explanation as Explanation
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
    from equirl.learners.model_sets import LaplaceBalls as LaplaceBalls, ModelSetPart as ModelSetPart
    from equirl.learners.optimistic import OptimisticLearner as OptimisticLearner
    from equirl.learners.parts import AUTO as AUTO, Problem as Problem
    from equirl.learners.planners import POLICY_SWEEPS as POLICY_SWEEPS, OptimisticPlanner as OptimisticPlanner
    from equirl.learners.recipes import (
        COLUMNS as COLUMNS,
        Blueprint as Blueprint,
        Recipe as Recipe,
        Settings as Settings,
        needs_of_parts as needs_of_parts,
    )
    from equirl.learners.refuted_structure import RefutedStructure as RefutedStructure
    from equirl.learners.stopping import Doubling as Doubling, PairDoubling as PairDoubling
    from equirl.learners.structures import (
        EstimatedClasses as EstimatedClasses,
        NoStructure as NoStructure,
        clustering_rules as clustering_rules,
    )
else:
    EXPORTS = {
        "beliefs": "Beliefs CountedBeliefs",
        "catalogue": "FAMILIES RECOMMENDED",
        "contract": "CountingLearner Learner Limits State Stretch is_over pair_limits step_limits",
        "estimates": "EmpiricalPool OwnEstimate",
        "explanations": "Explanation",
        "learner_registry": "AGENTS GIVEN_KEYWORDS agent_for check_tolerance find_learner make_agent make_settings "
        "outside_modules register_learner",
        "model_sets": "LaplaceBalls ModelSetPart",
        "optimistic": "OptimisticLearner",
        "parts": "AUTO Problem",
        "planners": "OptimisticPlanner POLICY_SWEEPS",
        "recipes": "Blueprint COLUMNS Recipe Settings needs_of_parts",
        "refuted_structure": "RefutedStructure",
        "stopping": "Doubling PairDoubling",
        "structures": "EstimatedClasses NoStructure clustering_rules",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
