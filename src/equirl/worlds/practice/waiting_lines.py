"""Waiting lines and networks. A step is one event at most: an arrival, a service, or nothing."""

from __future__ import annotations

from itertools import product

from equirl.model.mdp import TabularMDP
from equirl.words.checking import between, whole_number
from equirl.worlds.rules import Distribution, Effects, StateTuple, mdp_from_start, mixed, one_event

MOST = 1e6  # of a price or a cost


def gate(places: int = 10, arrival: float = 0.4, service: float = 0.45, holding: float = 0.5) -> TabularMDP:
    """One server: keep the gate open to customers, who pay 5 and wait at a cost, or shut it."""
    places = whole_number("places", places)
    arrival, service = between("arrival", arrival), between("service", service)
    holding = between("holding", holding, 0, MOST)

    def rule(state: StateTuple) -> Effects:
        (n,) = state
        served = ((n - 1,), service if n else 0.0)
        choices: dict[str, tuple[Distribution, float]] = {"shut": (one_event(state, [served]), -holding * n)}
        if n < places:
            choices["open"] = (one_event(state, [served, ((n + 1,), arrival)]), 5 * arrival - holding * n)
        return choices

    return mdp_from_start(rule, (0,))


def router(places: int = 6, arrival: float = 0.5, fast: float = 0.3, slow: float = 0.2) -> TabularMDP:
    """Two lines with a fast and a slow server: send the next customer to one of them; a full line turns them away."""
    places = whole_number("places", places)
    arrival, fast, slow = between("arrival", arrival), between("fast", fast), between("slow", slow)

    def rule(state: StateTuple) -> Effects:
        served = [(_less(state, 0), fast), (_less(state, 1), slow)]
        choices = {}
        for k, line in enumerate(("fast", "slow")):
            full = state[k] == places
            distribution = one_event(state, [*served, (_more(state, k, places), arrival)])
            choices[line] = (distribution, -float(sum(state)) - 20 * arrival * full)
        return choices

    return mdp_from_start(rule, (0, 0))


def service_rate(places: int = 15, arrival: float = 0.4, holding: float = 1.0) -> TabularMDP:
    """One server at four speeds: the faster, the dearer; customers in line cost, those turned away more."""
    places, arrival = whole_number("places", places), between("arrival", arrival)
    holding = between("holding", holding, 0, MOST)
    speeds = {"rest": (0.0, 0.0), "slow": (0.25, 1.0), "normal": (0.45, 4.0), "fast": (0.6, 10.0)}

    def rule(state: StateTuple) -> Effects:
        (n,) = state
        cost = holding * n + 30 * arrival * (n == places)
        return {
            name: (one_event(state, [(_less(state, 0), rate), (_more(state, 0, places), arrival)]), -cost - dear)
            for name, (rate, dear) in speeds.items()
        }

    return mdp_from_start(rule, (0,))


def tandem(places: int = 5, arrival: float = 0.3, first: float = 0.35, second: float = 0.3) -> TabularMDP:
    """Two stations in a row: let the first one work or rest; a full second station blocks it, waiting there is dear."""
    places = whole_number("places", places)
    arrival, first, second = between("arrival", arrival), between("first", first), between("second", second)

    def rule(state: StateTuple) -> Effects:
        n, m = state
        always = [(_more(state, 0, places), arrival), (_less(state, 1), second)]
        passed = [((n - 1, m + 1), first)] if n and m < places else []
        cost = n + 3.0 * m + 25 * arrival * (n == places)
        return {"rest": (one_event(state, always), -cost), "work": (one_event(state, [*always, *passed]), -cost)}

    return mdp_from_start(rule, (0, 0))


def polling(places: int = 4, arrival: float = 0.2, service: float = 0.55, switch: float = 0.5) -> TabularMDP:
    """One server walks between two lines: stay with this one or set out for the other, which takes a while."""
    places = whole_number("places", places)
    arrival, service, switch = between("arrival", arrival), between("service", service), between("switch", switch)

    def rule(state: StateTuple) -> Effects:
        *lines, at = state
        cost = lines[0] + 2.0 * lines[1]
        coming = [(_more(state, k, places), arrival) for k in (0, 1)]
        served = (_less(state, at), service)
        moved = ((*lines, 1 - at), switch)
        return {"stay": (one_event(state, [*coming, served]), -cost), "go": (one_event(state, [*coming, moved]), -cost)}

    return mdp_from_start(rule, (0, 0, 0))


