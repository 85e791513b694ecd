"""Howard's examples (Dynamic Programming and Markov Processes, 1960), in his own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equirl.model.mdp import TabularMDP
from equirl.worlds.rules import Choices, Law, State, mdp_from_rules

Alternative = tuple[Sequence[float], Sequence[float]]  # probabilities and rewards of the transitions to each state


def toymaker() -> TabularMDP:
    """Howard's toymaker: advertise while a toy sells, do research while it does not.

    In the state "success" he may "spend" on advertising, in "failure" on research, or "save" in either. His best policy
    spends on both, with a gain of 2 a week. Two states, four pairs and no two of them alike: there is nothing to pool.

    Returns
    -------
    TabularMDP
        ``mdp.reward_map`` leads back to his units.

    Examples
    --------
    >>> toys = toymaker()
    >>> toys.law("success", "spend"), toys.reward_map
    ({0: 0.8, 1: 0.2}, (11.0, -5.0))
    """
    return _howard(
        ("success", "failure"),
        [
            {"save": ((0.5, 0.5), (9, 3)), "spend": ((0.8, 0.2), (4, 4))},
            {"save": ((0.4, 0.6), (3, -7)), "spend": ((0.7, 0.3), (1, -19))},
        ],
    )


def taxicab() -> TabularMDP:
    """Howard's taxicab: in each of three towns cruise, drive to a stand, or wait for a call by radio.

    There is no radio in town B. The best policy drives to the stand in every town, with a gain of 13.34 a trip (the
    book's figure). Three states and eight pairs, which happen to have equal probabilities here and there (to cruise in
    A is to cruise in C, other towns aside); their rewards differ.

    Returns
    -------
    TabularMDP
        ``mdp.reward_map`` leads back to his units.

    Examples
    --------
    >>> cab = taxicab()
    >>> cab.n_pairs, cab.law("B", "stand")
    (8, {0: 0.0625, 1: 0.875, 2: 0.0625})
    """
    return _howard(
        ("A", "B", "C"),
        [
            {
                "cruise": ((1 / 2, 1 / 4, 1 / 4), (10, 4, 8)),
                "stand": ((1 / 16, 3 / 4, 3 / 16), (8, 2, 4)),
                "radio": ((1 / 4, 1 / 8, 5 / 8), (4, 6, 4)),
            },
            {
                "cruise": ((1 / 2, 0, 1 / 2), (14, 0, 18)),
                "stand": ((1 / 16, 7 / 8, 1 / 16), (8, 16, 8)),
            },
            {
                "cruise": ((1 / 4, 1 / 4, 1 / 2), (10, 2, 8)),
                "stand": ((1 / 8, 3 / 4, 1 / 8), (6, 4, 2)),
                "radio": ((3 / 4, 1 / 16, 3 / 16), (4, 0, 8)),
            },
        ],
    )


def _howard(names: Sequence[str], tables: Sequence[Mapping[str, Alternative]]) -> TabularMDP:
    """The MDP of Howard's tables: probabilities and rewards by transition, alternative by alternative."""

    def rule(state: State) -> Choices:
        choices: dict[str, tuple[Law, float]] = {}
        for name, (chances, pays) in tables[state[0]].items():
            law: Law = {(x,): p for x, p in enumerate(chances) if p}
            choices[name] = (law, float(sum(p * r for p, r in zip(chances, pays, strict=True))))
        return choices

    actions = list(dict.fromkeys(name for table in tables for name in table))
    states = [(k,) for k in range(len(names))]
    return mdp_from_rules(states, actions, rule, (0,), names=lambda state: names[state[0]])
