"""Seeds: from what a user gives to the one object that all generators of a run are spawned from."""

from __future__ import annotations

import math

import numpy as np

from equirl.words.checking import whole_number

Seed = int | np.random.SeedSequence


def seed_sequence(name: str, seed: Seed) -> np.random.SeedSequence:
    """A sequence of its own to spawn from: a caller's is copied, so that the same one gives the same run twice.

    There is no "any seed will do" (None): a run is a function of its arguments.
    """
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(
            seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size, n_children_spawned=seed.n_children_spawned
        )
    return np.random.SeedSequence(whole_number(name, seed, least=0, most=math.inf))


def put_back(rng: np.random.Generator, n: int) -> None:
    """Take back the last n uniform numbers drawn from a generator of NumPy's default kind: they come again.

    >>> rng = np.random.default_rng(0)
    >>> drawn = rng.random(5)
    >>> put_back(rng, 2)
    >>> bool((rng.random(2) == drawn[3:]).all())
    True
    """
    if n:
        assert isinstance(rng.bit_generator, np.random.PCG64)
        rng.bit_generator.advance(-n)
