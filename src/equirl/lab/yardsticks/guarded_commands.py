"""Models written as commands: what may happen in a state, and where it leads; states are found by exploring.

The models are those of QComp's benchmark set, written anew from their descriptions. A state is a tuple; a command is
(probabilities of next states, what it costs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod
from typing import Any

from equirl.model import TabularMDP

State = tuple[Any, ...]
Command = tuple[dict[State, float], float]


def explored(first: State, commands: Callable[[State], Iterable[Command]]) -> TabularMDP:
    """The MDP of all that can be reached from a state; where nothing may happen one stays."""
    numbers, states, pairs = {first: 0}, [first], []
    for s, state in enumerate(states):  # it grows
        for a, (law, cost) in enumerate(commands(state) or [({state: 1.0}, 0.0)]):
            for x in law:
                if x not in numbers:
                    numbers[x] = len(states)
                    states.append(x)
            pairs.append((s, a, {numbers[x]: p for x, p in law.items()}, cost))
    return TabularMDP.from_costs(pairs, n_states=len(states), state_names=states)


def firewire(delay: int, counts: str) -> TabularMDP:
    """The abstract root contention protocol of FireWire: (place, clock); what costs is ``time`` or ``rounds``.

    Places: 0 no coin tossed; 1 to 4 one coin (fast first, fast second, slow second, slow first); 5 both fast, 6 and 7
    one of each, 8 both slow; 9 done.
    """
    after = {1: (5, 6), 2: (5, 7), 3: (6, 8), 4: (7, 8)}
    latest = {5: 85, 6: 167, 7: 167, 8: 167}
    agree, again = {5: 76, 6: 159, 7: 159, 8: 159}, {5: 76, 8: 159}

    def commands(state: State) -> list[Command]:
        place, clock = state
        found: list[Command] = []
        if clock < (delay if place < 5 else latest.get(place, 0)):
            found.append(({(place, clock + 1): 1.0}, float(counts == "time")))
        if place == 0:
            paid = float(counts == "rounds")
            found += [({(1, clock): 0.5, (4, clock): 0.5}, paid), ({(2, clock): 0.5, (3, clock): 0.5}, paid)]
        elif place in after:
            found.append(({(x, 0): 0.5 for x in after[place]}, 0.0))
        if place in again and clock >= again[place]:
            found.append(({(0, 0): 1.0}, 0.0))
        if place in agree and clock >= agree[place] - delay:
            found.append(({(9, 0): 1.0}, 0.0))
        return found

    return explored((0, 0), commands)


def gathering(gold: int, gems: int) -> TabularMDP:
    """Resource gathering: (x, y, has gold, has gem, gold wanted, gems wanted); a step costs 1."""
    home, mine, gem, enemies = (3, 1), (3, 5), (5, 4), ((3, 4), (4, 5))

    def commands(state: State) -> list[Command]:
        x, y, has_gold, has_gem, *wanted = state
        found: list[Command] = []
        for to in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if not (1 <= to[0] <= 5 and 1 <= to[1] <= 5):
                continue
            if to == home:
                safe = (*home, False, False, max(0, wanted[0] - has_gold), max(0, wanted[1] - has_gem))
            else:
                safe = (*to, has_gold or to == mine, has_gem or to == gem, *wanted)
            robbed = {(*home, False, False, *wanted): 0.1} if to in enemies else {}
            found.append(({safe: 1.0 - 0.1 * bool(robbed), **robbed}, 1.0))
        return found

    return explored((*home, False, False, gold, gems), commands)


WORK, REST, DEADLINE = {2: 1 / 3, 3: 2 / 3}, {4: 2 / 3, 5: 1 / 3}, {9: 2 / 3, 7: 1 / 3}  # times and their chances


def scheduling(n: int, energy: int, wanted: int = 0) -> TabularMDP:
    """Energy-aware job scheduling: (energy left, user, turbo, too late, done, process, ...); a job on time costs 1.

    Each of ``n`` processes waits (0), works (1) or rests (2) for a time; the scheduler lets one that waits work, with
    or without turbo. Only the first has deadlines and uses energy; its jobs on time are counted up to ``wanted``.
    """

    def commands(state: State) -> list[Command]:
        left, user, turbo, late, done, *processes = state
        place, time = processes[0]
        on_time = left > 0 and place == 1 and time == 0 and not late
        used = {0: 1, 1: 9 if turbo else 3, 2: 2}[place]
        laws = [_process(own, user == i, turbo, DEADLINE if i == 1 else {0: 1.0}) for i, own in enumerate(processes, 1)]
        found: list[Command] = []
        for user_next, turbo_next in _scheduler(user, turbo, processes):
            law: dict[State, float] = {}
            for chosen in product(*(own.items() for own in laws)):
                after = [own for own, _ in chosen]
                late_next = late and after[0][0] == 1
                if place == 0 and user == 1:
                    late_next = after[0][1] >= (1 + turbo) * time
                x = (max(0, left - used), user_next, turbo_next, late_next, min(wanted, done + on_time), *after)
                law[x] = law.get(x, 0.0) + prod(p for _, p in chosen)
            found.append((law, float(on_time)))
        return found

    return explored((energy, 0, False, False, 0, *((2, 0),) * n), commands)


def _process(own: State, chosen: bool, turbo: bool, deadline: dict[int, float]) -> dict[State, float]:
    """Where a process is after a tick."""
    place, time = own
    if place == 0:
        return {(1, work): p for work, p in WORK.items()} if chosen else {(0, max(0, time - 1)): 1.0}
    if time > 0:
        return {(place, max(0, time - (2 if place == 1 and turbo else 1))): 1.0}
    return {(2, rest): p for rest, p in REST.items()} if place == 1 else {(0, by): p for by, p in deadline.items()}


def _scheduler(user: int, turbo: bool, processes: list[State]) -> list[tuple[int, bool]]:
    """Who may work after a tick, and whether with turbo: the one that works until it is done, then any that waits."""
    if user and processes[user - 1] != (1, 0):
        return [(user, turbo)]
    waiting = [i for i, (place, _) in enumerate(processes, 1) if place == 0]
    return [(i, fast) for i in waiting for fast in (False, True)] or [(0, False)]


ROADS = "0-12 0-16 1-2 1-3 3-4 3-13 3-14 5-8 5-10 5-16 6-14 7-9 7-13 8-9 9-12 9-16 10-12 10-13 11-16 12-16 13-15 14-16"
SPARES = (4, 5, 7, 8, 10, 12, 16)


def tireworld() -> TabularMDP:
    """The first Tireworld of the planning competition of 2006: (place, flat tire, has a spare, spares left)."""
    edges = [tuple(map(int, road.split("-"))) for road in ROADS.split()]
    roads = {n: [b for a, b in edges if a == n] + [a for a, b in edges if b == n] for n in range(17)}

    def commands(state: State) -> list[Command]:
        place, flat, has_spare, left = state
        found: list[Command] = []
        if not flat:
            found += [({(x, False, has_spare, left): 0.6, (x, True, has_spare, left): 0.4}, 0.0) for x in roads[place]]
        if place in left:
            found.append(({(place, flat, True, tuple(x for x in left if x != place)): 1.0}, 0.0))
        if has_spare:
            found.append(({(place, False, False, left): 1.0}, 0.0))
        return found

    return explored((2, False, False, SPARES), commands)


def wlan(counts: str) -> TabularMDP:
    """Two stations of a wireless LAN without back-off: (channel, channel, station, station), a station being
    (clock, place, back-off). What costs is ``time``, ``cost`` or ``collisions``.

    Both stations must let time pass together; sending and finishing are a station's and the channel's. Places: 1
    sense, 2 wait until free, 3 wait before backing off, 4 draw a back-off, 5 back off, 6 and 7 the same while the
    channel is used, 8 about to send, 9 send, 10 wait for an acknowledgement, 11 for none, 12 done.
    """

    def commands(state: State) -> list[Command]:
        channel, stations = list(state[:2]), list(state[2:])
        moves = [_station(stations[i], channel[i], channel[1 - i]) for i in (0, 1)]
        found: list[Command] = []
        passing = [[law for label, law in moves[i] if label == "time"] for i in (0, 1)]
        for one, two in product(*passing):
            law = {(*channel, a, b): p * q for a, p in one.items() for b, q in two.items()}
            found.append((law, {"time": 50.0, "cost": _channel_cost(*channel)}.get(counts, 0.0)))
        for i in (0, 1):
            for label, law in moves[i]:
                after, paid = list(channel), 0.0
                if label == "time" or (label == "send" and channel[i] > 0) or (label == "finish" and channel[i] == 0):
                    continue
                if label == "send":
                    crash = channel[1 - i] > 0
                    after = [2, 2] if crash else [int(k == i) for k in (0, 1)]
                    paid = float(crash and counts == "collisions")
                elif label == "finish":
                    after[i] = 0
                found.append(({(*after, *_put(stations, i, own)): p for own, p in law.items()}, paid))
        return found

    return explored((0, 0, (0, 1, 0), (0, 1, 0)), commands)


def _put(stations: list[State], i: int, own: State) -> list[State]:
    return [own if k == i else other for k, other in enumerate(stations)]


def _channel_cost(one: int, two: int) -> float:
    """What a unit of time costs: 50 when nothing is sent, 500 for a message, 1000 for two."""
    return 50.0 if one == two == 0 else 500.0 * ((one > 0) + (two > 0))


DIFS, TRANSMIT, ACKNOWLEDGED, NO_ANSWER = 3, (4, 10), 4, 6  # units of 50 microseconds


def _station(own: State, channel: int, other: int) -> list[tuple[str, dict[State, float]]]:
    """What a station may do: (time, send, finish or alone; probabilities of its next states)."""
    clock, place, wait = own
    free = channel == other == 0
    found: list[tuple[str, dict[State, float]]] = []

    def may(label: str, to: int, x: int = 0, left: int = wait) -> None:
        found.append((label, {(x, to, left): 1.0}))

    waits = clock in (DIFS - 1, DIFS)
    if place in (1, 3, 7):
        if clock < DIFS and free:
            may("time", place, clock + 1)
        if waits:
            may("alone", {1: 8, 3: 4, 7: 5}[place])
        if not free:
            may("alone", {1: 2, 3: 2, 7: 6}[place])
    elif place in (2, 6):
        if free:
            may("alone", place + 1, clock)
        else:
            may("time", place, clock)
    elif place == 4:
        found.append(("alone", {(clock, 5, k): 1 / 16 for k in range(16)}))
    elif place == 5:
        if clock < 1 and free:
            may("time", 5, clock + 1)
        if clock == 1:
            may("alone", 5 if wait else 8, 0, max(0, wait - 1))
        if not free:
            may("alone", 6)
    elif place == 8:
        if clock < 1:
            may("time", 8, clock + 1)
        may("send", 9)
    elif place == 9:
        if clock < TRANSMIT[1]:
            may("time", 9, clock + 1)
        if clock >= TRANSMIT[0] and channel:
            may("finish", 10 if channel == 1 else 11)
    elif place == 10:
        if channel == 0 and clock == 0 and not free:
            may("alone", 2)
        if channel == 0 and clock == 0 and free:
            may("time", 10, 1)
        if channel == 0 and (clock == 1 or (clock == 0 and free)):
            may("send", 10)
        if channel == 1 and clock < ACKNOWLEDGED:
            may("time", 10, clock + 1)
        if channel == 1 and clock in (ACKNOWLEDGED - 1, ACKNOWLEDGED):
            may("finish", 12)
    elif place == 11:
        if clock == 0 and not free:
            may("alone", 2)
        if (clock == 0 and free) or 0 < clock < NO_ANSWER:
            may("time", 11, clock + 1)
        if clock == NO_ANSWER:
            may("alone", 3)
    else:
        may("time", 12, clock)
    return found
