"""The paper's bounds as functions (docs/definitions.md, "Bounds").

S states, A actions, M pairs, C classes, D the diameter (at least 1), T steps, delta the risk.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equirl.estimation.confidence import log_events, weissman
from equirl.words.checking import above, between, inside, real_array, whole_number
from equirl.words.formatting import shown

MOST_VISITS = 10**300  # a float can still hold it
Number = float | np.ndarray


@np.errstate(over="ignore")  # beyond all numbers a bound is infinite
def theorem1_bound(D: float, S: int, C: int, T: Any, delta: float = 0.05) -> Number:
    """Theorem 1, regret of C-UCRL(C,sigma): 18 D sqrt(C T (S + log(2 C sqrt(T+1)/delta))) + D C log2(8T/C).

    Holds with probability 1 - 3 delta (known rewards) or 1 - 4 delta, for T >= C. The factor D of the first term is
    the proof's; the printed theorem loses it.

    Parameters
    ----------
    D : float
        The diameter, at least 1.
    S, C : int
        The number of states and of classes.
    T : int or array_like
        Steps, at least C; an array gives an array.
    delta : float, default 0.05
        The risk.

    Examples
    --------
    >>> round(theorem1_bound(D=10, S=5, C=2, T=1000))
    29080
    """
    D, S, delta = between("D", D, 1, math.inf), whole_number("S", S), inside("delta", delta)
    T = _times(T, C)
    log_term = np.log(2 * C * np.sqrt(T + 1)) - math.log(delta)
    return _plain(18 * D * np.sqrt(C * T * (S + log_term)) + D * n_episodes_bound(C, T))


@np.errstate(over="ignore")
def ucrl2_bound(D: float, S: int, A: int, T: Any, delta: float = 0.05) -> Number:
    """UCRL2's regret (Jaksch et al. 2010, Theorem 2): 34 D S sqrt(A T log(T/delta)).

    Parameters
    ----------
    D : float
        The diameter, at least 1.
    S, A : int
        The number of states, and of actions in each.
    T : int or array_like
        Steps, at least 1; an array gives an array.
    delta : float, default 0.05
        The risk.
    """
    D, S, A = between("D", D, 1, math.inf), whole_number("S", S), whole_number("A", A)
    delta = inside("delta", delta)
    T = _times(T, 1)
    return _plain(34 * D * S * np.sqrt(A * T * (np.log(T) - math.log(delta))))


@np.errstate(over="ignore")
def n_episodes_bound(C: int, T: Any) -> Number:
    """Lemma 4: C-UCRL(C,sigma) starts at most C log2(8T/C) episodes in T >= C steps.

    Parameters
    ----------
    C : int
        The number of classes.
    T : int or array_like
        Steps, at least C; an array gives an array.

    Examples
    --------
    >>> n_episodes_bound(6, 48)
    36.0
    """
    T = _times(T, C)
    return _plain(C * np.log2(8 * T / C))


@np.errstate(over="ignore")
def azuma_width(T: Any, delta: float = 0.05, c: float = 1.0) -> Number:
    """Time-uniform Azuma-Hoeffding: sums of T martingale differences in [-c, c] stay below this for all T at once.

    c sqrt(2 (T+1) log(sqrt(T+1)/delta)), with probability 1 - delta.

    Parameters
    ----------
    T : int or array_like
        Steps, at least 1; an array gives an array.
    delta : float, default 0.05
        The risk.
    c : float, default 1
        The bound on one difference.
    """
    delta, c = inside("delta", delta), inside("c", c, 0, math.inf)
    T = _times(T, 1)
    return _plain(c * np.sqrt(2 * (T + 1) * (0.5 * np.log(T + 1) - math.log(delta))))


def proposition1_samples(separation: float, n_states: int, n_pairs: int, delta: float = 0.05) -> int:
    """Proposition 1: the smallest n with 4 beta_n(delta/M) <= Delta; with more visits of every pair, classes are found.

    Parameters
    ----------
    separation : float
        Delta, the smallest L1 distance between profiles of two classes.
    n_states, n_pairs : int
        The number of states and of pairs.
    delta : float, default 0.05
        The risk.

    Examples
    --------
    >>> n = proposition1_samples(0.5, n_states=10, n_pairs=20)
    >>> [4 * weissman(m, log_events(10), math.log(0.05 / 20)) <= 0.5 for m in (n - 1, n)]
    [False, True]
    """
    separation, delta = above("separation", separation, 0, "is one class alone"), inside("delta", delta)
    n_states, n_pairs = whole_number("n_states", n_states), whole_number("n_pairs", n_pairs)
    events, log_level = log_events(n_states), math.log(delta) - math.log(n_pairs)

    def found(n: int) -> bool:
        return 4 * weissman(float(n), events, log_level) <= separation

    if not found(MOST_VISITS):
        raise ValueError(f"separation {separation:g} is too small: more than 10^300 visits of every pair are needed")
    high = 1
    while not found(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _times(T: Any, C: Any) -> np.ndarray:
    times, least = real_array("T", T), whole_number("C", C)
    if not (times >= least).all():
        raise ValueError(f"T must be at least {least} (the bound asks for T >= C), not {shown(T)}")
    return times


def _plain(value: Any) -> Number:
    return float(value) if np.ndim(value) == 0 else value
