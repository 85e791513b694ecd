"""Studies: many runs, planned in a TOML file, computed anywhere, kept one file per run, and read together.

In the order of a study: ``study_file`` (TOML to a validated ``Study``; ``study_errors`` words the mistakes),
``run_specs`` (what one run is), ``expansion`` (all runs of a study), ``runs`` (one run computed), ``store`` (their
files), ``engines`` (processes, dask, Slurm), ``scheduler`` (what is missing goes to an engine), ``progress`` (bars or
log lines), ``execution`` (``run_study``, from start to end), ``summary`` (means, intervals, comparisons), ``export``
(one tidy table). ``compare`` holds :func:`equirl.simulate_many`, the comparison in one call, without files.
"""
