"""The base of all errors of this service, and the errors of requests.

Clients see the class names as ``error.type``; codes and statuses follow the exception table of
the Orchestration API. A class decides whether a retry can help (``retry``); no other code
decides that, least of all from the text of a message. ``failures`` has what no client can mend.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any


class Retry(enum.Enum):
    """Rules for repeating the same attempt may be repeated."""

    NEVER = "never"
    BACKOFF = "backoff"
    IMMEDIATELY = "at_once"


class Error(Exception):
    """Base class of all errors of this service.

    Attributes:
        http_status: Status of the API's response.
        retry: How a worker repeats the attempt.
        message: Text without the path.
        path: Location in the request or template; empty when unknown.
        detail: Text for the log alone, such as the statement that the database refused.
        summary: The first mistake alone, without position or hint, to quote in another error;
            empty where the whole text is that.
        wire_type: Class name that clients see; empty where it is that of the class.
        fields: Further fields of the error that clients see.
    """

    http_status = 500
    retry = Retry.NEVER

    detail = ""
    summary = ""
    wire_type = ""
    fields: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, message: str = "", *, path: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    @property
    def shown_type(self) -> str:
        """The class name that clients tell errors apart by."""
        return self.wire_type or type(self).__name__

    @property
    def log_text(self) -> str:
        """The text for the log: that for users, and what users must not see."""
        return f"{self} ({self.detail})" if self.detail else str(self)


# -- 400: the request is invalid ------------------------------------------------


class Invalid(Error):
    """An invalid request."""

    http_status = 400


class HTTPBadRequest(Invalid):
    """A request that the API layer itself rejects."""


class InvalidRequestValue(HTTPBadRequest):
    """A value of the wrong type; clients know it as ``ValueError``."""

    wire_type = "ValueError"


class InvalidRequestType(HTTPBadRequest):
    """A list in the place of text; clients know it as ``AttributeError``."""

    wire_type = "AttributeError"


class MissingRequestKey(HTTPBadRequest):
    """A name that its map does not have; clients know it as ``KeyError``."""

    wire_type = "KeyError"


class StackValidationFailed(Invalid):
    """An inconsistency in a template, its parameters or its properties."""

    def __str__(self) -> str:
        """Return the text in the form that clients match."""
        return f"{self.path}: : {self.message}" if self.path else self.message


class InvalidSchemaError(Invalid):
    """An invalid declaration of a parameter."""


class InvalidTemplateReference(Invalid):
    """A reference to a resource that the template does not have."""

    def __init__(self, resource: str, key: str = "", hint: str = "") -> None:
        super().__init__(f'The specified reference "{resource}" (in {key}) is incorrect.{hint}')
        self.resource = resource
        self.key = key
        self.hint = hint

    def with_location(self, key: str) -> InvalidTemplateReference:
        """Return the same error with another location."""
        return InvalidTemplateReference(self.resource, key, self.hint)


class InvalidTemplateVersion(Invalid):
    """A missing, repeated or unknown version key of a template."""


class InvalidTemplateSection(Invalid):
    """A top-level key that the version of the template does not define."""


class InvalidTemplateAttribute(Invalid):
    """An attribute that the resource type does not have."""


class CircularDependencyException(Invalid):
    """A cycle of dependencies; ``cycle`` names its resources in order."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        super().__init__("Circular Dependency Found: " + " -> ".join((*cycle, cycle[0])))
        self.cycle = cycle


class UnknownUserParameter(Invalid):
    """A value for a parameter that the template does not declare."""


class UserParameterMissing(Invalid):
    """A declared parameter with neither a value nor a default."""


class ImmutableParameterModified(Invalid):
    """An update that changes an immutable parameter."""


class RequestLimitExceeded(Invalid):
    """A request beyond a configured limit on size, depth or number."""


class DownloadLimitExceeded(Invalid):
    """A fetched document larger than the limit."""


class NotSupported(Invalid):
    """An operation that the entity does not support, or not in its present state."""


class ResourceActionNotSupported(Invalid):
    """An action that the resource type does not support."""


