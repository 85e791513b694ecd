"""Problems of an unusual shape: many actions, many successors, noise, states out of reach, traps and bridges."""

from __future__ import annotations

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.random_mdps import garnet
from equirl.worlds.rules import Distribution, Effects, StateTuple, mdp_from_rules, mdp_from_start, mixed, one_event


def copies(n_states: int = 6, n_actions: int = 20, seed: int = 3) -> TabularMDP:
    """A ring on which all but one of twenty actions are equal; the other one goes on, and going round pays."""
    n_states, n_actions = whole_number("n_states", n_states, least=2), whole_number("n_actions", n_actions, least=2)
    goes = np.random.default_rng(whole_number("seed", seed, least=0)).integers(n_actions, size=n_states).tolist()

    def rule(state: StateTuple) -> Effects:
        (at,) = state
        on, back = ((at + 1) % n_states,), (max(at - 1, 0),)
        pays = 1.0 if at == n_states - 1 else 0.0
        good: tuple[Distribution, float] = (mixed([(on, 0.9), (state, 0.1)]), pays)
        other: tuple[Distribution, float] = (mixed([(back, 0.5), (state, 0.4), (on, 0.1)]), 0.1 * (at == 0))
        return {str(a): good if a == goes[at] else other for a in range(n_actions)}

    return mdp_from_start(rule, (0,))


def control_panel(n_states: int = 8, n_actions: int = 30, seed: int = 4) -> TabularMDP:
    """A panel of thirty buttons without a manual: each leads to two places and pays as it does."""
    return garnet(n_states, n_actions, branching=2, seed=seed)


def crowd(n_places: int = 30, seed: int = 5) -> TabularMDP:
    """A market where every decision may lead to any of thirty stalls, of which a few pay."""
    n_places = whole_number("n_places", n_places, least=2)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    prob = rng.dirichlet(np.full(n_places, 0.5), size=(n_places, 4)) * 0.99 + 0.01 / n_places
    pays = np.where(rng.random(n_places) < 0.2, rng.random(n_places), 0.0)

    def rule(state: StateTuple) -> Effects:
        (at,) = state
        return {str(a): ({(x,): p for x, p in enumerate(prob[at, a].tolist())}, float(pays[at])) for a in range(4)}

    return mdp_from_start(rule, (0,))


def slot_machines(rooms: int = 10, seed: int = 6) -> TabularMDP:
    """Rooms with three slot machines each, that pay all or nothing, and a door to the next room."""
    rooms = whole_number("rooms", rooms, least=2)
    chance = np.random.default_rng(whole_number("seed", seed, least=0)).uniform(0.3, 0.6, size=(rooms, 3)).tolist()

    def rule(state: StateTuple) -> Effects:
        (at,) = state
        out, on = ((at - 1) % rooms,), ((at + 1) % rooms,)
        plays: dict[str, tuple[Distribution, float]] = {
            str(k): (mixed([(state, 0.9), (out, 0.1)]), p) for k, p in enumerate(chance[at])
        }
        return plays | {"door": ({on: 1.0}, 0.0)}

    return mdp_from_start(rule, (0,), reward_range=(0, 1))


def wells(n_wells: int = 12, seed: int = 7) -> TabularMDP:
    """Wells on a ring whose yield varies from day to day: pump, pump hard, which dries them up, or walk on."""
    n_wells = whole_number("n_wells", n_wells, least=2)
    yields = np.random.default_rng(whole_number("seed", seed, least=0)).uniform(0.2, 0.7, size=n_wells).tolist()

    def rule(state: StateTuple) -> Effects:
        at, dry = state
        on = ((at + 1) % n_wells, 0)
        if dry:
            return {"wait": (mixed([((at, 0), 0.3), (state, 0.7)]), 0.02), "walk": ({on: 1.0}, 0.0)}
        return {
            "pump": (mixed([(state, 0.8), ((at, 1), 0.2)]), yields[at]),
            "pump hard": (mixed([(state, 0.2), ((at, 1), 0.8)]), min(1.0, 1.4 * yields[at])),
            "walk": ({on: 1.0}, 0.0),
        }

    return mdp_from_start(rule, (0, 0), reward_range=(0, 1))


