"""ApproxEquivalence: estimated classes of pairs from counts (docs/definitions.md, "ApproxEquivalence").

In reading order: ``approximate_equivalence`` (the algorithm; learners call ``merge_pairs`` every episode), ``clusters``
(pooled profiles, radii, the tests of two neighbours), ``kd_tree`` (the search for partners).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.clustering.approximate_equivalence import NEARNESS as NEARNESS, approx_equivalence as approx_equivalence
    from equirl.clustering.clusters import Rules as Rules
else:
    EXPORTS = {
        "approximate_equivalence": "NEARNESS approx_equivalence",
        "clusters": "Rules",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
