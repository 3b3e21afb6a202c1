"""The body that makes a plan.

Called by the controllers that take it. The fields of an update are parsed by ``stack_body``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.api.requests.params import parse_boolean
from heat_convergence.common import errors
from heat_convergence.convergence.plans.stored_plan import PlanAction

Json = Any
MAX_RESOURCES = 100  # resources in one plan to import, move or rename
_STACK_ACTIONS = tuple(each for each in PlanAction if each is not PlanAction.CREATE)
_OWN_KEYS = {PlanAction.DELETE: "skip", PlanAction.REPAIR: "resources"}
_PAIRS = {
    PlanAction.IMPORT: "import",
    PlanAction.MOVE: "move",
    PlanAction.RENAME: "rename",
}
_TARGET, _EXISTING, _CONVERGE = "target", "existing", "converge"


@dataclass(frozen=True, slots=True)
class PlanBody:
    """The body of a request for a plan of an existing stack.

    Attributes:
        fields: those of an update.
        names: of resources that a deletion leaves alone or that a repair concerns; None for
            all that have drifted.
        pairs: name → physical id to import, or the new name of a resource.
        keeps_goal: of an import, move or rename: what the fields do not name stays.
        target: of a move, the stack that the resources move to.
    """

    action: PlanAction
    fields: Mapping[str, Json]
    names: tuple[str, ...] | None = None
    pairs: Mapping[str, str] = field(default_factory=dict)
    keeps_goal: bool = False
    target: TargetBody | None = None


@dataclass(frozen=True, slots=True)
class TargetBody:
    """The stack that resources move to.

    Attributes:
        stack: its name or id.
        fields: those of its update.
        keeps_goal: as of ``PlanBody``.
    """

    stack: str
    fields: Mapping[str, Json]
    keeps_goal: bool = False


def parse_plan_body(body: Mapping[str, Json]) -> PlanBody:
    """Return the parsed body.

    Raises:
        HTTPBadRequest: the action or the names are not valid.
    """
    action = _parse_action(body.get("action", PlanAction.UPDATE))
    fields = {key: value for key, value in body.items() if key != "action"}
    if action in _PAIRS:
        return _parse_handover(action, fields)
    key = _OWN_KEYS.get(action)
    if key is None:
        return PlanBody(action, fields)
    unknown = sorted(fields.keys() - {key})
    if unknown:
        raise errors.HTTPBadRequest(f'A plan to {action} has an unknown key: "{unknown[0]}".')
    return PlanBody(action, {}, _parse_names(key, fields.get(key)))


def _parse_handover(action: PlanAction, fields: Mapping[str, Json]) -> PlanBody:
    pairs = _parse_pairs(_PAIRS[action], fields.get(_PAIRS[action]))
    target = _parse_target(fields.get(_TARGET)) if action is PlanAction.MOVE else None
    own = {_PAIRS[action], _TARGET} if action is PlanAction.MOVE else {_PAIRS[action]}
    kept, rest = _split_update(fields, own)
    return PlanBody(action, rest, pairs=pairs, keeps_goal=kept, target=target)


def _parse_target(value: Json) -> TargetBody:
    if not isinstance(value, dict) or not isinstance(value.get("stack"), str):
        raise errors.HTTPBadRequest(f'"{_TARGET}" must be a map with the name or id of a "stack".')
    kept, rest = _split_update(value, {"stack"})
    return TargetBody(value["stack"], rest, kept)


def _split_update(fields: Mapping[str, Json], own: set[str]) -> tuple[bool, Mapping[str, Json]]:
    """Return whether the goal is kept where nothing is named, and the fields of the update."""
    if fields.get(_CONVERGE):
        raise errors.HTTPBadRequest(
            f'"{_CONVERGE}" is not allowed: resources are handed over as they are.'
        )
    kept = fields.get(_EXISTING)
    rest = {key: value for key, value in fields.items() if key not in own | {_EXISTING}}
    return kept is not None and parse_boolean(_EXISTING, kept), rest


def _parse_pairs(key: str, value: Json) -> dict[str, str]:
    texts = isinstance(value, dict) and all(isinstance(v, str) and v for v in value.values())
    if not texts or not value:
        meaning = "a physical id" if key == "import" else "its new name"
        raise errors.HTTPBadRequest(
            f'"{key}" must be a map from the name of each resource to {meaning}.'
        )
    if len(value) > MAX_RESOURCES:
        raise errors.HTTPBadRequest(f'"{key}" names more than {MAX_RESOURCES} resources.')
    if len(set(value.values())) < len(value):
        raise errors.HTTPBadRequest(f'"{key}" names the same value for two resources.')
    return dict(value)


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
