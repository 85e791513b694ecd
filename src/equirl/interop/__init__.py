"""To and from other libraries, and problems that can only be played.

``gym`` makes environments of MDPs, ``gym_tables`` MDPs of environments with a transition table; ``encoder`` numbers the
values of spaces, ``simulators`` is one interface to environments and to functions of the user's, ``play`` plays
agents in them, ``evaluation`` policies, ``vector_simulator`` many environments at once; ``convert`` knows QuantEcon
and the MDP toolboxes. ``import equirl`` loads what is below, and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium

from equirl.words.loading import lazily
from equirl.worlds.world_registry import WORLDS

if TYPE_CHECKING:
    from equirl.interop.convert import (
        from_quantecon as from_quantecon,
        from_toolbox as from_toolbox,
        to_quantecon as to_quantecon,
        to_toolbox as to_toolbox,
    )
    from equirl.interop.encoder import Encoder as Encoder
    from equirl.interop.evaluation import Evaluation as Evaluation, evaluate as evaluate
    from equirl.interop.gym import TabularEnv as TabularEnv
    from equirl.interop.gym_tables import from_gymnasium as from_gymnasium
    from equirl.interop.simulators import GymSimulator as GymSimulator, Simulator as Simulator
else:
    EXPORTS = {
        "convert": "from_quantecon from_toolbox to_quantecon to_toolbox",
        "encoder": "Encoder",
        "evaluation": "Evaluation evaluate",
        "gym": "TabularEnv",
        "gym_tables": "from_gymnasium",
        "simulators": "GymSimulator Simulator",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)


def register_worlds() -> None:
    """Register every world with Gymnasium as ``equirl/<Title>-v0``; those already there are left alone."""
    for name, world in WORLDS.items():
        title = f"equirl/{world.title}-v0"
        if title not in gymnasium.registry:
            gymnasium.register(title, entry_point="equirl.interop.gym:TabularEnv", kwargs={"mdp": name})
