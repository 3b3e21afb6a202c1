"""What a plan is made from: the wanted definitions, and the when and who.

Made by ``api`` and by whoever begins nested stacks, read by ``plan`` and
``list_incarnations``; decides how a definition is stored and hashed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.template.evaluation.resource_definition import (
    ResourceDefinition,
    deduplicate_definition,
    definition_fingerprint,
)

NESTED_STACK_KEY = "nested"
"""Where a stored definition says that a stack is behind the resource."""

UPDATE_REPAIRS_FAILURE = "mended"
"""Where it says that an update may mend its failures."""


def has_update_hook(hooks_and_restrictions: Collection[str]) -> bool:
    """Whether an update stops at the resource, changed or not."""
    return "pre-update" in hooks_and_restrictions or "post-update" in hooks_and_restrictions


@dataclass(frozen=True, slots=True)
class DesiredResource:
    """A definition as the plan needs it: compared by hash, stored as data; its long
    texts, in ``contents`` by their hashes, are stored once for all."""

    name: str
    type: str
    implementation: str
    definition: Mapping[str, Json]
    definition_hash: str
    requires: frozenset[str]
    referenced_names: frozenset[str]
    sensitive: bool = False
    contents: Mapping[str, str] = field(default_factory=dict)
    hooks_and_restrictions: tuple[str, ...] = ()
    replace_on_update: bool = False  # an update makes a new one, changed or not

    @classmethod
    def from_definition(
        cls,
        definition: ResourceDefinition,
        implementation: str,
        nested: Mapping[str, Json] | None = None,
        hooks_and_restrictions: tuple[str, ...] = (),
        *,
        update_repairs_failure: bool = False,
    ) -> DesiredResource:
        """``nested`` for a type with a stack behind it: what that stack is made of
        beside the properties, and what others read of it; ``mended`` for one whose
        failures an update may mend."""
        contents: dict[str, str] = {}
        dumped = deduplicate_definition(definition.dump(), contents)
        if nested is not None:
            dumped[NESTED_STACK_KEY] = nested
        if update_repairs_failure:
            dumped[UPDATE_REPAIRS_FAILURE] = True
        return cls(
            name=definition.name,
            type=definition.type,
            implementation=implementation,
            definition=dumped,
            definition_hash=_hash(definition, nested),
            requires=definition.requires,
            referenced_names=definition.referenced_names,
            # What comes out of a stack may be secret, whatever went in.
            sensitive=definition.sensitive or nested is not None,
            contents=contents,
            hooks_and_restrictions=hooks_and_restrictions,
        )

    @property
    def has_nested_stack(self) -> bool:
        """Whether a stack is behind it."""
        return NESTED_STACK_KEY in self.definition


def _hash(definition: ResourceDefinition, nested: Mapping[str, Json] | None) -> str:
    """Of the definition and of what it requires, as an explicit ``depends_on``
    alone changes the order of deletion."""
    parts = [definition_fingerprint(definition), *sorted(definition.requires)]
    if nested is not None:
        parts.append(json.dumps(nested, sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class StateSource(Enum):
    """What a traversal believes of resources that its goal leaves as they are."""

    RECORDED = "recorded"  # what their rows say
    OBSERVED = "observed"  # nothing, until they have been looked at


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The when and who of a plan."""

    stack_id: str
    stack_name: str
    version: int
    now: datetime
    ids: IdFactory
    project_id: str = ""
    root_id: str = ""
    action: Action = Action.CREATE
    state_source: StateSource = StateSource.RECORDED
