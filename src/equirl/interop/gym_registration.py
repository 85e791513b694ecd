"""Our worlds in Gymnasium's registry: all that ``import equirl`` has to load."""

from __future__ import annotations

import gymnasium

from equirl.worlds.world_list import WORLDS


def register_worlds() -> None:
    """Register every world with Gymnasium as ``equirl/<Title>-v0``; those already there are left alone."""
    for name, world in WORLDS.items():
        title = f"equirl/{world.title}-v0"
        if title not in gymnasium.registry:
            gymnasium.register(title, entry_point="equirl.interop.gym:TabularEnv", kwargs={"mdp": name})