class ResourceTypeUnavailable(Invalid):
    """A resource type whose service is missing from the catalog."""


class ResourcePropertyConflict(Invalid):
    """Properties that exclude each other."""


class PropertyUnspecifiedError(Invalid):
    """A resource with none of the properties of which one is required."""


class ResourcePropertyDependency(Invalid):
    """A property without another property that it requires."""


class ResourcePropertyValueDependency(Invalid):
    """A property that requires another value of another property."""


class InvalidBreakPointHook(Invalid):
    """A hook that does not exist or is not set."""


class ResourceActionRestricted(Invalid):
    """A change of a resource that the user's environment forbids."""


class InvalidRestrictedAction(Invalid):
    """A restricted action other than update or replace."""


class InvalidMergeStrategyForParam(Invalid):
    """A merge strategy that the type of the parameter does not support."""


class ConflictingMergeStrategyForParam(Invalid):
    """Different merge strategies for one parameter in two environments."""


class InvalidExternalResourceDependency(Invalid):
    """A resource with both external_id and depends_on."""


class MissingCredentialError(Invalid):
    """A request without what the service needs to act for its user later."""


class AuthorizationFailure(Invalid):
    """A refusal of Keystone to let the service act for a stack's user."""


class PhysicalResourceNameAmbiguity(Invalid):
    """A name that matches more than one physical resource."""


# -- 403, 404, 409 ------------------------------------------------------------


class Forbidden(Error):
    """A request that policy or another service forbids."""

    http_status = 403


class HTTPForbidden(Forbidden):
    """A request that the API layer refuses before any policy rule."""


class NotFound(Error):
    """A request for an entity that does not exist."""

    http_status = 404


class HTTPNotFound(NotFound):
    """A part of a stack that the API layer itself does not find."""


class EntityNotFound(NotFound):
    """A stack, resource or other entity that does not exist."""

    def __init__(self, entity: str, name: str) -> None:
        super().__init__(f"The {entity} ({name}) could not be found.")


class ResourceNotFound(NotFound):
    """A resource that the stack does not have."""

    def __init__(self, resource: str, stack: str) -> None:
        super().__init__(f"The Resource ({resource}) could not be found in Stack {stack}.")


class ResourceNotAvailable(NotFound):
    """A resource that has not been created yet."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"The Resource ({resource}) is not available.")


class SnapshotNotFound(NotFound):
    """A snapshot that the stack does not have."""


class StackExists(Error):
    """A stack name that is already in use in the project."""

    http_status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"The Stack ({name}) already exists.")


class ActionInProgress(Error):
    """A request that the action in progress does not allow."""

    http_status = 409

    def __init__(self, name: str, action: str) -> None:
        super().__init__(f"Stack {name} already has an action ({action}) in progress.")


class HandoverConflict(Error):
    """A resource or an object that is to be handed over, and has an owner there already."""

    http_status = 409


class PlanNotReady(Error):
    """A plan that has been executed or has expired."""

    http_status = 409


class PlanOutdated(Error):
    """A plan whose stack, or what was observed of it, has changed since it was made.

    Args:
        differences: What has changed, with ``stack_name``, ``resource_name`` and ``reason``.
    """

    http_status = 409
    max_shown = 100

    def __init__(self, differences: Sequence[Mapping[str, Any]]) -> None:
        first = differences[0]
        place = first["resource_name"] or first["stack_name"]
        super().__init__(
            "The plan cannot be executed, as the stack is not as it was when the plan was made"
            f" ({len(differences)} differences): {place}: {first['reason']}"
        )
        self.fields = {
            "difference_count": len(differences),
            "differences": [dict(each) for each in differences[: self.max_shown]],
        }


# -- 500: the service is set up wrongly -----------------------------------------


class InvalidGlobalResource(Error):
    """A template of the operator's environment that cannot be read."""

    def __init__(self, type_name: str, reason: str) -> None:
        super().__init__(f"The template of the resource type {type_name} is wrong: {reason}")
