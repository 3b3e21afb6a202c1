"""The routes of a stack's resources and events."""

from __future__ import annotations

from heat_convergence.api.routes.route import RESOURCE_PATH, STACK_PATH, Route

RESOURCE_ROUTES = [
    Route(
        "GET",
        STACK_PATH + "/resources",
        "resources.index",
        "resource:index",
        query_schema="resources",
        response_schema="resource_list",
    ),
    Route(
        "GET",
        RESOURCE_PATH,
        "resources.show",
        "resource:show",
        query_schema="resource",
        response_schema="resource_show",
    ),
    Route(
        "PATCH",
        RESOURCE_PATH,
        "resource_health.mark_unhealthy",
        "resource:mark_unhealthy",
        body_schema="mark_unhealthy",
        response_schema="null",
    ),
    Route(
        "GET",
        RESOURCE_PATH + "/metadata",
        "resources.metadata",
        "resource:metadata",
        response_schema="metadata",
    ),
    Route(
        "POST",
        RESOURCE_PATH + "/signal",
        "signals.signal",
        "resource:signal",
        body_schema="signal",
        response_schema="null",
    ),
    Route(
        "GET",
        STACK_PATH + "/events",
        "events.index",
        "events:index",
        query_schema="stack_events",
        response_schema="event_list",
    ),
    Route(
        "GET",
        RESOURCE_PATH + "/events",
        "events.resource_index",
        "events:index",
        query_schema="events",
        response_schema="event_list",
    ),
    Route(
        "GET",
        RESOURCE_PATH + "/events/{event_id}",
        "events.show",
        "events:show",
        response_schema="event_show",
    ),
]
