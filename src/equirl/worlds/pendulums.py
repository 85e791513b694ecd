"""A noisy discretised control task: swing a pendulum up and keep it there."""

from __future__ import annotations

from itertools import product
from math import cos, pi, sin

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import Effects, StateTuple, mdp_from_rules, mixed

TORQUES = {"left": -1, "none": 0, "right": 1}


def pendulum(n_angles: int = 16, max_speed: int = 3, gravity: float = 2.0, noise: float = 0.1) -> TabularMDP:
    """A pendulum on a grid of angles and speeds, pushed by a weak motor and by noise.

    A state is an angle, from 0 (hanging) by n_angles / 2 (upright) to n_angles - 1, and a speed in angles a step from
    -max_speed to max_speed, named "angle,speed"; the first hangs at rest. The motor adds -1, 0 or 1 to the speed
    (``left``, ``none``, ``right``), noise adds -1 or 1 with probability ``noise`` each, and gravity takes
    ``gravity * sin(angle)`` away, rounded; the speed is cut to its limits, then the angle moves by it. A step pays
    the height of the pendulum, from 0 hanging to 1 upright. The motor alone does not lift it past the horizontal: it
    has to be swung.

    Gravity and motor say where the outcomes lie, noise alone how likely they are: all pairs have the same three
    probabilities, except where the limit of the speed makes one outcome of several: three classes of transition
    probabilities. The height splits them by angle.

    No published value at hand: the task is this package's own.

    Parameters
    ----------
    n_angles : int, default 16
        How many angles there are in a full turn; even, at least 4.
    max_speed : int, default 3
        The largest speed, in angles a step.
    gravity : float, default 2
        What gravity takes from the speed where the pendulum is horizontal.
    noise : float, default 0.1
        Probability of a push to each side, at most 0.5.
    """
    n_angles, top = whole_number("n_angles", n_angles, least=4), whole_number("max_speed", max_speed)
    if n_angles % 2:
        raise ValueError(f"n_angles must be even, so that one of them is upright, not {n_angles}")
    gravity, noise = between("gravity", gravity, 0, 1000), between("noise", noise, 0, 0.5)
    pull = [round(round(gravity * sin(2 * pi * k / n_angles), 9)) for k in range(n_angles)]  # free of rounding errors
    height = [round((1 - cos(2 * pi * k / n_angles)) / 2, 12) for k in range(n_angles)]

    def rule(state: StateTuple) -> Effects:
        angle, speed = state
        choices = {}
        for name, torque in TORQUES.items():
            outcomes = []
            for push, p in ((0, 1 - 2 * noise), (-1, noise), (1, noise)):
                new = max(-top, min(top, speed + torque - pull[angle] + push))
                outcomes.append((((angle + new) % n_angles, new), p))
            choices[name] = (mixed(outcomes), height[angle])
        return choices

    states = product(range(n_angles), range(-top, top + 1))
    return mdp_from_rules(states, list(TORQUES), rule, (0, 0))
