"""The error of an expression that was not evaluated.

Raised by the sandbox; an API request is answered with 503.
"""

from __future__ import annotations

from heat_convergence.common.errors import Error, Retry


class EvaluationUnavailable(Error):
    """An expression that was not evaluated, for reasons that are not its own."""

    http_status = 503
    retry = Retry.BACKOFF
    wire_type = "Unavailable"

    def __init__(self, reason: str) -> None:
        super().__init__(f"A YAQL expression could not be evaluated: {reason}")
