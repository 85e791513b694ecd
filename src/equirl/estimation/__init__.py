"""From what was seen to estimates, and every bound once.

``counts`` holds what was seen, by pair; ``class_counts`` adds it up over classes; ``pooling`` makes estimates of both,
with ``placements`` for mass that a pair has not seen yet.

``confidence`` holds the radii of the paper; further bounds stand in files of their own (``bernstein``, ``kl_radius``,
``ucrl3_bounds``, ``kl_inf``). ``refutation`` tests whether pairs are alike as stated.
Nothing here knows of learners or of planning.
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.estimation.class_counts import ClassCounts as ClassCounts
    from equirl.estimation.confidence import log_events as log_events, weissman as weissman
    from equirl.estimation.counts import Snapshot as Snapshot
    from equirl.estimation.placements import (
        PLACEMENTS as PLACEMENTS,
        Placed as Placed,
        Placement as Placement,
        place_in_order as place_in_order,
    )
else:
    EXPORTS = {
        "class_counts": "ClassCounts",
        "confidence": "log_events weissman",
        "counts": "Snapshot",
        "placements": "PLACEMENTS Placed Placement place_in_order",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
