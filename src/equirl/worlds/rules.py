"""An MDP from the rules of a problem: its states as tuples of numbers, and what each action does and pays in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from equirl.model.mdp import TabularMDP
from equirl.model.picture import Picture
from equirl.model.reward_laws import rescale_rewards

State = tuple[int, ...]
Law = Mapping[State, float]  # of the next state
Choices = Mapping[str, tuple[Law, float]]  # what each allowed action leads to, and its mean reward in any unit

MOST_STATES = 20_000  # rules are read pair by pair, in plain Python


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
) -> TabularMDP:
    """The MDP of some rules, with mean rewards mapped to [0, 1]."""
    label = {state: names(state) for state in states}
    listed = [(label[s], a, law, pay) for s in label for a, (law, pay) in rule(s).items()]
    means, reward_map = rescale_rewards([pay for *_, pay in listed])
    pairs = [
        (s, a, {label[x]: p for x, p in law.items()}, mean)
        for (s, a, law, _), mean in zip(listed, means.tolist(), strict=True)
    ]
    return TabularMDP.from_pairs(
        pairs, len(label), label[first], state_names=list(label.values()), action_names=list(actions),
        picture=picture, reward_map=reward_map,
    )  # fmt: skip


def joint_law(laws: Sequence[Mapping[int, float]]) -> dict[State, float]:
    """The distribution of several parts that change independently of each other."""
    law: dict[State, float] = {}
    for outcome in product(*(part.items() for part in laws)):
        chance = 1.0
        for p in sorted(p for _, p in outcome):  # in one order, so that equal distributions are equal to the last bit
            chance *= p
        law[tuple(x for x, _ in outcome)] = chance
    return law
