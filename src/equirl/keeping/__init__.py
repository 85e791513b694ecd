"""Learners that are kept: saved to a file, or in a folder with a journal that goes on after a crash.

``saving`` (one file), ``comparing`` (whether two are the same), ``journal`` (``open_agent``), ``journalled_agent``
(what is driven), ``journal_sync`` (when it is forced to disk), ``journal_folder`` and ``journal_records`` (its files),
``journal_recovery`` and ``journal_log`` (reading them).
"""