def close_call(n_states: int = 10, n_actions: int = 5, seed: int = 8) -> TabularMDP:
    """A random walk on which every action pays nearly the same: between 0.50 and 0.52, all or nothing."""
    n_states, n_actions = whole_number("n_states", n_states, least=2), whole_number("n_actions", n_actions)
    rng = np.random.default_rng(whole_number("seed", seed, least=0))
    pays = rng.uniform(0.5, 0.52, size=(n_states, n_actions)).tolist()
    drift = rng.uniform(0.2, 0.8, size=(n_states, n_actions)).tolist()

    def rule(state: StateTuple) -> Effects:
        (at,) = state
        on, back = ((at + 1) % n_states,), ((at - 1) % n_states,)
        return {str(a): (mixed([(on, drift[at][a]), (back, 1 - drift[at][a])]), pays[at][a]) for a in range(n_actions)}

    return mdp_from_start(rule, (0,), reward_range=(0, 1))


def islands(within: int = 8, beyond: int = 30) -> TabularMDP:
    """A small ferry line, and thirty islands that no ferry serves: they are numbered, and never seen."""
    within, beyond = whole_number("within", within, least=2), whole_number("beyond", beyond, least=0)

    def rule(state: StateTuple) -> Effects:
        (at,) = state
        if at >= within:
            return {"row": ({(within + (at - within + 1) % beyond,): 1.0}, 1.0), "rest": ({state: 1.0}, 1.0)}
        on, back = (min(at + 1, within - 1),), (max(at - 1, 0),)
        return {
            "row": (one_event(state, [(on, 0.5), (back, 0.1)]), 0.8 * (at == within - 1)),
            "rest": (one_event(state, [(back, 0.6)]), 0.1 * (at == 0)),
        }

    states = [(k,) for k in range(within + beyond)]
    return mdp_from_rules(states, ("row", "rest"), rule, (0,))


def swamp(path: int = 5, depth: int = 4, escape: float = 0.1) -> TabularMDP:
    """A path that pays fairly, and berries beside it that pay more and lead into a swamp, which is seldom left."""
    path, depth = whole_number("path", path, least=2), whole_number("depth", depth)
    escape = between("escape", escape)

    def rule(state: StateTuple) -> Effects:
        at, deep = state
        if deep:
            out = (at, deep - 1)
            sinks = (at, min(deep + 1, depth))
            return {
                "wade": (one_event(state, [(out, escape), (sinks, escape / 2)]), 0.1),
                "wait": (one_event(state, [(out, escape / 5)]), 0.2),
                "thrash": (one_event(state, [(sinks, 0.5)]), 0.1),
            }
        return {
            "walk": (mixed([(((at + 1) % path, 0), 0.8), (state, 0.2)]), 0.5),
            "rest": ({state: 1.0}, 0.4),
            "berries": (mixed([((at, 1), 0.5), (state, 0.5)]), 0.9),
        }

    return mdp_from_start(rule, (0, 0))


def footbridge(places: int = 5, crossing: float = 0.03) -> TabularMDP:
    """Two banks: a poor one to begin with, and a rich one behind a bridge that is seldom open."""
    places, crossing = whole_number("places", places, least=2), between("crossing", crossing)

    def rule(state: StateTuple) -> Effects:
        rich, at = state
        on, back = (rich, (at + 1) % places), (rich, (at - 1) % places)
        choices: dict[str, tuple[Distribution, float]] = {
            "on": (mixed([(on, 0.7), (state, 0.3)]), 0.1 + 0.7 * rich),
            "back": (mixed([(back, 0.7), (state, 0.3)]), 0.2 + 0.4 * rich),
        }
        over = (1 - rich, at)
        if at == places - 1:
            choices["bridge"] = (one_event(state, [(over, crossing)]), 0.05)
        if rich and not at:
            choices["on"] = (mixed([(on, 0.7), (state, 0.28), (over, 0.02)]), 1.0)
        return choices

    return mdp_from_start(rule, (0, 0))


def shifts(stages: int = 7) -> TabularMDP:
    """A day of seven shifts in a row, each with the machine cold or warm: the best policy is periodic."""
    stages = whole_number("stages", stages, least=2)

    def rule(state: StateTuple) -> Effects:
        stage, warm = state
        later = (stage + 1) % stages
        wanted = stage % 3 != 1
        heats = mixed([((later, 1), 0.8), ((later, 0), 0.2)])
        works: Distribution = mixed([((later, 1), 0.75), ((later, 0), 0.25)]) if warm else {(later, 0): 1.0}
        return {
            "idle": ({(later, 0): 1.0}, 0.2),
            "heat": (heats, 0.0),
            "work": (works, (0.9 if wanted else 0.4) if warm else 0.1),
        }

    return mdp_from_start(rule, (0, 0))
