"""Playing learners in known MDPs: ``simulate`` (one run, a ``Trace``), ``live_run`` (the same, stretch by stretch),
``rollout`` (the compiled inside of a stretch), ``curves`` (named measures at checkpoints, the one container from a run
to a study).

Of a learner only its contract is known (``learners.contract``).
"""
