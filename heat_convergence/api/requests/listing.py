"""The query strings of lists: stacks, resources, events.

Called by the controllers of those nouns.  Decides which parameters are known,
which are ignored and which are refused; knows no SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heat_convergence.api.requests.words import MalformedValue, Query, matches, whole
from heat_convergence.common import errors
from heat_convergence.convergence.model import Status
from heat_convergence.db.reads.events import EventPage
from heat_convergence.db.reads.resources import ResourceFilter
from heat_convergence.db.reads.stacks import Page, StackFilter

_STACK_MATCHES = {
    "id": "id", "name": "name", "stack_name": "name", "action": "action",
    "stack_action": "action", "tenant": "project", "username": "username",
    "stack_owner": "username", "owner_id": "owner_id", "parent": "owner_id",
    "stack_status_reason": "status_reason", "stack_user_project_id": "user_project",
}
_STATUSES = ("status", "stack_status")
_RESOURCE_MATCHES = {
    name: name for name in ("status", "name", "action", "id", "physical_resource_id")
}
_EVENT_MATCHES = {
    name: name
    for name in ("resource_status", "resource_action", "resource_name", "resource_type")
}
SORTABLE_STACKS = ("stack_name", "stack_status", "creation_time", "updated_time")
SORTABLE_EVENTS = ("event_time", "resource_type")
SERVICE_ABSENT = "99001"  # the one error that a validation may ignore


@dataclass(frozen=True, slots=True)
class StackListing:
    """``everywhere``: the caller asks for the stacks of all projects."""

    which: StackFilter
    at: Page
    everywhere: bool
    count: bool


@dataclass(frozen=True, slots=True)
class ResourceListing:
    which: ResourceFilter | None
    depth: int
    detailed: bool


def stack_listing(query: Query, project_id: str, hidden_tags: tuple[str, ...]) -> StackListing:
    """The query of ``GET /stacks``; unknown names in it are ignored."""
    everywhere = query.boolean("global_tenant")
    not_tags_any = query.tags("not_tags_any")
    if not query.boolean("show_hidden"):
        not_tags_any += hidden_tags
    found: dict[str, tuple[Any, ...]] = {**matches(query, _STACK_MATCHES)}
    _add_statuses(query, found)
    _add_typed(query, found)
    which = StackFilter(
        project_id=None if everywhere else project_id,
        nested=query.boolean("show_nested") or "owner_id" in found,
        deleted=query.boolean("show_deleted"),
        tags=query.tags("tags"),
        tags_any=query.tags("tags_any"),
        not_tags=query.tags("not_tags"),
        not_tags_any=not_tags_any,
        matches=found,
    )
    at = Page(
        limit=query.whole("limit"),
        marker=query.one("marker"),
        keys=tuple(key for key in query.sort_keys() if key in SORTABLE_STACKS),
        descending=query.descending(),
    )
    return StackListing(which, at, everywhere, query.boolean("with_count"))


def _add_statuses(query: Query, found: dict[str, tuple[Any, ...]]) -> None:
    """``CREATE_FAILED`` asks for an action and a status; several of them combine as
    (any of the actions) and (any of the statuses)."""
    for value in (v for name in _STATUSES for v in query.all(name)):
        head, _, tail = value.partition("_")
        action, status = (head, tail) if tail and value not in tuple(Status) else ("", value)
        found["status"] = (*found.get("status", ()), status)
        if action:
            found["action"] = (*found.get("action", ()), action)


def _add_typed(query: Query, found: dict[str, tuple[Any, ...]]) -> None:
    timeouts = query.all("timeout_mins")
    if timeouts:
        found["timeout_mins"] = tuple(whole("timeout_mins", value) for value in timeouts)
    flags = query.all("disable_rollback")
    if flags:
        found["disable_rollback"] = tuple(value.lower() == "true" for value in flags)


def resource_listing(query: Query, deepest: int) -> ResourceListing:
    """The query of ``S/resources``; an unknown name in it is refused."""
    query.refuse_others({*_RESOURCE_MATCHES, "type", "nested_depth", "with_detail"})
    which = ResourceFilter(matches(query, _RESOURCE_MATCHES), query.one("type"))
    depth = min(query.whole("nested_depth") or 0, deepest)
    wanted = which if which != ResourceFilter() else None
    return ResourceListing(wanted, depth, query.boolean("with_detail"))


def event_page(query: Query, resource_name: str | None = None) -> EventPage:
    """The query of the two event lists; unknown names in it are ignored."""
    found = matches(query, _EVENT_MATCHES)
    if resource_name is not None:
        found["resource_name"] = (resource_name,)
    return EventPage(
        matches=found,
        limit=query.whole("limit"),
        marker=query.one("marker"),
        keys=tuple(key for key in query.sort_keys() if key in SORTABLE_EVENTS),
        descending=query.descending(),
    )


def template_type(query: Query) -> str:
    """``cfn`` or ``hot``."""
    value = (query.one("template_type") or "cfn").lower()
    if value not in ("cfn", "hot"):
        raise errors.HTTPBadRequest(f'Template type is not supported: "{value}".')
    return value


def ignored_errors(query: Query) -> frozenset[str]:
    """``ignore_errors`` of a validation."""
    codes = frozenset(query.tags("ignore_errors"))
    unknown = sorted(codes - {SERVICE_ABSENT})
    if unknown:
        raise MalformedValue(f'"ignore_errors" has an unknown code: "{unknown[0]}".')
    return codes
