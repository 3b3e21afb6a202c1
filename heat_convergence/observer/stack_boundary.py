"""The error boundary around the observer's work on one stack (RULE 11).

Whatever the work on a stack raises ends there: the pass goes on with the other stacks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.errors import ConcurrentTransaction, Unavailable

LOG = logging.getLogger(__name__)


class StackBoundary:
    """The boundary of one observer."""

    def __init__(self, errors: ErrorLog) -> None:
        self._errors = errors

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
        try:
            work()
        except Unavailable:
            raise
        except ConcurrentTransaction as error:
            LOG.warning(
                "stack left to the next pass: stack=%(stack)s error=%(error)s",
                {"stack": stack_id, "error": error.log_text},
            )
        except Exception as error:  # noqa: BLE001  # RULE 11: the error boundary of a stack
            return self._errors.report(error, stack_id)
        return None
