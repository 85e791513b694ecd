"""Which pairs behave alike: profiles, similarity, exact classes of a known MDP, and how good an estimate of them is.

:mod:`equirl.structure.profiles` sorts transition probabilities, :mod:`equirl.structure.equivalence` finds the classes,
:class:`equirl.structure.partition.Partition` holds them, and :mod:`equirl.structure.quality` compares two partitions.
"""
