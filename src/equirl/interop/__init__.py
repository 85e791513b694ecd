"""To and from other libraries, and problems that can only be played.

``gym`` makes environments of MDPs, ``gym_tables`` MDPs of environments with a transition table; ``encoder`` numbers the
values of spaces, ``simulators`` is one interface to environments and to functions of the user's, ``play`` plays
agents in them; ``convert`` knows QuantEcon and the MDP toolboxes. ``import equirl`` loads what is below, and no more.
"""

from __future__ import annotations

import gymnasium

from equirl.worlds.world_registry import WORLDS


def register_worlds() -> None:
    """Register every world with Gymnasium as ``equirl/<Title>-v0``; those already there are left alone."""
    for name, world in WORLDS.items():
        title = f"equirl/{world.title}-v0"
        if title not in gymnasium.registry:
            gymnasium.register(title, entry_point="equirl.interop.gym:TabularEnv", kwargs={"mdp": name})
