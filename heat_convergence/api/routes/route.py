"""One route, and the paths that several routes share.

Called by the other modules of this package, the root controller and the OpenAPI document.
Decides nothing about a request.
"""

from __future__ import annotations

from dataclasses import dataclass

STACK_PATH = "/stacks/{stack_name}/{stack_id}"
RESOURCE_PATH = STACK_PATH + "/resources/{resource_name}"


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path below ``/v1/{tenant_id}``.

    Attributes:
        handler: ``controller.method``, by the names of ``app``.
        policy_rule: None where the handler enforces one that depends on the body.
        query_schema: a name in ``openapi_schemas``, as the other schemas are.
    """

    method: str
    path: str
    handler: str
    policy_rule: str | None
    success_status: int = 200
    query_schema: str = ""
    body_schema: str = ""
    response_schema: str = ""
