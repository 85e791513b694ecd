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


if TYPE_CHECKING:
    from equirl.agents import AGENTS, agent_for, make_agent, make_settings
    from equirl.agents.saving import load_agent
    from equirl.chains import chain_kind
    from equirl.clustering import approx_equivalence
    from equirl.confidence import ConfidenceSet
    from equirl.convert import from_quantecon, from_toolbox, to_quantecon, to_toolbox
    from equirl.envs import WORLDS, load_world, make
    from equirl.equivalence import equivalence_classes, separation
    from equirl.experiments.many import simulate_many
    from equirl.files import DamagedFile
    from equirl.gym import TabularEnv, from_gymnasium
    from equirl.hitting import diameter
    from equirl.mdp import TabularMDP, rescale_rewards
    from equirl.pairs import Pairs
    from equirl.partition import Partition
    from equirl.planning import Plan
    from equirl.policies import IllConditioned, evaluate_policy, policy_gain, policy_kind, stationary_law
    from equirl.quality import misclustering_bias, misclustering_ratio
    from equirl.similarity import Profiles, profile_distance, profiles, similar
    from equirl.simulation import Trace, simulate
    from equirl.solving import NoConstantGain, solve
