"""Retries of database transactions.

Called by the API and the daemons around whole transactions. Only errors whose class allows it
(``Error.retry``) are retried, a bounded number of times.
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
    """Run ``work`` and return its result, again after a deadlock or an outage.

    Args:
        work: A whole transaction.
        wait: Function that sleeps for a number of seconds.
        tries: Maximum number of attempts.

    Raises:
        ConcurrentTransaction: The last attempt lost against another transaction. Such
            attempts are repeated at once.
        Unavailable: The database did not answer the last attempt. Such attempts are
            repeated after 0.2 to 5 seconds, doubling each time.
    """
    pause_s = 0.2
    for left in range(tries - 1, -1, -1):
        try:
            return work()
        except ConcurrentTransaction as error:
            LOG.info(
                "transaction retried after a conflict: error=%(error)s", {"error": error.log_text}
            )
            if not left:
                raise
        except Unavailable:
            if not left:
                raise
            wait(pause_s)
            pause_s = min(pause_s * 2, 5.0)
    raise AssertionError("tries must be at least 1")
