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

from equirl.core.command_loading import InterruptsEndLoading

with InterruptsEndLoading():
    import importlib
    from typing import TYPE_CHECKING, Any

    from equirl.interop.gym_registration import register_worlds

__version__ = "0.1.0"

_HOME = {  # public name -> the module that holds it
    "AGENTS": "learners.learner_registry",
    "ClassPosterior": "posterior.inspection",
    "ConfidenceSet": "planning.l1_ball",
    "DamagedFile": "core.files",
    "DiscountedSolution": "solving.discounted",
    "Encoder": "interop.encoder",
    "GymSimulator": "interop.simulators",
    "IllConditioned": "solving.policies",
    "Learned": "logs.log_policy",
    "Log": "logs.log",
    "LogClasses": "logs.log_classes",
    "NoConstantGain": "solving.optimal_gain",
    "Pairs": "model.pairs",
    "Partition": "structure.partition",
    "Plan": "planning.extended_value_iteration",
    "Profiles": "structure.profiles",
    "Recipe": "learners.recipes",
    "RefutedStructure": "learners.statement_watch",
    "Simulator": "interop.simulators",
    "StructureCheck": "logs.structure_check",
    "TabularEnv": "interop.gym",
    "TabularMDP": "model.mdp",
    "Trace": "simulation.trace",
    "UncertifiedGain": "solving.optimal_gain",
    "WORLDS": "worlds.world_list",
    "agent_for": "learners.learner_registry",
    "approx_equivalence": "clustering.approx_equivalence",
    "certified_gain": "solving.optimal_gain",
    "chain_kind": "solving.chains",
    "check_structure": "logs.structure_check",
    "class_posterior": "posterior.inspection",
    "classes_of": "logs.log_classes",
    "diameter": "solving.diameter",
    "equivalence_classes": "structure.equivalence",
    "evaluate_policy": "solving.policies",
    "from_gymnasium": "interop.gym",
    "from_log": "logs.log",
    "from_quantecon": "interop.convert",
    "from_toolbox": "interop.convert",
    "learn": "logs.log_policy",
    "load_agent": "learners.saving",
    "load_world": "worlds.world_registry",
    "make": "worlds.world_registry",
    "make_agent": "learners.learner_registry",
    "make_settings": "learners.learner_registry",
    "misclustering_bias": "structure.quality",
    "misclustering_ratio": "structure.quality",
    "next_steps": "logs.next_steps",
    "open_agent": "learners.journal",
    "play": "simulation.play",
    "play_many": "studies.play_compare",
    "policy_gain": "solving.policies",
    "policy_kind": "solving.policies",
    "profile_distance": "structure.profiles",
    "profiles": "structure.profiles",
    "read_journal": "learners.journal_log",
    "register_learner": "learners.learner_registry",
    "regret_lower_bound": "theory.lower_bounds",
    "rescale_rewards": "model.reward_laws",
    "separation": "structure.equivalence",
    "similar": "structure.profiles",
    "simulate": "simulation.simulate",
    "simulate_many": "studies.compare",
    "solve": "solving.optimal_gain",
    "stationary_law": "solving.policies",
    "to_quantecon": "interop.convert",
    "to_toolbox": "interop.convert",
}

register_worlds()

__all__ = [*_HOME, "__version__"]


if not TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'equirl' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"equirl.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # "as" says to type checkers that the name is public
    from equirl.clustering.approx_equivalence import approx_equivalence as approx_equivalence
    from equirl.core.files import DamagedFile as DamagedFile
    from equirl.interop.convert import from_quantecon as from_quantecon
    from equirl.interop.convert import from_toolbox as from_toolbox
    from equirl.interop.convert import to_quantecon as to_quantecon
    from equirl.interop.convert import to_toolbox as to_toolbox
    from equirl.interop.encoder import Encoder as Encoder
    from equirl.interop.gym import TabularEnv as TabularEnv
    from equirl.interop.gym import from_gymnasium as from_gymnasium
    from equirl.interop.simulators import GymSimulator as GymSimulator
    from equirl.interop.simulators import Simulator as Simulator
    from equirl.learners.journal import open_agent as open_agent
    from equirl.learners.journal_log import read_journal as read_journal
    from equirl.learners.learner_registry import AGENTS as AGENTS
    from equirl.learners.learner_registry import agent_for as agent_for
    from equirl.learners.learner_registry import make_agent as make_agent
    from equirl.learners.learner_registry import make_settings as make_settings
    from equirl.learners.learner_registry import register_learner as register_learner
    from equirl.learners.recipes import Recipe as Recipe
    from equirl.learners.saving import load_agent as load_agent
    from equirl.learners.statement_watch import RefutedStructure as RefutedStructure
    from equirl.logs.log import Log as Log
    from equirl.logs.log import from_log as from_log
    from equirl.logs.log_classes import LogClasses as LogClasses
    from equirl.logs.log_classes import classes_of as classes_of
    from equirl.logs.log_policy import Learned as Learned
    from equirl.logs.log_policy import learn as learn
    from equirl.logs.next_steps import next_steps as next_steps
    from equirl.logs.structure_check import StructureCheck as StructureCheck
    from equirl.logs.structure_check import check_structure as check_structure
    from equirl.model.mdp import TabularMDP as TabularMDP
    from equirl.model.pairs import Pairs as Pairs
    from equirl.model.reward_laws import rescale_rewards as rescale_rewards
    from equirl.planning.extended_value_iteration import Plan as Plan
    from equirl.planning.l1_ball import ConfidenceSet as ConfidenceSet
    from equirl.posterior.inspection import ClassPosterior as ClassPosterior
    from equirl.posterior.inspection import class_posterior as class_posterior
    from equirl.simulation.play import play as play
    from equirl.simulation.simulate import simulate as simulate
    from equirl.simulation.trace import Trace as Trace
    from equirl.solving.chains import chain_kind as chain_kind
    from equirl.solving.diameter import diameter as diameter
    from equirl.solving.discounted import DiscountedSolution as DiscountedSolution
    from equirl.solving.optimal_gain import NoConstantGain as NoConstantGain
    from equirl.solving.optimal_gain import UncertifiedGain as UncertifiedGain
    from equirl.solving.optimal_gain import certified_gain as certified_gain
    from equirl.solving.optimal_gain import solve as solve
    from equirl.solving.policies import IllConditioned as IllConditioned
    from equirl.solving.policies import evaluate_policy as evaluate_policy
    from equirl.solving.policies import policy_gain as policy_gain
    from equirl.solving.policies import policy_kind as policy_kind
    from equirl.solving.policies import stationary_law as stationary_law
    from equirl.structure.equivalence import equivalence_classes as equivalence_classes
    from equirl.structure.equivalence import separation as separation
    from equirl.structure.partition import Partition as Partition
    from equirl.structure.profiles import Profiles as Profiles
    from equirl.structure.profiles import profile_distance as profile_distance
    from equirl.structure.profiles import profiles as profiles
    from equirl.structure.profiles import similar as similar
    from equirl.structure.quality import misclustering_bias as misclustering_bias
    from equirl.structure.quality import misclustering_ratio as misclustering_ratio
    from equirl.studies.compare import simulate_many as simulate_many
    from equirl.studies.play_compare import play_many as play_many
    from equirl.theory.lower_bounds import regret_lower_bound as regret_lower_bound
    from equirl.worlds.world_list import WORLDS as WORLDS
    from equirl.worlds.world_registry import load_world as load_world
    from equirl.worlds.world_registry import make as make
