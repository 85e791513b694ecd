"""equirl: reinforcement learning in finite MDPs that notices which state-action pairs behave alike.

>>> import equirl as eq
>>> mdp = eq.make("ergodic-riverswim", n_states=6)
>>> trace = eq.simulate(mdp, "c-ucrl", horizon=2000, seed=0)
>>> eq.equivalence_classes(mdp).n_classes
6

Importing the package registers the worlds with Gymnasium; public names are loaded when first used, so that it is
quick.
"""

from __future__ import annotations

from equirl.words.loading import InterruptsEndLoading, lazily

with InterruptsEndLoading():
    from typing import TYPE_CHECKING

    from equirl.interop import register_worlds

__version__ = "0.1.0"

_EXPORTS = {  # module -> public names
    "model.mdp": "TabularMDP",
    "model.pairs": "Pairs",
    "model.reward_laws": "rescale_rewards",
    "model.rows": "Rows",
    "worlds.world_registry": "WORLDS load_world make",
    "solving.chains": "chain_kind",
    "solving.discounted": "DiscountedSolution",
    "solving.goals": "GoalSolution",
    "solving.multichain": "NoConstantGain",
    "solving.optimal_gain": "UncertifiedGain certified_gain solve",
    "solving.renewal": "IllConditioned",
    "solving.policies": "evaluate_policy policy_gain policy_kind stationary_distribution",
    "solving.shortest_times": "diameter",
    "structure.equivalence": "equivalence_classes separation",
    "structure.partition": "Partition",
    "structure.quality": "misclustering_bias misclustering_ratio",
    "structure.similarity": "Profiles profile_distance profiles similar",
    "clustering.approximate_equivalence": "approx_equivalence",
    "numerics.compiling": "inlined lean_kernel",
    "planning.exact_model": "ExactModel",
    "planning.l1_ball": "ConfidenceSet",
    "planning.optimistic_planning": "Plan Solver extended_value_iteration iterate sweep_states",
    "posterior.inspection": "ClassPosterior class_posterior",
    "learners.beliefs": "Beliefs CountedBeliefs",
    "learners.contract": "CountingLearner Learner Limits State Stretch is_over pair_limits step_limits",
    "learners.explanations": "Explanation",
    "learners.refuted_structure": "RefutedStructure",
    "learners.structures": "EstimatedClasses NoStructure",
    "learners.estimates": "EmpiricalPool OwnEstimate",
    "learners.model_sets": "ModelSetPart",
    "learners.planners": "OptimisticPlanner",
    "learners.stopping": "Doubling PairDoubling",
    "learners.optimistic": "OptimisticLearner",
    "learners.recipes": "Recipe",
    "learners.learner_registry": "AGENTS agent_for make_agent make_settings register_learner",
    "simulation.simulated_runs": "simulate",
    "simulation.trace": "Trace",
    "theory.lower_bounds": "regret_lower_bound",
    "interop.convert": "from_quantecon from_toolbox to_quantecon to_toolbox",
    "interop.encoder": "Encoder",
    "interop.gym": "TabularEnv",
    "interop.gym_tables": "from_gymnasium",
    "interop.play": "play",
    "interop.simulators": "GymSimulator Simulator",
    "logs.log": "Log from_log",
    "logs.log_classes": "LogClasses classes_of",
    "logs.log_policy": "Learned learn",
    "logs.next_steps": "next_steps",
    "logs.structure_check": "StructureCheck check_structure",
    "keeping.journal": "open_agent",
    "keeping.journal_recovery": "read_journal",
    "keeping.saving": "load_agent",
    "lab.studies.compare": "play_many simulate_many",
    "files.whole_files": "DamagedFile",
}

register_worlds()

if not TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours
    __getattr__, __dir__, __all__ = lazily(__name__, _EXPORTS)
    __all__ += ["__version__"]

