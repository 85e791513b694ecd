"""Gymnasium's toy-text problems without end: what ends an episode leads to a first state instead.

They are read from Gymnasium's own tables (:func:`equirl.from_gymnasium`), states that cannot be reached left out and
the others named by their numbers in Gymnasium. Rewards outside [0, 1] are mapped; ``mdp.reward_map`` leads back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from equirl.model.mdp import TabularMDP
from equirl.words.checking import choice, flag

LAKES = ("4x4", "8x8")


def frozen_lake(size: str = "8x8", slippery: bool = True) -> TabularMDP:
    """FrozenLake: over the ice to the goal, which pays 1; a hole leads back to the start.

    Parameters
    ----------
    size : {"8x8", "4x4"}
        Which of Gymnasium's two maps: 53 or 11 states that can be reached.
    slippery : bool, default True
        Whether a move goes in its own direction and in the two perpendicular ones with 1/3 each, or surely.
    """
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

    map_name = choice("size", size, LAKES)
    return _endless(FrozenLakeEnv(map_name=map_name, is_slippery=flag("slippery", slippery)), "left down right up")


def cliff_walking(slippery: bool = False) -> TabularMDP:
    """CliffWalking: every step costs 1, one over the cliff costs 100 and leads back to the start.

    Arriving pays nothing by itself, so in the long run every way that keeps off the cliff is as good as any other:
    regret counts falls alone.

    Parameters
    ----------
    slippery : bool, default False
        Whether a move may go in a perpendicular direction instead, with 1/3 each.
    """
    from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv

    return _endless(CliffWalkingEnv(is_slippery=flag("slippery", slippery)), "up right down left")


def taxi(rainy: bool = True) -> TabularMDP:
    """Taxi: fetch a passenger and drive to where they want to go (20), at 1 a step; the wrong place costs 10.

    Of Gymnasium's 500 states 400 can be reached.

    Parameters
    ----------
    rainy : bool, default True
        Whether the taxi may slide to a side of where it drives (with 0.1 each), or drives surely.
    """
    from gymnasium.envs.toy_text.taxi import TaxiEnv

    return _endless(TaxiEnv(is_rainy=flag("rainy", rainy)), "down up right left fetch drop")


def _endless(env: Any, actions: str) -> TabularMDP:
    from equirl.interop.gym_tables import from_gymnasium

    mdp = from_gymnasium(env, on_terminal="restart", drop_unreachable=True)
    return replace(mdp, pairs=replace(mdp.pairs, action_names=tuple(actions.split())))
