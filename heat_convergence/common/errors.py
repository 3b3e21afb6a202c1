"""The one hierarchy of errors.

Class names are what clients see as ``error.type``; codes and statuses follow the
Orchestration API's exception table.  A class says whether trying again can help
(``retry``); nothing else in the service decides that by looking at message text.
"""

from __future__ import annotations

import enum


class Retry(enum.Enum):
    """Whether, and how, the same attempt may be repeated."""

    NEVER = "never"
    BACKOFF = "backoff"
    IMMEDIATELY = "at_once"


class Error(Exception):
    """Root of all errors of this service.

    ``http_status`` is the answer the API gives; ``retry`` what a worker does.
    """

    http_status = 500
    retry = Retry.NEVER

    def __init__(self, message: str = "", *, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


# -- 400: the request is wrong ------------------------------------------------


class Invalid(Error):
    http_status = 400


class HTTPBadRequest(Invalid):
    """A request that the API layer itself refuses."""


class StackValidationFailed(Invalid):
    """A template, its parameters or its properties do not hold together."""


class InvalidSchemaError(Invalid):
    """A parameter's own declaration is wrong."""


class InvalidTemplateReference(Invalid):
    """A reference to a resource that the template does not have."""

    def __init__(self, resource: str, key: str = "", hint: str = "") -> None:
        super().__init__(
            f'The specified reference "{resource}" (in {key}) is incorrect{hint or "."}'
        )
        self.resource = resource
        self.key = key
        self.hint = hint

    def with_location(self, key: str) -> InvalidTemplateReference:
        """The same, found at another place."""
        return InvalidTemplateReference(self.resource, key, self.hint)


class InvalidTemplateVersion(Invalid):
    """The template's version key is missing, doubled or unknown."""


class InvalidTemplateSection(Invalid):
    """A top-level key that the template's version does not know."""


class InvalidTemplateAttribute(Invalid):
    """An attribute that the resource's type does not have."""


class CircularDependencyException(Invalid):
    """Resources need each other in a ring; ``cycle`` names it in order."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        super().__init__("Circular Dependency Found: " + " -> ".join((*cycle, cycle[0])))
        self.cycle = cycle


class UnknownUserParameter(Invalid):
    """A parameter value for a name that the template does not declare."""


class UserParameterMissing(Invalid):
    """A declared parameter has neither a value nor a default."""


class ImmutableParameterModified(Invalid):
    """An update changes a parameter that its template calls immutable."""


class RequestLimitExceeded(Invalid):
    """A configured limit on size, depth or number is passed."""


class DownloadLimitExceeded(Invalid):
    """A fetched document is larger than allowed."""


class NotSupported(Invalid):
    """The thing exists but this cannot be done with it, or not now."""


class ResourceActionNotSupported(Invalid):
    """The resource's type has no such action."""


class ResourceTypeUnavailable(Invalid):
    """The type's service is not in the catalogue."""


class ResourcePropertyConflict(Invalid):
    """Properties that exclude each other are both given."""


class PropertyUnspecifiedError(Invalid):
    """At least one of several properties is needed."""


class ResourcePropertyDependency(Invalid):
    """A property is given without another one that it takes."""


class ResourcePropertyValueDependency(Invalid):
    """A property is given that takes another value of another one."""


class InvalidBreakPointHook(Invalid):
    """A hook that does not exist or is not set."""


class ResourceActionRestricted(Invalid):
    """The user's environment forbids this change of the resource."""


class InvalidRestrictedAction(Invalid):
    """A restricted action other than update or replace."""


class InvalidMergeStrategyForParam(Invalid):
    """A merge strategy that the parameter's type does not know."""


class ConflictingMergeStrategyForParam(Invalid):
    """Two environment files name different strategies for one parameter."""


class InvalidExternalResourceDependency(Invalid):
    """A resource with external_id also has depends_on."""


class MissingCredentialError(Invalid):
    """The request lacks what the service needs to act for its user later."""


class AuthorizationFailure(Invalid):
    """Keystone does not let the service act for a stack's user (any more)."""


class PhysicalResourceNameAmbiguity(Invalid):
    """A name that finds more than one physical resource."""


# -- 403, 404, 409 ------------------------------------------------------------


class Forbidden(Error):
    http_status = 403


class HTTPForbidden(Forbidden):
    """Refused by the API layer before any policy rule."""


class NotFound(Error):
    http_status = 404


class EntityNotFound(NotFound):
    def __init__(self, entity: str, name: str) -> None:
        super().__init__(f"The {entity} ({name}) could not be found.")


class ResourceNotFound(NotFound):
    def __init__(self, resource: str, stack: str) -> None:
        super().__init__(f"The Resource ({resource}) could not be found in Stack {stack}.")


class ResourceNotAvailable(NotFound):
    def __init__(self, resource: str) -> None:
        super().__init__(f"The Resource ({resource}) is not available.")


class SnapshotNotFound(NotFound):
    """No such snapshot of this stack."""


class StackExists(Error):
    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"The Stack ({name}) already exists.")


class ActionInProgress(Error):
    http_status = 409

    def __init__(self, name: str, action: str) -> None:
        super().__init__(f"Stack {name} already has an action ({action}) in progress.")


# -- the service itself -------------------------------------------------------


class Unavailable(Error):
    """Database or bus cannot be reached now; the same request may succeed later."""

    http_status = 503
    retry = Retry.BACKOFF


class ConcurrentTransaction(Error):
    """The database refused a transaction for the sake of another; run it again."""

    http_status = 503
    retry = Retry.IMMEDIATELY


class StorageRefused(Error):
    """The database will not store this, now or later: a value that it cannot hold."""


class RowsContradict(Error):
    """A row or a text that others lead to is not there.  Nobody does this but who changes
    the database by hand, or loses a part of it."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}: heat-convergence-manage stack check tells what is to be done."
        )


class InvalidEncryptionKey(Error):
    """Secrets can't be sealed or opened with the keys that are configured."""


# -- what a cloud call can end in ---------------------------------------------


class ResourceFailure(Error):
    """A verb of a resource type failed for good."""


class TemplateOutputError(Error):
    """An output of a nested stack that somebody reads has no value."""

    def __init__(self, resource: str, attribute: str, reason: str) -> None:
        super().__init__(f"Error in {resource} output {attribute}: {reason}")


class ResourceGone(Error):
    """The physical resource does not exist (any more)."""

    http_status = 404


class TemporaryFailure(Error):
    """The service could not answer now: throttled, conflicting, unreachable."""

    http_status = 503
    retry = Retry.BACKOFF

    def __init__(self, message: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Throttled(TemporaryFailure):
    """The service asks to slow down; ``retry_after_s`` is what it asked for."""


class Conflict(TemporaryFailure):
    """Another operation holds the physical resource."""


class OverQuota(Error):
    """The project's quota is used up; retried, for something may be freed."""

    http_status = 403
    retry = Retry.BACKOFF
