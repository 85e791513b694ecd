"""Playing learners in known MDPs; of a learner only its contract is known (``learners.contract``).

In reading order: ``simulated_runs`` (``simulate``, and ``LiveRun``, the same stretch by stretch), ``rollout`` (the
compiled inside of a stretch), ``trace`` (what is recorded), ``curves`` (named measures at checkpoints, from one run to
a study), ``until`` (what ends a run early).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.simulation.curves import (
        CLUSTERING_CURVES as CLUSTERING_CURVES,
        USUAL_CURVES as USUAL_CURVES,
        Curves as Curves,
        half_width as half_width,
        in_usual_order as in_usual_order,
    )
    from equirl.simulation.simulated_runs import LiveRun as LiveRun, simulate as simulate
    from equirl.simulation.trace import Trace as Trace, checkpoint_times as checkpoint_times
else:
    EXPORTS = {
        "curves": "CLUSTERING_CURVES Curves USUAL_CURVES half_width in_usual_order",
        "simulated_runs": "LiveRun simulate",
        "trace": "Trace checkpoint_times",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
