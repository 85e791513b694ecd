"""An MDP from the rules of a problem: its states as tuples of numbers, and what each action does and pays in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from equirl.model.mdp import Picture, TabularMDP
from equirl.model.reward_distributions import rescale_rewards, reward_map_of

State = tuple[int, ...]
Law = Mapping[State, float]  # of the next state
Choices = Mapping[str, tuple[Law, float]]  # what each allowed action leads to, and its mean reward in any unit

MOST_STATES = 20_000  # rules are read pair by pair, in plain Python
NOTHING = 1e-12  # probability left over by rounding


def state_name(state: State) -> str:
    return ",".join(map(str, state))


def check_size(n_states: int, remedy: str) -> None:
    if n_states > MOST_STATES:
        raise ValueError(f"that makes {n_states} states, more than {MOST_STATES}; lower {remedy}")


def mdp_from_rules(
    states: Iterable[State],
    actions: Sequence[str],
    rule: Callable[[State], Choices],
    first: State,
    *,
    names: Callable[[State], str] = state_name,
    picture: Picture | None = None,
    reward_range: tuple[float, float] | None = None,
) -> TabularMDP:
    """The MDP of some rules, with mean rewards mapped to [0, 1]: from their own range, or from a given one."""
    label = {state: names(state) for state in states}
    listed = [(label[s], a, law, pay) for s in label for a, (law, pay) in rule(s).items()]
    means, reward_map = _mapped(np.array([pay for *_, pay in listed], float), reward_range)
    pairs = [
        (s, a, {label[x]: p for x, p in law.items()}, mean)
        for (s, a, law, _), mean in zip(listed, means.tolist(), strict=True)
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
    rule: Callable[[State], Choices], first: State, *, reward_range: tuple[float, float] | None = None
) -> TabularMDP:
    """The MDP of some rules whose states are those that can be reached from the first one, in order of distance."""
    choices = {first: rule(first)}
    waiting = [first]
    for state in waiting:
        for law, _ in choices[state].values():
            for x in law:
                if x not in choices:
                    choices[x] = rule(x)
                    waiting.append(x)
        check_size(len(waiting), "its sizes")
    actions = dict.fromkeys(name for own in choices.values() for name in own)
    return mdp_from_rules(choices, list(actions), choices.__getitem__, first, reward_range=reward_range)


def one_event(state: State, events: Iterable[tuple[State, float]]) -> dict[State, float]:
    """One of some events with their probabilities, or none: then the state stays."""
    law = mixed(events)
    rest = 1 - sum(law.values())
    return law if rest < NOTHING else mixed([*law.items(), (state, rest)])


def mixed(outcomes: Iterable[tuple[State, float]]) -> dict[State, float]:
    """A distribution from outcomes, of which several may be the same state."""
    law: dict[State, float] = {}
    for x, p in outcomes:
        if p > 0:
            law[x] = law.get(x, 0.0) + p
    return law


def joint_distribution(laws: Sequence[Mapping[int, float]]) -> dict[State, float]:
    """The distribution of several parts that change independently of each other."""
    law: dict[State, float] = {}
    for outcome in product(*(part.items() for part in laws)):
        chance = 1.0
        for p in sorted(p for _, p in outcome):  # in one order, so that equal distributions are equal to the last bit
            chance *= p
        law[tuple(x for x, _ in outcome)] = chance
    return law
