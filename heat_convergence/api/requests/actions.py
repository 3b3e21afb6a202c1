"""The small bodies: an action on a stack, a snapshot's name, a resource's health.

Called by the controllers that take them.  Raises ``HTTPBadRequest``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.api.requests.params import parse_boolean
from heat_convergence.common import errors

Json = Any
ACTIONS = ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback")
_MAX_NAME = 255
_HEALTH_KEYS = frozenset({"mark_unhealthy", "resource_status_reason"})


@dataclass(frozen=True, slots=True)
class HealthBody:
    unhealthy: bool
    reason: str


def parse_action_name(given: Mapping[str, Json]) -> str:
    """The one key of the body; its value says nothing."""
    if not given:
        raise errors.HTTPBadRequest("No action specified.")
    if len(given) > 1:
        raise errors.HTTPBadRequest("Multiple actions specified.")
    name = next(iter(given))
    if name not in ACTIONS:
        raise errors.HTTPBadRequest(
            f'Invalid action "{name}" specified; it is one of {", ".join(ACTIONS)}.'
        )
    return name


def parse_snapshot_name(given: Mapping[str, Json]) -> str | None:
    name = given.get("name")
    if name is not None and not isinstance(name, str):
        raise errors.HTTPBadRequest('"name" must be a string.')
    if name is not None and len(name) > _MAX_NAME:
        raise errors.HTTPBadRequest(f'"name" has at most {_MAX_NAME} characters.')
    return name


def parse_health_body(given: Mapping[str, Json]) -> HealthBody:
    unknown = sorted(given.keys() - _HEALTH_KEYS)
    if unknown:
        raise errors.HTTPBadRequest(f'Unexpected key in the request body: "{unknown[0]}".')
    if "mark_unhealthy" not in given:
        raise errors.HTTPBadRequest('Missing mandatory key "mark_unhealthy".')
    unhealthy = parse_boolean("mark_unhealthy", given["mark_unhealthy"])
    reason = given.get("resource_status_reason")
    if reason is not None and not isinstance(reason, str):
        raise errors.HTTPBadRequest('"resource_status_reason" must be a string.')
    return HealthBody(unhealthy, reason or "state changed by resource_mark_unhealthy api")
