"""From a log of transitions to counts with names, classes, a policy, and how sure they are.

In reading order: ``csv_columns``, ``log_files`` (CSV and Parquet), ``log_columns`` (the columns of files, data
frames, arrays, lists and Minari's sets), ``log`` (the counts; agents that start from them), ``class_differences`` (how
different pairs look, and could have looked), ``log_classes``, ``safe_improvement`` (better than before for sure),
``log_policy``, ``next_steps`` (which decisions are open, and what they are worth), ``structure_check`` (what refutes
given classes), ``log_estimator`` (``fit`` and ``predict``).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.logs.log import Log as Log, from_log as from_log
    from equirl.logs.log_classes import LogClasses as LogClasses
    from equirl.logs.log_estimator import LogPolicy as LogPolicy, NotFitted as NotFitted
    from equirl.logs.log_policy import Learned as Learned, learn as learn
    from equirl.logs.safe_improvement import SafePolicy as SafePolicy
    from equirl.logs.structure_check import StructureCheck as StructureCheck, check_structure as check_structure
else:
    EXPORTS = {
        "log": "Log from_log",
        "log_classes": "LogClasses",
        "log_estimator": "LogPolicy NotFitted",
        "log_policy": "Learned learn",
        "safe_improvement": "SafePolicy",
        "structure_check": "StructureCheck check_structure",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
