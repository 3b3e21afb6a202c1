"""Checks of what a resource registry states about single resources.

Called by ``resource_registry`` when it parses an environment.  Decides which hooks, restricted
actions and policies exist; must not look for the resources that they apply to.

Source: docs/reference/events-and-states.rst, "resource_registry forms".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import (
    HTTPBadRequest,
    InvalidBreakPointHook,
    InvalidRestrictedAction,
)
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.drift_policies import (
    DRIFT,
    parse_drift,
    parse_entry_window,
)
from heat_convergence.template.environment.readiness import READINESS, parse_readiness
from heat_convergence.template.environment.stabilization import STABILIZATION, parse_stabilization

Json = Any
HOOK_TYPES = (
    "pre-create",
    "pre-update",
    "pre-delete",
    "post-create",
    "post-update",
    "post-delete",
)
RESTRICTED_ACTION_TYPES = ("update", "replace")
HOOKS, RESTRICTED_ACTIONS = "hooks", "restricted_actions"
RESTORED_PROPERTIES = "restored_properties"  # see ResourceRegistry.restored_properties()
POLICIES = (DRIFT, READINESS, STABILIZATION)
# Maps that name no resource of a nested stack.
MAPS_OF_RESOURCE = (RESTORED_PROPERTIES, *POLICIES)


def as_list(value: Json) -> list[Json]:
    """Return a list: the value itself, or one with the single value."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def check_resources(resources: Json) -> None:
    """Check what a registry states about single resources.

    Raises:
        HTTPBadRequest: An entry has the wrong form, or an unknown policy, level or window.
        InvalidBreakPointHook: A hook has an unknown type.
        InvalidRestrictedAction: A restricted action is unknown.
    """
    if resources is None:
        return
    if not isinstance(resources, dict):
        raise HTTPBadRequest('"resources" in the resource_registry is not a map.')
    for name, body in resources.items():
        if isinstance(body, dict):
            _check_body(body, f"resource_registry.resources.{name}")


def _check_body(body: Mapping[str, Json], path: str) -> None:
    for key, value in body.items():
        if key == HOOKS:
            _check_hooks(as_list(value))
        elif key == RESTRICTED_ACTIONS:
            _check_restricted(as_list(value))
        elif key == RESTORED_PROPERTIES and not isinstance(value, dict):
            raise HTTPBadRequest(f'"{RESTORED_PROPERTIES}" in the resource_registry is not a map.')
        elif key == DRIFT and value is not None:
            parse_drift(value, f"{path}.{DRIFT}")
            parse_entry_window(value, f"{path}.{DRIFT}")
        elif key == READINESS and value is not None:
            parse_readiness(value, f"{path}.{READINESS}")
        elif key == STABILIZATION and value is not None:
            parse_stabilization(value, f"{path}.{STABILIZATION}")
        elif isinstance(value, dict) and key not in MAPS_OF_RESOURCE:
            _check_body(value, f"{path}.{key}")


def _check_hooks(hooks: list[Json]) -> None:
    for hook in hooks:
        if hook not in HOOK_TYPES:
            raise InvalidBreakPointHook(
                f'Invalid hook type "{hook}" for resource breakpoint, acceptable hook types are:'
                f" {HOOK_TYPES}{did_you_mean(hook, HOOK_TYPES)}"
            )


def _check_restricted(actions: list[Json]) -> None:
    for action in actions:
        if action not in RESTRICTED_ACTION_TYPES:
            raise InvalidRestrictedAction(
                f'Invalid restricted_action type "{action}" for resource, acceptable'
                f" restricted_action types are: {RESTRICTED_ACTION_TYPES}"
            )
