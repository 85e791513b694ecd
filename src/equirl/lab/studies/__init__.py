"""Studies: many runs, planned in a TOML file, computed anywhere, kept one file per run, and read together.

In the order of a study: ``study_file`` (TOML to a validated ``StudyFile``), ``run_specs`` (what one run is),
``expansion`` (all runs of a study), ``runs`` (one run computed), ``store`` (their files), ``saved_agents`` (agents as
runs leave them), ``plan_file`` (the runs that a folder is meant to hold), ``engines`` (processes, dask, Slurm),
``progress`` (bars or log lines), ``execution`` (``run_study``, from start to end), ``summary`` (one tidy table, means,
intervals, comparisons). ``python_study`` has all of it in one object, :class:`equirl.Study`. ``compare`` holds
:func:`equirl.simulate_many`, the comparison in one call, without files; it returns a ``tidy_table``.
"""