def loss_network(circuits: int = 4) -> TabularMDP:
    """Two links and three kinds of calls, one of which needs both: which kinds to take; calls without room are lost."""
    circuits = whole_number("circuits", circuits)
    arrivals, ends, pays = (0.15, 0.15, 0.1), 0.05, (1.0, 1.0, 1.5)

    def rule(state: StateTuple) -> Effects:
        a, b, both = state
        room = (a + both < circuits, b + both < circuits, max(a, b) + both < circuits)
        over = [(_less(state, k), ends * n) for k, n in enumerate(state)]
        choices = {}
        for taken in product((False, True), repeat=3):
            coming = [k for k in range(3) if taken[k] and room[k]]
            distribution = one_event(state, [*over, *((_more(state, k, circuits), arrivals[k]) for k in coming)])
            name = "".join(kind for kind, take in zip("ab2", taken, strict=True) if take) or "none"
            choices[name] = (distribution, sum(arrivals[k] * pays[k] for k in coming))
        return choices

    return mdp_from_start(rule, (0, 0, 0))


def priority(places: int = 6, arrival: float = 0.22, quick: float = 0.55, long: float = 0.35) -> TabularMDP:
    """Two kinds of customers before one server: whom to serve next, those who are quick or those whose wait is dear."""
    places = whole_number("places", places)
    arrival, quick, long = between("arrival", arrival), between("quick", quick), between("long", long)

    def rule(state: StateTuple) -> Effects:
        coming = [(_more(state, k, places), arrival) for k in (0, 1)]
        cost = state[0] + 2.0 * state[1] + 10 * arrival * sum(n == places for n in state)
        return {
            "quick": (one_event(state, [*coming, (_less(state, 0), quick)]), -cost),
            "dear": (one_event(state, [*coming, (_less(state, 1), long)]), -cost),
        }

    return mdp_from_start(rule, (0, 0))


def call_centre(places: int = 16, arrival: float = 0.4) -> TabularMDP:
    """Impatient callers: how many of four clerks to pay for; a caller who hangs up costs."""
    places, arrival = whole_number("places", places), between("arrival", arrival)
    serves, leaves = 0.12, 0.005

    def rule(state: StateTuple) -> Effects:
        (n,) = state
        choices = {}
        for clerks in range(5):
            busy = min(clerks, n)
            distribution = one_event(
                state,
                [(_more(state, 0, places), arrival), (_less(state, 0), serves * busy + leaves * (n - busy))],
            )
            lost = leaves * (n - busy) + arrival * (n == places)
            choices[str(clerks)] = (distribution, 3 * serves * busy - 5 * lost - 0.15 * clerks)
        return choices

    return mdp_from_start(rule, (0,))


def shared_channel(stations: int = 12, arrival: float = 0.02) -> TabularMDP:
    """Slotted Aloha: with which probability stations that have a packet send; two at once destroy each other's."""
    stations, arrival = whole_number("stations", stations), between("arrival", arrival)
    sending = {"1/12": 1 / 12, "1/6": 1 / 6, "1/3": 1 / 3, "1/2": 1 / 2, "1": 1.0}

    def rule(state: StateTuple) -> Effects:
        (n,) = state
        new = binomial(stations - n, arrival)
        choices = {}
        for name, p in sending.items():
            through = n * p * (1 - p) ** (n - 1) if n else 0.0
            outcomes = [((n + k - sent,), q * chance) for k, q in enumerate(new)
                        for sent, chance in ((1, through), (0, 1 - through))]  # fmt: skip
            choices[name] = (mixed(outcomes), through)
        return choices

    return mdp_from_start(rule, (0,))


def binomial(n: int, p: float) -> list[float]:
    """P(k of n), each on its own with probability p."""
    prob = [1.0]
    for _ in range(n):
        prob = [stays * (1 - p) + comes * p for stays, comes in zip([*prob, 0.0], [0.0, *prob], strict=True)]
    return prob


def _more(state: StateTuple, k: int, most: int) -> StateTuple:
    """One more in place k, if there is room."""
    return (*state[:k], min(state[k] + 1, most), *state[k + 1 :])


def _less(state: StateTuple, k: int) -> StateTuple:
    """One less in place k, if there is one."""
    return (*state[:k], max(state[k] - 1, 0), *state[k + 1 :])
