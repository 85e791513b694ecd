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

GROUPS = {  # of public names, in the order of the API docs: module -> names
    "Problems": {
        "model.mdp": "TabularMDP",
        "worlds.world_registry": "WORLDS make load_world",
        "interop.gym_tables": "from_gymnasium",
        "interop.gym": "TabularEnv",
        "interop.simulators": "Simulator",
        "interop.encoder": "Encoder",
    },
    "Answers": {
        "solving.optimal_gain": "solve",
        "solving.policies": "Policy",
        "solving.shortest_times": "diameter",
        "solving.chains": "chain_kind",
        "structure.equivalence": "equivalence_classes",
        "structure.partition": "Partition",
        "structure.similarity": "profiles",
        "logs.structure_check": "check_structure",
    },
    "Learning": {
        "learners.learner_registry": "AGENTS make_agent agent_for",
        "simulation.simulated_runs": "simulate",
        "simulation.trace": "Trace",
        "interop.play": "play",
        "lab.studies.compare": "simulate_many play_many",
        "interop.evaluation": "evaluate",
        "lab.studies.python_study": "Study",
        "keeping.saving": "load_agent",
        "keeping.journal": "open_agent",
    },
    "Logs": {
        "logs.log": "from_log Log",
        "logs.log_policy": "learn",
        "logs.log_estimator": "LogPolicy",
    },
    "Your own learner": {
        "learners.learner_registry": "register_learner",
        "learners.recipes": "Recipe",
        "learners.contract": "Learner CountingLearner Stretch State is_over pair_limits",
        "model.rows": "Rows",
        "planning.exact_model": "ExactModel",
        "planning.optimistic_planning": "extended_value_iteration",
    },
}

register_worlds()

if not TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours
    __getattr__, __dir__, __all__ = lazily(__name__, *GROUPS.values())
    __all__ += ["__version__"]

if TYPE_CHECKING:  # "as" says to type checkers that the name is public
    from equirl.interop.encoder import Encoder as Encoder
    from equirl.interop.evaluation import evaluate as evaluate
    from equirl.interop.gym import TabularEnv as TabularEnv
    from equirl.interop.gym_tables import from_gymnasium as from_gymnasium
    from equirl.interop.play import play as play
    from equirl.interop.simulators import Simulator as Simulator
    from equirl.keeping.journal import open_agent as open_agent
    from equirl.keeping.saving import load_agent as load_agent
    from equirl.lab.studies.compare import play_many as play_many, simulate_many as simulate_many
    from equirl.lab.studies.python_study import Study as Study
    from equirl.learners.contract import (
        CountingLearner as CountingLearner,
        Learner as Learner,
        State as State,
        Stretch as Stretch,
        is_over as is_over,
        pair_limits as pair_limits,
    )
    from equirl.learners.learner_registry import (
        AGENTS as AGENTS,
        agent_for as agent_for,
        make_agent as make_agent,
        register_learner as register_learner,
    )
    from equirl.learners.recipes import Recipe as Recipe
    from equirl.logs.log import Log as Log, from_log as from_log
    from equirl.logs.log_estimator import LogPolicy as LogPolicy
    from equirl.logs.log_policy import learn as learn
    from equirl.logs.structure_check import check_structure as check_structure
    from equirl.model.mdp import TabularMDP as TabularMDP
    from equirl.model.rows import Rows as Rows
    from equirl.planning.exact_model import ExactModel as ExactModel
    from equirl.planning.optimistic_planning import extended_value_iteration as extended_value_iteration
    from equirl.simulation.simulated_runs import simulate as simulate
    from equirl.simulation.trace import Trace as Trace
    from equirl.solving.chains import chain_kind as chain_kind
    from equirl.solving.optimal_gain import solve as solve
    from equirl.solving.policies import Policy as Policy
    from equirl.solving.shortest_times import diameter as diameter
    from equirl.structure.equivalence import equivalence_classes as equivalence_classes
    from equirl.structure.partition import Partition as Partition
    from equirl.structure.similarity import profiles as profiles
    from equirl.worlds.world_registry import WORLDS as WORLDS, load_world as load_world, make as make
