"""An MDP from the rules of a problem: its states as tuples of numbers, and what each action does and pays in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from equirl.model.mdp import Picture, TabularMDP
from equirl.model.reward_distributions import rescale_rewards, reward_map_of

StateTuple = tuple[int, ...]
Distribution = Mapping[StateTuple, float]  # of the next state
Effects = Mapping[str, tuple[Distribution, float]]  # what each allowed action leads to, and its mean reward in any unit

MOST_STATES = 20_000  # rules are read pair by pair, in plain Python
NOTHING = 1e-12  # probability left over by rounding


def state_name(state: StateTuple) -> str:
    return ",".join(map(str, state))


def check_size(n_states: int, remedy: str) -> None:
    if n_states > MOST_STATES:
        raise ValueError(f"that makes {n_states} states, more than {MOST_STATES}; lower {remedy}")


def mdp_from_rules(
    states: Iterable[StateTuple],
    actions: Sequence[str],
    rule: Callable[[StateTuple], Effects],
    first: StateTuple,
    *,
    names: Callable[[StateTuple], str] = state_name,
    picture: Picture | None = None,
    reward_range: tuple[float, float] | None = None,
) -> TabularMDP:
    """The MDP of some rules, with mean rewards mapped to [0, 1]: from their own range, or from a given one."""
    label = {state: names(state) for state in states}
    listed = [(label[s], a, distribution, pay) for s in label for a, (distribution, pay) in rule(s).items()]
    means, reward_map = _mapped(np.array([pay for *_, pay in listed], float), reward_range)
    pairs = [
        (s, a, {label[x]: p for x, p in distribution.items()}, mean)
        for (s, a, distribution, _), mean in zip(listed, means.tolist(), strict=True)
    ]
    return TabularMDP.from_pairs(
        pairs, len(label), label[first], state_names=list(label.values()), action_names=list(actions),
        picture=picture, reward_map=reward_map,
    )  # fmt: skip


def _mapped(pays: np.ndarray, given: tuple[float, float] | None) -> tuple[np.ndarray, tuple[float, float]]:
    if given is None:
        return rescale_rewards(pays)
    scale, shift = reward_map_of(given)
    return (pays - shift) / scale, (scale, shift)


def mdp_from_start(
    rule: Callable[[StateTuple], Effects], first: StateTuple, *, reward_range: tuple[float, float] | None = None
) -> TabularMDP:
    """The MDP of some rules whose states are those that can be reached from the first one, in order of distance."""
    choices = {first: rule(first)}
    waiting = [first]
    for state in waiting:
        for distribution, _ in choices[state].values():
            for x in distribution:
                if x not in choices:
                    choices[x] = rule(x)
                    waiting.append(x)
        check_size(len(waiting), "its sizes")
    actions = dict.fromkeys(name for own in choices.values() for name in own)
    return mdp_from_rules(choices, list(actions), choices.__getitem__, first, reward_range=reward_range)


def one_event(state: StateTuple, events: Iterable[tuple[StateTuple, float]]) -> dict[StateTuple, float]:
    """One of some events with their probabilities, or none: then the state stays."""
    distribution = mixed(events)
    rest = 1 - sum(distribution.values())
    return distribution if rest < NOTHING else mixed([*distribution.items(), (state, rest)])


def mixed(outcomes: Iterable[tuple[StateTuple, float]]) -> dict[StateTuple, float]:
    """A distribution from outcomes, of which several may be the same state."""
    distribution: dict[StateTuple, float] = {}
    for x, p in outcomes:
        if p > 0:
            distribution[x] = distribution.get(x, 0.0) + p
    return distribution


def joint_distribution(parts: Sequence[Mapping[int, float]]) -> dict[StateTuple, float]:
    """The distribution of several parts that change independently of each other."""
    distribution: dict[StateTuple, float] = {}
    for outcome in product(*(part.items() for part in parts)):
        chance = 1.0
        for p in sorted(p for _, p in outcome):  # in one order, so that equal distributions are equal to the last bit
            chance *= p
        distribution[tuple(x for x, _ in outcome)] = chance
    return distribution
