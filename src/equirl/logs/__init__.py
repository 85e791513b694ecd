"""From a log of transitions to counts with names, classes, a policy, and how sure they are.

In reading order: ``csv_columns``, ``log_files`` (CSV and Parquet), ``log_columns`` (the columns of files, data
frames, arrays and lists), ``log`` (the counts; agents that start from them), ``log_classes``, ``log_policy``,
``next_steps`` (where more steps are best spent), ``structure_check`` (what refutes given classes).
"""
