"""The routes of stored plans: of one stack, and of a project.

A plan to create a stack is made and found by the routes of the project, as its stack does not
exist yet.
"""

from __future__ import annotations

from heat_convergence.api.routes.route import STACK_PATH, Route

_PLAN = "/plans/{plan_id}"


def _stored_plan_routes(prefix: str) -> list[Route]:
    """Return the routes of plans that are stored already."""
    return [
        Route("GET", f"{prefix}/plans", "plans.index", "plans:index", response_schema="plans"),
        Route(
            "GET",
            prefix + _PLAN,
            "plans.show",
            "plans:show",
            query_schema="plan",
            response_schema="plan",
        ),
        Route(
            "DELETE", prefix + _PLAN, "plans.delete", "plans:delete", 204, response_schema="empty"
        ),
        Route(
            "POST",
            f"{prefix}{_PLAN}/execute",
            "plan_execution.execute",
            "plans:execute",
            202,
            response_schema="plan_header",
        ),
    ]


STACK_PLAN_ROUTES = [
    Route(
        "POST",
        STACK_PATH + "/plans",
        "plan_creation.create_for_stack",
        "plans:create",
        201,
        body_schema="plan",
        response_schema="plan",
    ),
    *_stored_plan_routes(STACK_PATH),
]

PLAN_ROUTES = [
    Route(
        "POST",
        "/plans",
        "plan_creation.create",
        "plans:create",
        201,
        body_schema="create",
        response_schema="plan",
    ),
    *_stored_plan_routes(""),
]
