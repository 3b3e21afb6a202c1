"""The body that makes a plan.

Called by the controllers that take it. The fields of an update are parsed by ``stack_body``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.plans.stored_plan import PlanAction

Json = Any
_STACK_ACTIONS = (PlanAction.UPDATE, PlanAction.PATCH, PlanAction.DELETE, PlanAction.REPAIR)
_OWN_KEYS = {PlanAction.DELETE: "skip", PlanAction.REPAIR: "resources"}


@dataclass(frozen=True, slots=True)
class PlanBody:
    """The body of a request for a plan of an existing stack.

    Attributes:
        fields: those of an update.
        names: of resources that a deletion leaves alone or that a repair concerns; None for
            all that have drifted.
    """

    action: PlanAction
    fields: Mapping[str, Json]
    names: tuple[str, ...] | None = None


def parse_plan_body(body: Mapping[str, Json]) -> PlanBody:
    """Return the parsed body.

    Raises:
        HTTPBadRequest: the action or the names are not valid.
    """
    action = _parse_action(body.get("action", PlanAction.UPDATE))
    fields = {key: value for key, value in body.items() if key != "action"}
    key = _OWN_KEYS.get(action)
    if key is None:
        return PlanBody(action, fields)
    unknown = sorted(fields.keys() - {key})
    if unknown:
        raise errors.HTTPBadRequest(f'A plan to {action} has an unknown key: "{unknown[0]}".')
    return PlanBody(action, {}, _parse_names(key, fields.get(key)))


def _parse_action(word: Json) -> PlanAction:
    known = ", ".join(_STACK_ACTIONS)
    if not isinstance(word, str) or word not in set(_STACK_ACTIONS):
        raise errors.HTTPBadRequest(f'"action" must be one of {known}, not "{word}".')
    return PlanAction(word)


def _parse_names(key: str, value: Json) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise errors.HTTPBadRequest(f'"{key}" must be a list of resource names.')
    return tuple(value)
