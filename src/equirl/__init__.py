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

import importlib
from typing import TYPE_CHECKING, Any

from equirl.gym import register_worlds

__version__ = "0.1.0"

_HOME = {  # public name -> the module that holds it
    "AGENTS": "agents",
    "ConfidenceSet": "confidence",
    "DamagedFile": "files",
    "IllConditioned": "policies",
    "NoConstantGain": "solving",
    "Pairs": "pairs",
    "Partition": "partition",
    "Plan": "planning",
    "Profiles": "similarity",
    "TabularEnv": "gym",
    "TabularMDP": "mdp",
    "Trace": "simulation",
    "WORLDS": "envs",
    "agent_for": "agents",
    "approx_equivalence": "clustering",
    "chain_kind": "chains",
    "diameter": "hitting",
    "equivalence_classes": "equivalence",
    "evaluate_policy": "policies",
    "from_gymnasium": "gym",
    "from_quantecon": "convert",
    "from_toolbox": "convert",
    "load_agent": "agents.saving",
    "load_world": "envs",
    "make": "envs",
    "make_agent": "agents",
    "make_settings": "agents",
    "misclustering_bias": "quality",
    "misclustering_ratio": "quality",
    "policy_gain": "policies",
    "policy_kind": "policies",
    "profile_distance": "similarity",
    "profiles": "similarity",
    "rescale_rewards": "mdp",
    "separation": "equivalence",
    "similar": "similarity",
    "simulate": "simulation",
    "simulate_many": "experiments.many",
    "solve": "solving",
    "stationary_law": "policies",
    "to_quantecon": "convert",
    "to_toolbox": "convert",
}

register_worlds()

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'equirl' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"equirl.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # "as" says to type checkers that the name is public
    from equirl.agents import AGENTS as AGENTS
    from equirl.agents import agent_for as agent_for
    from equirl.agents import make_agent as make_agent
    from equirl.agents import make_settings as make_settings
    from equirl.agents.saving import load_agent as load_agent
    from equirl.chains import chain_kind as chain_kind
    from equirl.clustering import approx_equivalence as approx_equivalence
    from equirl.confidence import ConfidenceSet as ConfidenceSet
    from equirl.convert import from_quantecon as from_quantecon
    from equirl.convert import from_toolbox as from_toolbox
    from equirl.convert import to_quantecon as to_quantecon
    from equirl.convert import to_toolbox as to_toolbox
    from equirl.envs import WORLDS as WORLDS
    from equirl.envs import load_world as load_world
    from equirl.envs import make as make
    from equirl.equivalence import equivalence_classes as equivalence_classes
    from equirl.equivalence import separation as separation
    from equirl.experiments.many import simulate_many as simulate_many
    from equirl.files import DamagedFile as DamagedFile
    from equirl.gym import TabularEnv as TabularEnv
    from equirl.gym import from_gymnasium as from_gymnasium
    from equirl.hitting import diameter as diameter
    from equirl.mdp import TabularMDP as TabularMDP
    from equirl.mdp import rescale_rewards as rescale_rewards
    from equirl.pairs import Pairs as Pairs
    from equirl.partition import Partition as Partition
    from equirl.planning import Plan as Plan
    from equirl.policies import IllConditioned as IllConditioned
    from equirl.policies import evaluate_policy as evaluate_policy
    from equirl.policies import policy_gain as policy_gain
    from equirl.policies import policy_kind as policy_kind
    from equirl.policies import stationary_law as stationary_law
    from equirl.quality import misclustering_bias as misclustering_bias
    from equirl.quality import misclustering_ratio as misclustering_ratio
    from equirl.similarity import Profiles as Profiles
    from equirl.similarity import profile_distance as profile_distance
    from equirl.similarity import profiles as profiles
    from equirl.similarity import similar as similar
    from equirl.simulation import Trace as Trace
    from equirl.simulation import simulate as simulate
    from equirl.solving import NoConstantGain as NoConstantGain
    from equirl.solving import solve as solve
