"""From a log of transitions to what it says: counts with names, classes, a policy and how sure they are.

In reading order: ``csv_fields`` (compiled: fields, names and numbers of a CSV file), ``csv_header`` (what kind of file
it is, the names of its columns), ``csv_columns`` (its columns), ``log_roles`` (which column is which, how cells are
named in messages), ``log_files`` (CSV and Parquet), ``spellings`` (one number written in two ways), ``log_columns``
(columns of whatever holds a log: files, data frames, arrays,
lists), ``log_counts`` (from rows to counts), ``log`` (``from_log``, ``Log``:
the counts, warm starts, the estimated problem, what it cannot say), ``log_classes`` (``classes_of``),
``log_policy`` (``learn``), ``next_steps`` (where more steps are best spent) and ``structure_check``
(``check_structure``: what it refutes).
"""
