"""The routes of the quarantine."""

from __future__ import annotations

from heat_convergence.api.routes.route import Route

_ENTRY = "/quarantine/{quarantined_id}"

QUARANTINE_ROUTES = [
    Route(
        "GET",
        "/quarantine",
        "quarantine.index",
        "quarantine:index",
        query_schema="quarantine",
        response_schema="quarantine",
    ),
    Route(
        "POST",
        _ENTRY + "/retry",
        "quarantine.retry",
        "quarantine:retry",
        response_schema="quarantined",
    ),
    Route(
        "DELETE",
        _ENTRY,
        "quarantine.dismiss",
        "quarantine:dismiss",
        204,
        response_schema="empty",
    ),
]
