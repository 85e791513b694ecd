"""Playing learners in known MDPs: ``simulate`` (one run, a ``Trace``), ``live_run`` (the same, stretch by stretch),
``rollout`` (the compiled inside of a stretch), ``curves`` (named measures at checkpoints, the one container from a run
to a study).

Of a learner only its contract is known (``learners.contract``).
"""

from typing import TYPE_CHECKING

from equirl.words.exports import lazily

if TYPE_CHECKING:
    from equirl.simulation.curves import (
        CLUSTERING_CURVES as CLUSTERING_CURVES,
        USUAL_CURVES as USUAL_CURVES,
        Curves as Curves,
        half_width as half_width,
        in_usual_order as in_usual_order,
    )
    from equirl.simulation.live_run import LiveRun as LiveRun
    from equirl.simulation.simulated_runs import simulate as simulate
    from equirl.simulation.trace import Trace as Trace, checkpoint_times as checkpoint_times
else:
    EXPORTS = {
        "curves": "CLUSTERING_CURVES Curves USUAL_CURVES half_width in_usual_order",
        "live_run": "LiveRun",
        "simulated_runs": "simulate",
        "trace": "Trace checkpoint_times",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
