"""ApproxEquivalence: estimated classes of pairs from counts (docs/definitions.md, "ApproxEquivalence").

:func:`equirl.clustering.approx_equivalence.approx_equivalence` checks and logs; ``merge_pairs`` beside it is what
learners call every episode. Inside, :mod:`equirl.clustering.merging` sweeps over :mod:`equirl.clustering.clusters`,
looks for partners with :mod:`equirl.clustering.kd_tree` and tests them with :mod:`equirl.clustering.neighbours`.
"""
