"""From what was seen to estimates, and every bound once. Nothing here knows of learners or of planning.

In reading order: ``counts`` (what was seen, by pair), ``pooling`` (estimates by pair or class), ``confidence`` (the
paper's radii), ``variance_radius`` (means by their variance), ``bernstein``, ``kl_radius``, ``ucrl3_bounds`` (the
bounds of UCRL2-B, KL-UCRL and UCRL3), ``kl_inf`` (IMED's index and lower bounds), ``given_knowledge`` (classes,
profiles and means given in advance), ``refutation`` (tests of given classes).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.estimation.confidence import log_events as log_events, weissman as weissman
    from equirl.estimation.counts import Snapshot as Snapshot
    from equirl.estimation.pooling import (
        PLACEMENTS as PLACEMENTS,
        ClassCounts as ClassCounts,
        Placed as Placed,
        Placement as Placement,
        place_in_order as place_in_order,
    )
else:
    EXPORTS = {
        "confidence": "log_events weissman",
        "counts": "Snapshot",
        "pooling": "ClassCounts PLACEMENTS Placed Placement place_in_order",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
