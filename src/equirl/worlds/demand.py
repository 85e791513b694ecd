"""Demand in whole units, of which no more is met than there is in stock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equirl.words.checking import inside

MOST_MEAN = 1e6


class Demand(NamedTuple):
    """The distribution of a demand D.

    Parameters
    ----------
    above : ndarray of float, shape (n,)
        P(D > k) for k = 0, ..., n - 1; n is the largest stock asked for.
    mean : float
        E D.
    """

    above: np.ndarray  # (n,)
    mean: float

    def sales(self, stock: int) -> list[float]:
        """The probabilities of selling 0, 1, ..., ``stock``.

        Parameters
        ----------
        stock : int
            How much there is to sell.

        Returns
        -------
        list of float, of length stock + 1
        """
        at_least = np.concatenate([[1.0], self.above[:stock], [0.0]])
        return (at_least[:-1] - at_least[1:]).tolist()

    def lost(self, stock: int) -> float:
        """The demand that is lost on average, E max(D - stock, 0).

        Parameters
        ----------
        stock : int
            How much there is to sell.

        Returns
        -------
        float
        """
        return self.mean - float(self.above[:stock].sum())


def poisson_demand(mean: float, most: int) -> Demand:
    """Poisson demand.

    Parameters
    ----------
    mean : float
        Its mean, positive.
    most : int
        The largest stock.

    Returns
    -------
    Demand

    Examples
    --------
    >>> [round(p, 3) for p in poisson_demand(1.0, 2).sales(2)]
    [0.368, 0.368, 0.264]
    """
    from scipy.stats import poisson

    return Demand(poisson.sf(np.arange(most), inside("mean", mean, 0, MOST_MEAN)), mean)


def geometric_demand(mean: float, most: int) -> Demand:
    """Geometric demand from 0 on, P(D > k) = (mean / (1 + mean))^(k + 1).

    Parameters
    ----------
    mean : float
        Its mean, positive.
    most : int
        The largest stock.

    Returns
    -------
    Demand

    Examples
    --------
    >>> geometric_demand(1.0, 2).sales(2)
    [0.5, 0.25, 0.25]
    """
    more = inside("mean", mean, 0, MOST_MEAN) / (1 + mean)
    return Demand(more ** (np.arange(most) + 1.0), mean)


def gamma_demand(mean: float, variation: float, most: int) -> Demand:
    """Gamma demand rounded to the nearest whole number.

    Parameters
    ----------
    mean : float
        The mean before rounding, positive.
    variation : float
        The standard deviation before rounding, divided by the mean; positive.
    most : int
        The largest stock.

    Returns
    -------
    Demand

    Examples
    --------
    >>> round(gamma_demand(4.0, 0.5, 10).mean, 3)
    4.0
    """
    from scipy.stats import gamma

    shape = inside("variation", variation, 0, 10) ** -2
    law = gamma(shape, scale=inside("mean", mean, 0, 1000) / shape)
    above = law.sf(np.arange(max(most, int(law.isf(1e-18)) + 2)) + 0.5)
    return Demand(above[:most], float(above.sum()))
