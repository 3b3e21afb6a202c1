"""Errors of the CloudFormation API: codes, statuses and their envelope.

Decides which code an error of the service has for clients of this API.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.common import errors

Json = Any
_SERVER_CODES = frozenset({"InternalFailure", "ServiceUnavailable"})
_CODES = {
    "StackExists": "AlreadyExists",
    "RequestLimitExceeded": "RequestLimitExceeded",
    "ActionInProgress": "InvalidAction",
}


class CfnError(Exception):
    """An error with the code that clients tell errors apart by."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        """Keep code and status."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    def envelope(self) -> dict[str, Json]:
        """Return the document of the response."""
        sender = "Server" if self.code in _SERVER_CODES else "Sender"
        error = {"Type": sender, "Code": self.code, "Message": self.message}
        return {"ErrorResponse": {"Error": error}}


def missing_parameter(name: str) -> CfnError:
    """Return the error of a request that lacks a parameter."""
    return CfnError("MissingParameter", f"The request must contain the parameter {name}.")


def access_denied() -> CfnError:
    """Return the error of a caller who may not do it; it tells nothing about the stack."""
    return CfnError("AccessDenied", "User is not authorized to perform action", 403)


def internal_failure() -> CfnError:
    """Return the error of a defect, whose cause is in the log alone."""
    return CfnError("InternalFailure", "The service failed to handle the request.", 500)


def from_error(error: errors.Error) -> CfnError:
    """Return an error of the service as clients of this API see it."""
    status = error.http_status
    if status in (401, 403) or isinstance(error, errors.AuthorizationFailure):
        return access_denied()
    if status == 503:
        return CfnError("ServiceUnavailable", "The service cannot handle the request now.", 503)
    if status >= 500:
        return internal_failure()
    return CfnError(_CODES.get(error.shown_type, "InvalidParameterValue"), str(error))
