"""Queues: whom to admit to a few servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equirl.core.arrays import starts
from equirl.core.checking import between, whole_number
from equirl.core.formatting import shown
from equirl.model.mdp import TabularMDP
from equirl.model.pairs import Pairs
from equirl.model.reward_laws import unit_map
from equirl.model.transition_rows import rows_from_triplets


def access_control(n_servers: int = 10, payments: str | Sequence[float] = "1/2/4/8", free: float = 0.06) -> TabularMDP:
    """Access control (Sutton and Barto, example 10.2): accept or reject the customer at the head of a queue.

    The queue never empties; the next customer's payment is any of ``payments`` with equal probability. One who is
    accepted pays and takes a server; then each busy server becomes free on its own. Without a free server the customer
    can only be rejected. States are named "free servers,payment"; the first has all servers free and is drawn over
    the payments.

    The optimal gain is 2.748 a step in the units of the payments. The book prints 2.31 for its learner;
    two independent solutions of the rules as stated here give 2.748.

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

    Returns
    -------
    TabularMDP
        ``mdp.reward_map`` leads back to the payments.

    Examples
    --------
    >>> queue = access_control()
    >>> queue.n_states, queue.n_pairs, queue.reward_map
    (44, 84, (8.0, 0.0))
    """
    n_servers = whole_number("n_servers", n_servers, least=1)
    pays = _payments(payments)
    after = _free_after(n_servers, between("free", free))  # (n + 1, n + 1)

    accept, reject = 0, 1
    head = [(k, c) for k in range(n_servers + 1) for c in range(len(pays))]
    keys = [(k, c, a) for k, c in head for a in ((accept, reject) if k else (reject,))]
    names = tuple(f"{k},{pays[c]:g}" for k, c in head)
    ptr = starts([2 if k else 1 for k, _ in head])
    pairs = Pairs(ptr, np.array([a for _, _, a in keys]), names, ("accept", "reject"))

    law = np.array([after[k - (a == accept)] for k, _, a in keys])  # (M, n + 1), of the free servers
    prob = np.repeat(law, len(pays), axis=1) / len(pays)
    pair, succ = np.nonzero(prob)
    rows = rows_from_triplets(pairs, pair, succ, prob[pair, succ])
    scale, shift = unit_map(np.array([0.0, *pays]))
    paid = np.array([pays[c] if a == accept else 0.0 for _, c, a in keys])
    initial = np.where(np.arange(len(head)) >= n_servers * len(pays), 1 / len(pays), 0.0)
    return TabularMDP(pairs, rows, (paid - shift) / scale, initial, reward_map=(scale, shift))


def _free_after(n_servers: int, free: float) -> np.ndarray:
    """(n + 1, n + 1) from servers free after a decision to servers free at the next one: busy ones, each on its own."""
    from scipy.stats import binom

    law = np.zeros((n_servers + 1, n_servers + 1))
    for k in range(n_servers + 1):
        law[k, k:] = binom.pmf(np.arange(n_servers - k + 1), n_servers - k, free)
    return law


def _payments(payments: Any) -> list[float]:
    try:
        numbers = [float(part) for part in (payments.split("/") if isinstance(payments, str) else payments)]
    except (TypeError, ValueError):
        raise ValueError(f"payments must be numbers, such as 1/2/4/8, not {shown(payments)}") from None
    if not numbers or min(numbers) < 0 or max(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(f"payments must be at least 0 and one of them more, not {shown(payments)}")
    return numbers