if TYPE_CHECKING:  # "as" says to type checkers that the name is public
    from equirl.clustering.approximate_equivalence import approx_equivalence as approx_equivalence
    from equirl.files.whole_files import DamagedFile as DamagedFile
    from equirl.interop.convert import (
        from_quantecon as from_quantecon,
        from_toolbox as from_toolbox,
        to_quantecon as to_quantecon,
        to_toolbox as to_toolbox,
    )
    from equirl.interop.encoder import Encoder as Encoder
    from equirl.interop.gym import TabularEnv as TabularEnv
    from equirl.interop.gym_tables import from_gymnasium as from_gymnasium
    from equirl.interop.play import play as play
    from equirl.interop.simulators import GymSimulator as GymSimulator, Simulator as Simulator
    from equirl.keeping.journal import open_agent as open_agent
    from equirl.keeping.journal_recovery import read_journal as read_journal
    from equirl.keeping.saving import load_agent as load_agent
    from equirl.lab.studies.compare import play_many as play_many, simulate_many as simulate_many
    from equirl.learners.beliefs import Beliefs as Beliefs, CountedBeliefs as CountedBeliefs
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
        agent_for as agent_for,
        make_agent as make_agent,
        make_settings as make_settings,
        register_learner as register_learner,
    )
    from equirl.learners.model_sets import ModelSetPart as ModelSetPart
    from equirl.learners.optimistic import OptimisticLearner as OptimisticLearner
    from equirl.learners.planners import OptimisticPlanner as OptimisticPlanner
    from equirl.learners.recipes import Recipe as Recipe
    from equirl.learners.refuted_structure import RefutedStructure as RefutedStructure
    from equirl.learners.stopping import Doubling as Doubling, PairDoubling as PairDoubling
    from equirl.learners.structures import EstimatedClasses as EstimatedClasses, NoStructure as NoStructure
    from equirl.logs.log import Log as Log, from_log as from_log
    from equirl.logs.log_classes import LogClasses as LogClasses, classes_of as classes_of
    from equirl.logs.log_policy import Learned as Learned, learn as learn
    from equirl.logs.next_steps import next_steps as next_steps
    from equirl.logs.structure_check import StructureCheck as StructureCheck, check_structure as check_structure
    from equirl.model.mdp import TabularMDP as TabularMDP
    from equirl.model.pairs import Pairs as Pairs
    from equirl.model.reward_laws import rescale_rewards as rescale_rewards
    from equirl.model.rows import Rows as Rows
    from equirl.numerics.compiling import inlined as inlined, lean_kernel as lean_kernel
    from equirl.planning.exact_model import ExactModel as ExactModel
    from equirl.planning.l1_ball import ConfidenceSet as ConfidenceSet
    from equirl.planning.optimistic_planning import (
        Plan as Plan,
        Solver as Solver,
        extended_value_iteration as extended_value_iteration,
        iterate as iterate,
        sweep_states as sweep_states,
    )
    from equirl.posterior.inspection import ClassPosterior as ClassPosterior, class_posterior as class_posterior
    from equirl.simulation.simulated_runs import simulate as simulate
    from equirl.simulation.trace import Trace as Trace
    from equirl.solving.chains import chain_kind as chain_kind
    from equirl.solving.discounted import DiscountedSolution as DiscountedSolution
    from equirl.solving.goals import GoalSolution as GoalSolution
    from equirl.solving.multichain import NoConstantGain as NoConstantGain
    from equirl.solving.optimal_gain import (
        UncertifiedGain as UncertifiedGain,
        certified_gain as certified_gain,
        solve as solve,
    )
    from equirl.solving.policies import (
        evaluate_policy as evaluate_policy,
        policy_gain as policy_gain,
        policy_kind as policy_kind,
        stationary_distribution as stationary_distribution,
    )
    from equirl.solving.renewal import IllConditioned as IllConditioned
    from equirl.solving.shortest_times import diameter as diameter
    from equirl.structure.equivalence import equivalence_classes as equivalence_classes, separation as separation
    from equirl.structure.partition import Partition as Partition
    from equirl.structure.quality import (
        misclustering_bias as misclustering_bias,
        misclustering_ratio as misclustering_ratio,
    )
    from equirl.structure.similarity import (
        Profiles as Profiles,
        profile_distance as profile_distance,
        profiles as profiles,
        similar as similar,
    )
    from equirl.theory.lower_bounds import regret_lower_bound as regret_lower_bound
    from equirl.worlds.world_registry import WORLDS as WORLDS, load_world as load_world, make as make
