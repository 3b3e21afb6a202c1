"""The schemas of requests and responses about stored plans.

Used by ``openapi_schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api.openapi_fields import (
    ANY,
    COUNT,
    JSON_FLAG,
    MAYBE,
    MAYBE_COUNT,
    TEXT,
    Schema,
    list_of,
    object_with,
)
from heat_convergence.api.requests.plans import MAX_RESOURCES
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.plans.stored_plan import PlanAction, PlannedEffect, PlanStatus
from heat_convergence.stacks.plans.quota_check import QuotaStatus

_SWITCH: Schema = {"type": "boolean"}
_EFFECT: Schema = {"type": "string", "enum": list(PlannedEffect)}
_QUOTA_STATUS: Schema = {"type": "string", "enum": list(QuotaStatus)}
_ACTION: Schema = {"type": "string", "enum": list(PlanAction)}
_NAMES: Schema = list_of(TEXT)
_TEXTS_BY_NAME: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": MAX_RESOURCES,
    "additionalProperties": {"type": "string", "minLength": 1},
}

_SUMMARY: Schema = object_with(
    action=_ACTION,
    has_changes=_SWITCH,
    resource_counts=object_with(**{str(each): COUNT for each in PlannedEffect}),
    destructive_count=COUNT,
    destructive_resources=_NAMES,
    failing_count=COUNT,
    failing_resources=_NAMES,
    drifted_count=COUNT,
    quota_status=_QUOTA_STATUS,
    estimated_duration_s={"type": ["number", "null"]},
    steps_without_estimate=COUNT,
)
_HEADER: dict[str, Schema] = {
    "id": TEXT,
    "stack_id": TEXT,
    "stack_name": TEXT,
    "action": _ACTION,
    "plan_status": {"type": "string", "enum": list(PlanStatus)},
    "creation_time": MAYBE,
    "expires_at": MAYBE,
    "executed_at": MAYBE,
    "stack_version": COUNT,
    "summary": _SUMMARY,
    "links": list_of(object_with(href=TEXT, rel=TEXT)),
}
_PROPERTY: Schema = object_with(
    {"observed": ANY},
    property=TEXT,
    desired=ANY,
    known=_SWITCH,
    applied=ANY,
    forces_replacement=_SWITCH,
)
_RESOURCE: Schema = object_with(
    resource_name=TEXT,
    resource_type=TEXT,
    physical_resource_id=TEXT,
    stack_id=MAYBE,
    stack_name=TEXT,
    path=TEXT,
    change=_EFFECT,
    drift_status={"type": "string", "enum": list(DriftStatus)},
    reason=TEXT,
    properties=list_of(_PROPERTY),
    dependents=_NAMES,
    destructive=_SWITCH,
    fails=_SWITCH,
    sensitive=_SWITCH,
)
_QUOTA: Schema = object_with(
    quota=TEXT,
    service=TEXT,
    needed=COUNT,
    released=COUNT,
    used=MAYBE_COUNT,
    limit=MAYBE_COUNT,
    status=_QUOTA_STATUS,
    reason=TEXT,
)

QUERIES: Mapping[str, Mapping[str, Schema]] = {
    "plan": {"detail": {"type": "string", "enum": ["summary"]}, "change": list_of(_EFFECT)},
}

BODY_FIELDS: Mapping[str, Schema] = {
    "action": {
        "type": "string",
        "enum": [each for each in PlanAction if each is not PlanAction.CREATE],
    },
    "skip": {"type": ["array", "null"], "items": TEXT},
    "resources": {"type": ["array", "null"], "items": TEXT},
    "import": _TEXTS_BY_NAME,
    "move": _TEXTS_BY_NAME,
    "rename": _TEXTS_BY_NAME,
    "existing": JSON_FLAG,
    "target": {"type": "object", "required": ["stack"], "properties": {"stack": TEXT}},
}
"""Fields of the body of a plan, beside those of an update."""

ERROR_FIELDS: Mapping[str, Schema] = {
    "difference_count": COUNT,
    "differences": list_of(object_with(stack_name=TEXT, resource_name=TEXT, reason=TEXT)),
}
"""Fields of the error of a plan that does not hold any more."""

RESPONSES: Mapping[str, Schema] = {
    "plan_header": object_with(plan=object_with(**_HEADER)),
    "plan": object_with(
        plan=object_with({"quotas": list_of(_QUOTA), "resources": list_of(_RESOURCE)}, **_HEADER)
    ),
    "plans": object_with(plans=list_of(object_with(**_HEADER))),
}
