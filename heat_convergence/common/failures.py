"""Failures of the service itself, and of its calls to other services.

Raised by stores, clients and resource types. Their class decides whether a retry can help, as of
all errors of ``errors``.
"""

from __future__ import annotations

from heat_convergence.common.errors import Error, Retry

# -- the service itself -------------------------------------------------------


class Unavailable(Error):
    """An unreachable database or message bus; the same request may succeed later."""

    http_status = 503
    retry = Retry.BACKOFF


class AccessRefused(Unavailable):
    """A server that refuses this service's login; clients see no difference."""

    wire_type = "Unavailable"


class StorageFull(Unavailable):
    """A database without space for another row; what was refused may be repeated later."""

    wire_type = "Unavailable"


class ConcurrentTransaction(Error):
    """A transaction that the database aborted in favour of another; run it again."""

    http_status = 503
    retry = Retry.IMMEDIATELY


class StorageRefused(Error):
    """A value that the database cannot store, now or later."""


class InternalError(Error):
    """A defect of the service, or of a plug-in, that the log has under ``error_id``."""

    def __init__(self, error_id: str) -> None:
        super().__init__(f"the service failed to process it, error id {error_id}")
        self.error_id = error_id


class RowsContradict(Error):
    """A missing row or text to which others refer.

    Only a change of the database by hand, or the loss of a part of it, leads to this.
    """

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}: heat-convergence-manage stack check tells what is to be done."
        )


class InvalidEncryptionKey(Error):
    """Secrets that the configured keys cannot encrypt or decrypt."""


class JobTakeoversExceeded(Error):
    """A job whose workers ended while they ran it, again and again."""


# -- failures of calls to other services ---------------------------------------------


class ResourceFailure(Error):
    """A permanent failure of an operation on a physical resource."""


class ServiceRejection(ResourceFailure):
    """A request that another service refused for good, under that service's class of error."""

    def __init__(self, message: str, wire_type: str) -> None:
        super().__init__(message)
        self.wire_type = wire_type


class TemplateOutputError(Error):
    """An output of a nested stack that is read but has no value."""

    def __init__(self, resource: str, attribute: str, reason: str) -> None:
        self.place = f"Error in {resource} output {attribute}: "
        super().__init__(f"{self.place}{reason}")


class ResourceGone(Error):
    """A physical resource that does not exist, or no longer exists."""

    http_status = 404
    wire_type = "NotFound"


class TemporaryFailure(Error):
    """A call that another service could not serve now.

    Attributes:
        retry_after_s: Pause that the service asks for; None when it names none.
    """

    http_status = 503
    retry = Retry.BACKOFF

    def __init__(self, message: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Throttled(TemporaryFailure):
    """A request to send fewer requests; ``retry_after_s`` is the requested pause."""


class Conflict(TemporaryFailure):
    """A physical resource on which another operation is in progress."""


class CallRefused(TemporaryFailure):
    """A call that was not made: its service is to be left alone, or all places are taken.

    It counts as no try of the resource.
    """


class OverQuota(Error):
    """An exhausted quota of the project; retried, since something may be released."""

    http_status = 403
    retry = Retry.BACKOFF
