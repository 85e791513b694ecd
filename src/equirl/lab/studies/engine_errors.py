"""Why runs cannot be computed: the machinery, not a run, is at fault."""

from __future__ import annotations

SCHEDULER_LOST = "the scheduler went away. Finished runs are safe; give the same command again"


class EngineError(RuntimeError):
    """The machinery that computes runs could not be started or went away."""
