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
ACTIONS = ("suspend", "resume", "check", "repair", "cancel_update", "cancel_without_rollback")
_MAX_NAME = 255
_HEALTH_KEYS = frozenset({"mark_unhealthy", "resource_status_reason"})


@dataclass(frozen=True, slots=True)
class HealthBody:
    """The body that marks a resource unhealthy, or healthy again."""

    unhealthy: bool
    reason: str


@dataclass(frozen=True, slots=True)
class RepairBody:
    """The value of the action ``repair``.

    Attributes:
        resources: Names of the resources to repair; None for all that have drifted.
        dry_run: Whether to show what a repair would do, and to do nothing.
    """

    resources: tuple[str, ...] | None = None
    dry_run: bool = False


def parse_action_name(body: Mapping[str, Json]) -> str:
    """Return the body's only key, the action's name; its value is ignored."""
    if not body:
        raise errors.HTTPBadRequest("No action specified")
    if len(body) > 1:
        raise errors.HTTPBadRequest("Multiple actions specified")
    name = next(iter(body))
    if name not in ACTIONS:
        raise errors.HTTPBadRequest(
            f"Invalid action {name} specified; it is one of {', '.join(ACTIONS)}"
        )
    return name


def parse_repair(value: Json) -> RepairBody:
    """Return the parsed value of ``repair``.

    Raises:
        HTTPBadRequest: It is neither null nor a map with ``resources`` and ``dry_run``.
    """
    if value is None:
        return RepairBody()
    if not isinstance(value, Mapping):
        raise errors.HTTPBadRequest('"repair" must be null or a map with "resources".')
    unknown = sorted(set(value) - {"resources", "dry_run"})
    if unknown:
        raise errors.HTTPBadRequest(f'"repair" has an unknown key: "{unknown[0]}".')
    dry_run = parse_boolean("repair.dry_run", value.get("dry_run", False), errors.HTTPBadRequest)
    if "resources" not in value:
        return RepairBody(dry_run=dry_run)
    names = value["resources"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise errors.HTTPBadRequest('"repair.resources" must be a list of resource names.')
    if not names:
        raise errors.HTTPBadRequest('"repair.resources" must name at least one resource.')
    return RepairBody(tuple(names), dry_run)


def parse_snapshot_name(body: Mapping[str, Json]) -> str | None:
    """Return the snapshot's name, None to have one generated; a number becomes text."""
    name = body.get("name")
    if isinstance(name, int | float) and not isinstance(name, bool):
        name = str(name)
    if name is not None and not isinstance(name, str):
        raise errors.HTTPBadRequest('"name" must be a string.')
    if name is not None and len(name) > _MAX_NAME:
        raise errors.HTTPBadRequest(f'"name" has at most {_MAX_NAME} characters.')
    return name


def parse_health_body(body: Mapping[str, Json]) -> HealthBody:
    """Return the parsed body, or raise ``HTTPBadRequest``."""
    unknown = sorted(body.keys() - _HEALTH_KEYS)
    if unknown:
        raise errors.HTTPBadRequest(
            f"Invalid keys in resource mark unhealthy {{{', '.join(map(repr, unknown))}}}"
        )
    if "mark_unhealthy" not in body:
        raise errors.HTTPBadRequest(
            "Missing mandatory (mark_unhealthy) key from mark unhealthy request"
        )
    unhealthy = parse_boolean("mark_unhealthy", body["mark_unhealthy"], errors.HTTPBadRequest)
    reason = body.get("resource_status_reason")
    if reason is not None and not isinstance(reason, str):
        raise errors.HTTPBadRequest('"resource_status_reason" must be a string.')
    return HealthBody(unhealthy, reason or "state changed by resource_mark_unhealthy api")
