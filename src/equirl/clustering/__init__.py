"""ApproxEquivalence: estimated classes of pairs from counts (docs/definitions.md, "ApproxEquivalence").

:func:`equirl.clustering.approximate_equivalence.approx_equivalence` checks and logs; ``merge_pairs`` beside it is what
learners call every episode. Inside, :mod:`equirl.clustering.merging` sweeps over :mod:`equirl.clustering.clusters`,
looks for partners with :mod:`equirl.clustering.kd_tree` and tests them with :mod:`equirl.clustering.neighbours`.
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.clustering.approximate_equivalence import NEARNESS as NEARNESS, approx_equivalence as approx_equivalence
    from equirl.clustering.clusters import Rules as Rules
else:
    EXPORTS = {
        "approximate_equivalence": "NEARNESS approx_equivalence",
        "clusters": "Rules",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
