"""Running a transaction until the database takes it.

Called by the API and the daemons around whole transactions.  Only errors that
say so (``Error.retry``) are tried again, a bounded number of times.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from heat_convergence.common.errors import ConcurrentTransaction, Unavailable

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")
Wait = Callable[[float], object]


def retry_transaction(work: Callable[[], Result], *, wait: Wait, tries: int = 10) -> Result:
    """The result of ``work``.

    A transaction that lost against another one is run again at once; an
    unreachable database after ``wait`` seconds, ever more of them (0.2 to 5).
    """
    pause_s = 0.2
    for left in range(tries - 1, -1, -1):
        try:
            return work()
        except ConcurrentTransaction as error:
            LOG.info("a transaction gave way to another one: %s", error)
            if not left:
                raise
        except Unavailable:
            if not left:
                raise
            wait(pause_s)
            pause_s = min(pause_s * 2, 5.0)
    raise AssertionError("tries must be at least 1")
