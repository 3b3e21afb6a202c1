"""The query strings of lists: stacks, resources, events.

Called by the controllers of those nouns.  Decides selection parameters are known,
selection are ignored and selection are refused; knows no SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heat_convergence.api.requests.params import (
    QueryParams,
    collect_filters,
    parse_non_negative_int,
)
from heat_convergence.common import errors
from heat_convergence.common.errors import InvalidRequestValue
from heat_convergence.convergence.model.action import Status
from heat_convergence.db.reads.events import EventQuery
from heat_convergence.db.reads.resources import ResourceFilter
from heat_convergence.db.reads.stacks import Pagination, StackFilter
from heat_convergence.resources.protocol.schema import SupportLevel

_STACK_MATCHES = {
    "id": "id",
    "name": "name",
    "stack_name": "name",
    "action": "action",
    "stack_action": "action",
    "tenant": "project",
    "username": "username",
    "stack_owner": "username",
    "owner_id": "owner_id",
    "parent": "owner_id",
    "stack_status_reason": "status_reason",
    "stack_user_project_id": "user_project",
}
_STATUSES = ("status", "stack_status")
_RESOURCE_MATCHES = {
    name: name for name in ("status", "name", "action", "id", "physical_resource_id")
}
_EVENT_MATCHES = {
    name: name for name in ("resource_status", "resource_action", "resource_name", "resource_type")
}
SORTABLE_STACKS = ("stack_name", "stack_status", "creation_time", "updated_time")
SORTABLE_EVENTS = ("event_time", "resource_type")
RESOURCE_TYPE_UNAVAILABLE = "99001"  # the one error that a validation may ignore


@dataclass(frozen=True, slots=True)
class StackListQuery:
    """The query of the list of stacks; ``all_projects`` for those of every project."""

    filters: StackFilter
    page: Pagination
    all_projects: bool
    with_count: bool


@dataclass(frozen=True, slots=True)
class ResourceListQuery:
    """The query of the list of resources; ``filters`` None for all of them."""

    filters: ResourceFilter | None
    nested_depth: int
    with_detail: bool


def parse_stack_list_query(
    query: QueryParams, project_id: str, hidden_tags: tuple[str, ...]
) -> StackListQuery:
    """Parse the query of ``GET /stacks``; unknown names are ignored."""
    all_projects = query.boolean("global_tenant")
    not_tags_any = query.tags("not_tags_any")
    if not query.boolean("show_hidden"):
        not_tags_any += hidden_tags
    found: dict[str, tuple[Any, ...]] = {**collect_filters(query, _STACK_MATCHES)}
    _add_statuses(query, found)
    _add_typed(query, found)
    selection = StackFilter(
        project_id=None if all_projects else project_id,
        nested=query.boolean("show_nested") or "owner_id" in found,
        deleted=query.boolean("show_deleted"),
        tags=query.tags("tags"),
        tags_any=query.tags("tags_any"),
        not_tags=query.tags("not_tags"),
        not_tags_any=not_tags_any,
        matches=found,
    )
    at = Pagination(
        limit=query.non_negative_int("limit"),
        marker=query.last("marker"),
        sort_keys=tuple(key for key in query.sort_keys() if key in SORTABLE_STACKS),
        descending=query.sort_descending(),
    )
    return StackListQuery(selection, at, all_projects, query.boolean("with_count"))


def _add_statuses(query: QueryParams, found: dict[str, tuple[Any, ...]]) -> None:
    """Add filters for statuses.

    ``CREATE_FAILED`` is an action and a status; several of them combine as (any of the
    actions) and (any of the statuses).
    """
    for value in (v for name in _STATUSES for v in query.values(name)):
        head, _, tail = value.partition("_")
        action, status = (head, tail) if tail and value not in tuple(Status) else ("", value)
        found["status"] = (*found.get("status", ()), status)
        if action:
            found["action"] = (*found.get("action", ()), action)


def _add_typed(query: QueryParams, found: dict[str, tuple[Any, ...]]) -> None:
    timeouts = query.values("timeout_mins")
    if timeouts:
        found["timeout_mins"] = tuple(
            parse_non_negative_int("timeout_mins", value) for value in timeouts
        )
    flags = query.values("disable_rollback")
    if flags:
        found["disable_rollback"] = tuple(value.lower() == "true" for value in flags)


def parse_resource_list_query(query: QueryParams, max_depth: int) -> ResourceListQuery:
    """Parse the query of a stack's resources; an unknown name is refused."""
    query.reject_unknown({*_RESOURCE_MATCHES, "type", "nested_depth", "with_detail"})
    selection = ResourceFilter(collect_filters(query, _RESOURCE_MATCHES), query.last("type"))
    depth = min(query.non_negative_int("nested_depth") or 0, max_depth)
    filters = selection if selection != ResourceFilter() else None
    return ResourceListQuery(filters, depth, query.boolean("with_detail"))


def parse_event_list_query(query: QueryParams, resource_name: str | None = None) -> EventQuery:
    """Parse the query of the two event lists; unknown names are ignored."""
    found = collect_filters(query, _EVENT_MATCHES)
    if resource_name is not None:
        found["resource_name"] = (resource_name,)
    return EventQuery(
        matches=found,
        limit=query.non_negative_int("limit"),
        marker=query.last("marker"),
        sort_keys=tuple(key for key in query.sort_keys() if key in SORTABLE_EVENTS),
        descending=query.sort_descending(),
    )


def parse_template_type(query: QueryParams) -> str:
    """Return ``cfn`` or ``hot``, ``cfn`` by default."""
    value = (query.last("template_type") or "cfn").lower()
    if value not in ("cfn", "hot"):
        raise errors.HTTPBadRequest(
            f'Template type is not supported: Invalid template type "{value}",'
            " valid types are: cfn, hot."
        )
    return value


def parse_support_status(query: QueryParams) -> str | None:
    """Return the support status by which resource types are filtered; None for all."""
    value = query.last("support_status")
    known = tuple(map(str, SupportLevel))
    if value is not None and value.upper() not in known:
        raise errors.Invalid(
            f"Data supplied was not valid: Invalid support status and should be one of {known}"
        )
    return value


def parse_ignored_errors(query: QueryParams) -> frozenset[str]:
    """Return the codes in ``ignore_errors`` of a validation."""
    codes = frozenset(query.tags("ignore_errors"))
    unknown = sorted(codes - {RESOURCE_TYPE_UNAVAILABLE})
    if unknown:
        raise InvalidRequestValue(f'"ignore_errors" has an unknown code: "{unknown[0]}".')
    return codes
