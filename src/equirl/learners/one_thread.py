"""One thread at a time: a learner that is being used refuses a second one."""

from __future__ import annotations

import threading
from typing import NamedTuple


class InUse(NamedTuple):
    """A context in which one thread alone uses a learner; a second is refused."""

    name: str
    busy: threading.Lock

    def __enter__(self) -> None:
        if not self.busy.acquire(blocking=False):
            raise RuntimeError(
                f"{self.name!r} is in use by another thread; a learner serves one thread at a time (use a lock of "
                "your own around act and observe, or agent.copy())"
            )

    def __exit__(self, *error: object) -> None:
        self.busy.release()
