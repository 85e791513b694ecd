"""How often a journal is forced to disk: what may be lost where the machine, not just the process, stops."""

from __future__ import annotations

import math
import time
from typing import Literal

from equirl.words.checking import choice, whole_number

Sync = Literal["always", "second", "os"] | int


class SyncRule:
    """Says when."""

    def __init__(self, sync: Sync) -> None:
        self.after, self.seconds = math.inf, math.inf
        if not isinstance(sync, str):
            self.after = whole_number("sync", sync)
        elif choice("sync", sync, ("always", "second", "os")) == "always":
            self.after = 1
        elif sync == "second":
            self.seconds = 1.0
        self.start()

    def start(self) -> None:
        """Everything is on the disk now."""
        self._observed, self._since = 0, time.monotonic()

    def is_due(self) -> bool:
        """Whether to force the journal to disk in this ``observe``."""
        self._observed += 1
        return self._observed >= self.after or (
            self.seconds < math.inf and time.monotonic() - self._since >= self.seconds
        )
