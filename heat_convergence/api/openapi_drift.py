"""The schemas of requests and responses about drift.

Used by ``openapi_schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api.openapi_fields import (
    ANY,
    COUNT,
    MAYBE,
    TEXT,
    Schema,
    list_of,
    object_with,
)
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.repair_budget import RepairOutcome, RepairStatus
from heat_convergence.convergence.drift.repair_preview import RepairAction
from heat_convergence.template.environment.drift_policies import DriftPolicy

DRIFT_STATUS: Schema = {"type": "string", "enum": list(DriftStatus)}
DRIFT_POLICY: Schema = {"type": "string", "enum": list(DriftPolicy)}
_MAYBE_POLICY: Schema = {"type": ["string", "null"], "enum": [*DriftPolicy, None]}
_SWITCH: Schema = {"type": "boolean"}
_WINDOW = object_with(cron=TEXT, duration=COUNT, timezone=TEXT)
_NOTHING: Schema = {"type": "null"}
_DRIFT_ENTRY: dict[str, Schema] = {
    "resource_name": TEXT,
    "resource_type": TEXT,
    "physical_resource_id": TEXT,
    "stack_id": TEXT,
    "stack_name": TEXT,
    "drift_status": DRIFT_STATUS,
    "observed_at": MAYBE,
    "drift_since": MAYBE,
    "drift_reason": TEXT,
    "observation_source": TEXT,
    "drift_policy": DRIFT_POLICY,
    "properties": list_of(object_with(property=TEXT, applied=ANY, observed=ANY)),
}

_PREVIEWED_REPAIR: dict[str, Schema] = {
    **{
        name: _DRIFT_ENTRY[name]
        for name in (
            "resource_name",
            "resource_type",
            "physical_resource_id",
            "stack_id",
            "stack_name",
            "drift_status",
            "observed_at",
            "properties",
        )
    },
    "repair_action": {"type": "string", "enum": list(RepairAction)},
    "repair_reason": TEXT,
}

QUERIES: Mapping[str, Mapping[str, Schema]] = {
    "stack_drift": {"status": list_of(DRIFT_STATUS)},
    "drift": {"status": list_of(DRIFT_STATUS), "limit": COUNT, "marker": TEXT},
}

BODIES: Mapping[str, Schema] = {
    "drift_policy": object_with(
        {
            "policy": _MAYBE_POLICY,
            "paused": _SWITCH,
            "repair_window": {
                "anyOf": [
                    TEXT,
                    object_with({"duration": COUNT, "timezone": TEXT}, cron=TEXT),
                    _NOTHING,
                ]
            },
        }
    ),
    "drift_breakers": object_with(confirmed=list_of(TEXT)),
}

RESPONSES: Mapping[str, Schema] = {
    "action": {
        "anyOf": [
            {"type": "null"},
            object_with(
                repair=object_with(
                    stack_id=TEXT,
                    stack_name=TEXT,
                    dry_run=_SWITCH,
                    resources=list_of(object_with(**_PREVIEWED_REPAIR)),
                )
            ),
        ]
    },
    "stack_drift": object_with(
        drift=object_with(
            stack_id=TEXT,
            stack_name=TEXT,
            drift_status=DRIFT_STATUS,
            resource_counts={"type": "object", "additionalProperties": COUNT},
            resources=list_of(object_with(**_DRIFT_ENTRY)),
        )
    ),
    "drift": object_with(
        {"links": list_of(object_with(href=TEXT, rel=TEXT))},
        resources=list_of(object_with(resource_id=TEXT, **_DRIFT_ENTRY)),
    ),
    "drift_policy": object_with(
        drift_policy=object_with(
            stack_id=TEXT,
            policy=_MAYBE_POLICY,
            paused=_SWITCH,
            repair_window={"anyOf": [_WINDOW, _NOTHING]},
        )
    ),
    "drift_repairs": object_with(
        repairs=list_of(
            object_with(
                stack_id=TEXT,
                stack_name=TEXT,
                resource_name=TEXT,
                repair_status={"type": "string", "enum": list(RepairStatus)},
                repair_reason=TEXT,
                tries=COUNT,
                started_at=MAYBE,
                ended_at=MAYBE,
                repair_outcome={"type": ["string", "null"], "enum": [*RepairOutcome, None]},
                next_at=MAYBE,
            )
        )
    ),
    "drift_breakers": object_with(
        breakers=list_of(
            object_with(
                id=TEXT,
                resource_type=TEXT,
                region=TEXT,
                lost=COUNT,
                total=COUNT,
                since=MAYBE,
                confirmed=_SWITCH,
            )
        )
    ),
}
