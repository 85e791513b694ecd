"""Agents that are kept: saved to a file, or in a folder with a journal that goes on after a crash.

In reading order: ``saving`` (one file), ``journal_files`` (a folder's files), ``journal_recovery`` (reading them),
``journal`` (``open_agent``).
"""

from typing import TYPE_CHECKING

from equirl.words.loading import lazily

if TYPE_CHECKING:
    from equirl.keeping.journal import JournalledAgent as JournalledAgent, open_agent as open_agent
    from equirl.keeping.journal_recovery import (
        DamageWarning as DamageWarning,
        ReplayMismatch as ReplayMismatch,
        Transitions as Transitions,
        read_journal as read_journal,
    )
    from equirl.keeping.saving import load_agent as load_agent
else:
    EXPORTS = {
        "journal": "JournalledAgent open_agent",
        "journal_recovery": "DamageWarning ReplayMismatch Transitions read_journal",
        "saving": "load_agent",
    }
    __getattr__, __dir__, __all__ = lazily(__name__, EXPORTS)
