"""Queues: whom to admit to a few servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.model.reward_distributions import unit_map
from equirl.model.rows import rows_from_triplets
from equirl.numerics.arrays import starts
from equirl.words.checking import between, inside, whole_number
from equirl.words.formatting import shown
from equirl.worlds.rules import Effects, StateTuple, mdp_from_rules


def access_control(n_servers: int = 10, payments: str | Sequence[float] = "1/2/4/8", free: float = 0.06) -> TabularMDP:
    """Access control (Sutton and Barto, example 10.2): accept or reject the customer at the head of a queue.

    The queue never empties; the next customer's payment is any of ``payments`` with equal probability. One who is
    accepted pays and takes a server; then each busy server becomes free on its own. Without a free server the customer
    can only be rejected. States are named "free servers,payment"; the first has all servers free and is drawn over
    the payments.

    The optimal gain is 2.748 a step in the units of the payments. The book prints 2.31, the last value of an estimate
    that its learner keeps while it explores; with the book's step size such values scatter by 0.2 around 2.6.

    What follows depends on how many servers are free after the decision alone, so the transition probabilities have
    ``n_servers + 1`` classes, whatever the customers pay.

    Parameters
    ----------
    n_servers : int, default 10
        How many servers there are.
    payments : str or sequence of float, default "1/2/4/8"
        What customers pay, as numbers or as text with ``/``; mapped to [0, 1], with 0 for a rejected one.
    free : float, default 0.06
        Probability that a busy server becomes free in one step.
    """
    n_servers = whole_number("n_servers", n_servers, least=1)
    pays = _amounts("payments", payments, "1/2/4/8")
    after = _free_after(n_servers, between("free", free))  # (n + 1, n + 1)

    accept, reject = 0, 1
    head = [(k, c) for k in range(n_servers + 1) for c in range(len(pays))]
    keys = [(k, c, a) for k, c in head for a in ((accept, reject) if k else (reject,))]
    names = tuple(f"{k},{pays[c]:g}" for k, c in head)
    ptr = starts([2 if k else 1 for k, _ in head])
    pairs = Pairs(ptr, np.array([a for _, _, a in keys]), names, ("accept", "reject"))

    distribution = np.array([after[k - (a == accept)] for k, _, a in keys])  # (M, n + 1), of the free servers
    prob = np.repeat(distribution, len(pays), axis=1) / len(pays)
    pair, succ = np.nonzero(prob)
    rows = rows_from_triplets(pairs, pair, succ, prob[pair, succ])
    scale, shift = unit_map(np.array([0.0, *pays]))
    paid = np.array([pays[c] if a == accept else 0.0 for _, c, a in keys])
    initial = np.where(np.arange(len(head)) >= n_servers * len(pays), 1 / len(pays), 0.0)
    return TabularMDP(pairs, rows, (paid - shift) / scale, initial, reward_map=(scale, shift))


def admission(
    n_servers: int = 4,
    n_places: int = 12,
    arrivals: str | Sequence[float] = "1/1/1",
    payments: str | Sequence[float] = "1/3/9",
    service: float = 0.5,
    waiting: float = 0.2,
) -> TabularMDP:
    """Admission of customer classes to a queue in continuous time (M/M/k/N), uniformised.

    Customers of class i arrive at rate ``arrivals[i]`` and pay ``payments[i]`` if they are admitted; each of
    ``n_servers`` serves at rate ``service``; up to ``n_places`` customers are there at once, and each that waits costs
    ``waiting`` for a unit of time. A step lasts 1 / rate on average, with rate = the sum of the arrival rates +
    n_servers * service, the same in all states: so the gain times that rate is what is earned in a unit of time. A
    state is how many customers there are and who is at the door, named "5,1" for a customer of the first class and
    "5,-" for nobody; the first is an empty queue with a customer of the first class at the door. Nobody, and whoever
    comes to a full queue, can only be rejected.

    Unlike in :func:`access_control` customers come and go in continuous time and may wait. What follows depends on how
    many are there after the decision, and that only through the busy servers: all queues behind them are alike. And an
    idle server does nothing as often as a busy one finishes, so b and n_servers - b busy servers are alike too: the
    transition probabilities have n_servers // 2 + 1 classes.

    With one class of customers, no places to wait and free service the gain is Erlang's: rate times gain = arrivals *
    payment * (1 - B), where B is the probability that all servers are busy.

    Parameters
    ----------
    n_servers : int, default 4
        How many servers.
    n_places : int, default 12
        The most customers at once, those in service included; at least ``n_servers``.
    arrivals : str or sequence of float, default "1/1/1"
        Arrival rates of the classes, as numbers or as text with ``/``.
    payments : str or sequence of float, default "1/3/9"
        What a customer of each class pays.
    service : float, default 0.5
        The rate at which a busy server finishes.
    waiting : float, default 0.2
        What a waiting customer costs in a unit of time.
    """
    n_servers = whole_number("n_servers", n_servers)
    n_places = whole_number("n_places", n_places, least=n_servers)
    rates, pays = _amounts("arrivals", arrivals, "1/1/1"), _amounts("payments", payments, "1/3/9")
    if len(rates) != len(pays):
        raise ValueError(f"arrivals has {len(rates)} numbers and payments {len(pays)}: one of each per class")
    service, waiting = inside("service", service, 0, 1e6), between("waiting", waiting, 0, 1e6)
    rate = sum(rates) + n_servers * service
    doors = range(len(pays) + 1)  # 0: nobody

    def wait(there: int) -> float:
        return waiting * max(0, there - n_servers) / rate

    def follows(there: int) -> dict[StateTuple, float]:
        busy = min(there, n_servers)
        distribution: dict[StateTuple, float] = {(there, door): rates[door - 1] / rate for door in doors[1:]}
        distribution[there, 0] = (n_servers - busy) * service / rate
        return distribution | ({(there - 1, 0): busy * service / rate} if busy else {})

    def rule(state: StateTuple) -> Effects:
        there, door = state
        choices = {"reject": (follows(there), -wait(there))}
        if door and there < n_places:
            choices["admit"] = (follows(there + 1), pays[door - 1] - wait(there + 1))
        return choices

    states = [(there, door) for there in range(n_places + 1) for door in doors]
    every = mdp_from_rules(states, ("admit", "reject"), rule, (0, 1), names=lambda s: f"{s[0]},{s[1] or '-'}")
    return every.restrict_to_reachable()  # a full queue with nobody at the door is never seen


def _free_after(n_servers: int, free: float) -> np.ndarray:
    """(n + 1, n + 1) from servers free after a decision to servers free at the next one: busy ones, each on its own."""
    from scipy.stats import binom

    distribution = np.zeros((n_servers + 1, n_servers + 1))
    for k in range(n_servers + 1):
        distribution[k, k:] = binom.pmf(np.arange(n_servers - k + 1), n_servers - k, free)
    return distribution


def _amounts(name: str, given: Any, example: str) -> list[float]:
    try:
        numbers = [float(part) for part in (given.split("/") if isinstance(given, str) else given)]
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, such as {example}, not {shown(given)}") from None
    if not numbers or min(numbers) < 0 or max(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be at least 0 and one of them more, not {shown(given)}")
    return numbers
