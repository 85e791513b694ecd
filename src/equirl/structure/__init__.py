"""Which pairs behave alike: profiles, similarity, exact classes of a known MDP, and how good an estimate of them is.

``similarity`` sorts transition probabilities into profiles, ``equivalence`` finds the classes, ``partition`` holds
them, ``quality`` compares two partitions.
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.structure.class_summary import summarise_class as summarise_class
    from equirl.structure.equivalence import equivalence_classes as equivalence_classes, separation as separation
    from equirl.structure.matching import match_classes as match_classes
    from equirl.structure.partition import Partition as Partition
    from equirl.structure.quality import (
        misclustering_bias as misclustering_bias,
        misclustering_ratio as misclustering_ratio,
    )
    from equirl.structure.similarity import (
        Profiles as Profiles,
        profile_distance as profile_distance,
        profiles as profiles,
        similar as similar,
    )
else:
    EXPORTS = {
        "class_summary": "summarise_class",
        "equivalence": "equivalence_classes separation",
        "matching": "match_classes",
        "partition": "Partition",
        "quality": "misclustering_bias misclustering_ratio",
        "similarity": "Profiles profile_distance profiles similar",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
