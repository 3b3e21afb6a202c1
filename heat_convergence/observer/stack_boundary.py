"""The error boundaries around the observer's work (RULE 11).

Whatever the work on a stack raises ends there: the pass goes on with the other stacks.  What
a search over all stacks raises ends that search: the pass goes on with the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.failures import ConcurrentTransaction, Unavailable

LOG = logging.getLogger(__name__)


class OwnTransactionRequired(Exception):
    """A stack among several takes long, and must not keep the others locked meanwhile."""


_PASSED_ON = (Unavailable, ConcurrentTransaction, OwnTransactionRequired)


class StackBoundary:
    """The boundaries of one observer."""

    def __init__(self, errors: ErrorLog) -> None:
        self._stack = ErrorBoundary(BoundaryName.STACK, errors, _PASSED_ON)
        self._pass = ErrorBoundary(BoundaryName.PASS, errors, _PASSED_ON)

    def run(self, stack_id: str, work: Callable[[], object]) -> str | None:
        """Do the work on a stack.

        Args:
            stack_id: The stack, or the project, that the work is about.
            work: Function that may raise anything.

        Returns:
            The id of the error in the log; None if there was none.

        Raises:
            Unavailable: The database does not answer, which concerns every stack.
        """
        return _contain(self._stack, work, stack_id)

    def run_together(self, stack_ids: Collection[str], work: Callable[[], object]) -> bool:
        """Do work on several stacks in one transaction.

        Returns:
            Whether it is done; if not, it is to be done for each stack alone.

        Raises:
            Unavailable: The database does not answer, which concerns every stack.
        """
        try:
            return self._stack.contain(work, ErrorSubject(", ".join(stack_ids))) is None
        except (ConcurrentTransaction, OwnTransactionRequired):
            return False

    def search(self, work: Callable[[], object]) -> None:
        """Do one of the searches of a pass.

        Raises:
            Unavailable: The database does not answer.
        """
        _contain(self._pass, work)


def _contain(
    boundary: ErrorBoundary, work: Callable[[], object], stack_id: str = ""
) -> str | None:
    try:
        return boundary.contain(work, ErrorSubject(stack_id) if stack_id else None)
    except ConcurrentTransaction as error:
        LOG.warning(
            "stack left to the next pass: stack=%(stack)s error=%(error)s",
            {"stack": stack_id, "error": error.log_text},
        )
        return None
