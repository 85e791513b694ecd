"""Living and growing things: forests, fish, epidemics, water, soil."""

from __future__ import annotations

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.practice.waiting_lines import binomial
from equirl.worlds.rules import Effects, StateTuple, mdp_from_start, mixed


def forest(oldest: int = 14, fire: float = 0.05) -> TabularMDP:
    """A stand of trees by its age: wait or cut; old wood pays more than in proportion, and a fire takes it all."""
    oldest, fire = whole_number("oldest", oldest), between("fire", fire)

    def rule(state: StateTuple) -> Effects:
        (age,) = state
        wait = mixed([((0,), fire), ((min(age + 1, oldest),), 1 - fire)])
        return {"wait": (wait, 0.3 * (age == oldest)), "cut": ({(0,): 1.0}, age**1.5 / 4 - 1.0 * (age > 0))}

    return mdp_from_start(rule, (0,))


def fishery(most: int = 20, boats: int = 5) -> TabularMDP:
    """Fish that grow back the faster the more there are, up to a point: how many boats to send out this year."""
    most, boats = whole_number("most", most, least=4), whole_number("boats", boats)

    def rule(state: StateTuple) -> Effects:
        (fish,) = state
        choices = {}
        for sent in range(boats + 1):
            catch = min(fish * (1 - 0.85**sent), fish)
            left = fish - catch
            grown = left + 0.9 * left * (1 - left / most) + 0.3  # and a few that swim in
            years = ((0.7, 0.25), (1.0, 0.5), (1.3, 0.25))  # poor, fair and good ones
            distribution = mixed(((_rounded(grown * year, most),), p) for year, p in years)
            choices[str(sent)] = (distribution, catch - 0.25 * sent)
        return choices

    return mdp_from_start(rule, (most // 2,))


def epidemic(people: int = 10) -> TabularMDP:
    """Infections among a few people: do nothing, wear masks or close; new cases come in, the sick recover."""
    people = whole_number("people", people)
    measures = {"nothing": (0.8, 0.0), "masks": (0.35, 1.0), "close": (0.1, 3.0)}

    def rule(state: StateTuple) -> Effects:
        (sick,) = state
        choices = {}
        for name, (contagion, cost) in measures.items():
            infected = binomial(people - sick, 1 - (1 - 0.005) * (1 - contagion / people) ** sick)
            cured = binomial(sick, 0.2)
            outcomes = [((sick + i - c,), p * q) for i, p in enumerate(infected) for c, q in enumerate(cured)]
            choices[name] = (mixed(outcomes), -float(sick) - cost)
        return choices

    return mdp_from_start(rule, (0,))


def reservoir(full: int = 10) -> TabularMDP:
    """A reservoir in wet and dry seasons: how much water to let through the turbines; floods and a dry bed cost."""
    full = whole_number("full", full, least=4)
    inflow = ({1: 0.3, 2: 0.4, 3: 0.3}, {0: 0.6, 1: 0.4})

    def rule(state: StateTuple) -> Effects:
        level, dry = state
        choices = {}
        for released in range(min(level, 4) + 1):
            outcomes, pay = [], released * (0.5 + 0.5 * level / full) * (1.5 if dry else 1.0)
            for water, p in inflow[dry].items():
                after = level - released + water
                pay -= p * (6.0 * max(after - full, 0) + 4.0 * (after <= 1))
                outcomes += [((min(after, full), season), p * q) for season, q in ((dry, 0.85), (1 - dry, 0.15))]
            choices[str(released)] = (mixed(outcomes), pay)
        return choices

    return mdp_from_start(rule, (full // 2, 0))


def crops(fertility: int = 4) -> TabularMDP:
    """A field by its fertility and last crop: wheat, beans, maize or fallow; the same crop twice invites pests."""
    fertility = whole_number("fertility", fertility)
    takes, yields = (2, -1, 3, -2), (5.0, 2.0, 8.0, 0.0)

    def rule(state: StateTuple) -> Effects:
        soil, last = state
        choices = {}
        for crop, name in enumerate(("wheat", "beans", "maize", "fallow")):
            harvest = yields[crop] * (0.2 + 0.8 * soil / fertility) * (0.6 if crop == last < 3 else 1.0)
            to = min(max(soil - takes[crop], 0), fertility)
            choices[name] = (mixed([((to, crop), 0.8), ((soil, crop), 0.2)]), harvest)
        return choices

    return mdp_from_start(rule, (fertility, 3))


def pests(most: int = 6, predators: int = 4) -> TabularMDP:
    """Pests and those that eat them: wait, spray, which kills both, or release predators."""
    most, predators = whole_number("most", most), whole_number("predators", predators)

    def rule(state: StateTuple) -> Effects:
        pest, hunters = state
        damage = 0.4 * pest**1.5

        def after(pest: int, hunters: int) -> dict[StateTuple, float]:
            up, down = 0.6 if pest else 0.3, min(0.95, 0.25 * hunters)
            fewer, more = max(pest - 1, 0), min(pest + 1, most)
            fed, starved = min(hunters + 1, predators), max(hunters - 1, 0)
            changed = [(more, up * (1 - down)), (fewer, down * (1 - up)), (pest, up * down + (1 - up) * (1 - down))]
            lives = [(fed, 0.3), (hunters, 0.7)] if pest >= 2 else [(starved, 0.4), (hunters, 0.6)]
            return mixed(((x, y), p * q) for x, p in changed for y, q in lives)

        return {
            "wait": (after(pest, hunters), -damage),
            "spray": (after(max(pest - 3, 0), 0), -damage - 3),
            "release": (after(pest, min(hunters + 2, predators)), -damage - 2),
        }

    return mdp_from_start(rule, (1, 1))


def _rounded(value: float, most: int) -> int:
    return min(max(round(value), 0), most)
