"""From a log of transitions to counts with names, classes, a policy, and how sure they are.

In reading order: ``csv_columns``, ``log_files`` (CSV and Parquet), ``log_columns`` (the columns of files, data
frames, arrays and lists), ``log`` (the counts; agents that start from them), ``class_differences`` (how different
pairs look, and could have looked), ``log_classes``, ``log_policy``, ``next_steps`` (which decisions are open, and what
they are worth), ``structure_check`` (what refutes given classes).
"""
