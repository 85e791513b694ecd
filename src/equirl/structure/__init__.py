"""Which pairs behave alike: profiles, similarity, exact classes of a known MDP, and how good an estimate of them is.

In reading order: ``similarity`` (transition probabilities sorted into profiles), ``partition`` (classes),
``equivalence`` (the classes of a known MDP), ``quality`` (two partitions compared).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.structure.equivalence import (
        equivalence_classes as equivalence_classes,
        separation as separation,
        summarise_class as summarise_class,
    )
    from equirl.structure.partition import Partition as Partition
    from equirl.structure.quality import (
        match_classes as match_classes,
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
        "equivalence": "equivalence_classes separation summarise_class",
        "partition": "Partition",
        "quality": "match_classes misclustering_bias misclustering_ratio",
        "similarity": "Profiles profile_distance profiles similar",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
