"""Dice, cards and hands, played without end."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import Distribution, Effects, StateTuple, mdp_from_start, mixed

SIDES = 6


def pig(most: int = 30) -> TabularMDP:
    """Pig: roll on, where a one loses the turn's points, or hold and bank them; what is banked pays."""
    most = whole_number("most", most, least=SIDES)

    def rule(state: StateTuple) -> Effects:
        (points,) = state
        rolled = mixed([((0,), 1 / SIDES), *(((min(points + k, most),), 1 / SIDES) for k in range(2, SIDES + 1))])
        return {"roll": (rolled, 0.0), "hold": ({(0,): 1.0}, float(points))}

    return mdp_from_start(rule, (0,))


def seventeen(goal: int = 21) -> TabularMDP:
    """Draw cards up to 21, or stick and win with the chance that the bank, which stops at 17, has less or too much."""
    goal = whole_number("goal", goal, least=11)
    cards = dict.fromkeys(range(1, 10), 1 / 13) | {10: 4 / 13}
    bank: dict[int, float] = {0: 1.0}
    for total in range(goal - 4):
        for card, p in cards.items():
            bank[total + card] = bank.get(total + card, 0.0) + bank.get(total, 0.0) * p
    ends = {total: p for total, p in bank.items() if total >= goal - 4}

    def rule(state: StateTuple) -> Effects:
        (total,) = state
        drawn = mixed(((total + card if total + card <= goal else 0,), p) for card, p in cards.items())
        wins = sum(p for end, p in ends.items() if end < total or end > goal)
        return {"draw": (drawn, 0.0), "stick": ({(0,): 1.0}, wins if total else 0.0)}

    return mdp_from_start(rule, (0,), reward_range=(0, 1))


def three_dice(rolls: int = 1) -> TabularMDP:
    """Three dice and a few more rolls: which to roll again; a triple, a run or a pair pays, then a new game."""
    rolls = whole_number("rolls", rolls, least=1, most=4)
    faces = range(1, SIDES + 1)

    def thrown(kept: tuple[int, ...], left: int) -> Distribution:
        fresh = product(faces, repeat=3 - len(kept))
        return mixed(((*sorted(kept + new), left), SIDES ** (len(kept) - 3.0)) for new in fresh)

    def score(dice: tuple[int, ...]) -> float:
        a, b, c = dice
        if a == c:
            return 10.0 + a
        return 6.0 if (a + 1, b + 1) == (b, c) else 2.0 if a == b or b == c else 0.0

    def rule(state: StateTuple) -> Effects:
        *dice, left = state
        if not left:
            return {"again": (thrown((), rolls), score(tuple(dice)))}
        choices = {}
        for keep in product((False, True), repeat=3):
            kept = tuple(die for die, kept in zip(dice, keep, strict=True) if kept)
            name = "".join("k" if one else "r" for one in keep)
            choices[name] = (thrown(kept, left - 1), 0.0)
        return choices

    first = next(iter(combinations_with_replacement(faces, 3)))
    return mdp_from_start(rule, (*first, rolls))


def hands(habit: float = 0.6) -> TabularMDP:
    """Rock, paper, scissors against one who, by habit, plays what would have beaten your last hand."""
    habit = between("habit", habit)

    def rule(state: StateTuple) -> Effects:
        mine, _ = state
        theirs = [habit * (hand == (mine + 1) % 3) + (1 - habit) / 3 for hand in range(3)]
        choices = {}
        for hand, name in enumerate(("rock", "paper", "scissors")):
            pay = sum(p * (0.5 if hand == other else float((hand - other) % 3 == 1)) for other, p in enumerate(theirs))
            choices[name] = (mixed(((hand, other), p) for other, p in enumerate(theirs)), pay)
        return choices

    return mdp_from_start(rule, (0, 0), reward_range=(0, 1))


def higher_lower(cards: int = 13) -> TabularMDP:
    """Is the next card higher or lower? A streak doubles what can be cashed in, and a wrong guess loses it."""
    cards = whole_number("cards", cards, least=3)
    longest = 4

    def rule(state: StateTuple) -> Effects:
        card, streak = state
        anew: Distribution = {(x, 0): 1 / cards for x in range(cards)}
        grown = min(streak + 1, longest)
        choices: dict[str, tuple[Distribution, float]] = {"cash": (anew, float(2**streak - 1))}
        for name, sign in (("higher", 1), ("lower", -1)):
            choices[name] = (mixed(((x, grown if sign * (x - card) > 0 else 0), 1 / cards) for x in range(cards)), 0.0)
        return choices

    return mdp_from_start(rule, (cards // 2, 0))
