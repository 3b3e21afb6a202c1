"""Retries of database transactions.

Called by the API and the daemons around whole transactions. Only errors whose class allows it
(``Error.retry``) are retried, a bounded number of times.  Evaluations that a transaction needs
are done between two runs of it, when it holds no locks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

from heat_convergence.common import metrics
from heat_convergence.common.evaluation.deferred_evaluation import (
    EvaluationRequired,
    EvaluationResults,
    deferring_evaluations,
)
from heat_convergence.common.failures import ConcurrentTransaction, Unavailable

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")
Wait = Callable[[float], object]

_MAX_EVALUATIONS = 12  # of one transaction; each time, something had changed or was found anew
MAX_CONFLICTS = 16  # as many rivals may each win once
_AT_ONCE = 2  # conflicts in a row that are repeated without a pause
_CONFLICT_PAUSE_S, _MAX_CONFLICT_PAUSE_S = 0.01, 0.5
_OUTAGE_PAUSE_S, _MAX_OUTAGE_PAUSE_S = 0.2, 5.0


def retry_transaction(work: Callable[[], Result], *, wait: Wait, tries: int = 10) -> Result:
    """Run ``work`` and return its result, again after a deadlock or an outage.

    Args:
        work: A whole transaction.
        wait: Function that sleeps for a number of seconds.
        tries: Maximum number of attempts that the database does not answer.

    Raises:
        ConcurrentTransaction: The last of ``MAX_CONFLICTS`` such attempts lost against another
            transaction. The first are repeated at once, the others after 0.01 to 0.5 seconds,
            doubling each time: on a Galera cluster other nodes may have a whole queue of rivals.
        Unavailable: The database did not answer the last attempt. Such attempts are
            repeated after 0.2 to 5 seconds, doubling each time.
    """
    with deferring_evaluations() as results:
        left = iter(range(_MAX_EVALUATIONS))
        return _retry(lambda: _evaluate_and_run(work, results, left), wait, tries)


def _evaluate_and_run(
    work: Callable[[], Result], results: EvaluationResults, left: Iterator[int]
) -> Result:
    while True:
        try:
            return work()
        except EvaluationRequired as required:
            if next(left, None) is None:
                break
            results.evaluate(required)
    raise ConcurrentTransaction("what an evaluation read has changed each time")


def _retry(work: Callable[[], Result], wait: Wait, tries: int) -> Result:
    conflicts = outages = 0
    while True:
        try:
            return work()
        except ConcurrentTransaction as error:
            conflicts += 1
            metrics.TRANSACTION_RETRIES.labels("conflict").inc()
            LOG.info(
                "transaction retried after a conflict: error=%(error)s", {"error": error.log_text}
            )
            if conflicts == MAX_CONFLICTS:
                raise
            if conflicts > _AT_ONCE:
                doublings = conflicts - _AT_ONCE - 1
                wait(min(_CONFLICT_PAUSE_S * 2**doublings, _MAX_CONFLICT_PAUSE_S))
        except Unavailable as error:
            outages += 1
            metrics.TRANSACTION_RETRIES.labels("outage").inc()
            LOG.info(
                "transaction retried after an outage: error=%(error)s", {"error": error.log_text}
            )
            if outages == tries:
                raise
            wait(min(_OUTAGE_PAUSE_S * 2 ** (outages - 1), _MAX_OUTAGE_PAUSE_S))
