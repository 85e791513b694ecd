"""Agents that are kept: saved to a file, or in a folder with a journal that goes on after a crash.

In reading order: ``saving`` (one file), ``journal_files`` (a folder's files), ``journal_recovery`` (reading them),
``journal`` (``open_agent``).
"""
