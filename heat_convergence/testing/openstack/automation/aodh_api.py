"""Aodh's API: alarms, which an update replaces as a whole."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
_ENTITY = "aodh.alarm"
# Fields that an alarm without them gets.
_DEFAULTS: dict[str, Json] = {"state": "insufficient data", "description": "", "severity": "low"}


def install(emulation: Emulation) -> None:
    """Install Aodh's handlers."""
    emulation.on_create(_ENTITY, _create_alarm)
    emulation.add_handler("alarm", "PUT", "/alarms/{id}", _replace_alarm)


def _require_rule(body: dict[str, Json]) -> None:
    """Refuse an alarm without a rule of its type, and empty values of the rule."""
    alarm_type = body.get("type")
    if not alarm_type:
        raise EmulatedError(400, "Invalid input for field/attribute type.")
    rule = body.get(f"{alarm_type}_rule")
    if not rule or None in rule.values() or rule.get("comparison_operator") == "":
        raise EmulatedError(400, f"{alarm_type}_rule must be set for {alarm_type} type alarm")
    for limits in body.get("time_constraints") or ():
        if None in limits.values():
            raise EmulatedError(400, f"Invalid input for time_constraints: {limits}")


def _create_alarm(emulation: Emulation, item: EmulatedResource) -> None:
    _require_rule(item.body)
    item.body.pop("status", None)
    item.body.update({**_DEFAULTS, **item.body})


def _replace_alarm(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing(_ENTITY, request.path_parameters["id"])
    body = {"alarm_id": item.body["alarm_id"], **_DEFAULTS, **request.body}
    if body.get("type") != item.body["type"]:
        raise EmulatedError(400, "The type of an alarm cannot be changed")
    _require_rule(body)
    item.body.clear()
    item.body.update(body)
    return EmulatedResponse(200, item.body)
