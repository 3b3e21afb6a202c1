"""The input of a plan: the desired resources of a goal, and its context.

Made by ``stacks`` for root and nested stacks, read by ``plan`` and ``incarnations``.
Decides how a definition is stored and hashed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from heat_convergence.common.ids import IdFactory
from heat_convergence.common.values.packed_map import pickled_by_constructor
from heat_convergence.convergence.drift.policy import is_restored
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.template.evaluation.resource_definition import (
    ResourceDefinition,
    deduplicate_definition,
    definition_fingerprint,
)

NESTED_STACK_KEY = "nested"
"""Key in a stored definition: what the nested stack of the resource is made of."""

SOURCE_DIGEST_KEY = "source_digest"
"""Key in a stored definition: a hash of the files and environment that the resource sends."""

UPDATE_REPAIRS_FAILURE = "mended"
"""Key in a stored definition: an update may repair a failed resource."""

# Most resources have none; they share these, as a goal may have 100,000 of them.
_NO_CONTENTS: Mapping[str, str] = {}
_NO_LEVELS: Mapping[str, ReadinessLevel] = {}


def has_update_hook(hooks_and_restrictions: Collection[str]) -> bool:
    """Return whether an update stops at the resource, changed or not."""
    return "pre-update" in hooks_and_restrictions or "post-update" in hooks_and_restrictions


@pickled_by_constructor
@dataclass(frozen=True, slots=True)
class DesiredResource:
    """A definition as a plan needs it: compared by hash, stored as data.

    Attributes:
        contents: its long texts by their hashes; they are stored once for all definitions.
        requirement_levels: name of a requirement → the level at which this resource may
            start, for requirements that need not be done.
    """

    name: str
    type: str
    implementation: str
    definition: Mapping[str, Json]
    definition_hash: str
    requires: frozenset[str]
    referenced_names: frozenset[str]
    sensitive: bool = False
    contents: Mapping[str, str] = field(default_factory=lambda: _NO_CONTENTS)
    hooks_and_restrictions: tuple[str, ...] = ()
    replace_on_update: bool = False  # an update replaces it, changed or not
    runs_on_update: bool = False  # an update has a job for it, changed or not
    requirement_levels: Mapping[str, ReadinessLevel] = field(default_factory=lambda: _NO_LEVELS)

    @classmethod
    def from_definition(
        cls,
        definition: ResourceDefinition,
        implementation: str,
        nested: Mapping[str, Json] | None = None,
        hooks_and_restrictions: tuple[str, ...] = (),
        *,
        update_repairs_failure: bool = False,
        source_digest: str = "",
    ) -> DesiredResource:
        """Make a desired resource of an evaluated definition.

        Args:
            definition: the definition.
            implementation: the type that the environment maps its type to.
            nested: for a type with a nested stack, what that stack is made of beside
                the properties, and what others read of it.
            hooks_and_restrictions: hooks, restricted actions and drift policies of the
                environment.
            update_repairs_failure: an update may repair a failed resource of the type.
            source_digest: hash of the stack's files and environment, for a type that sends
                them to another service.
        """
        contents: dict[str, str] = {}
        whole = definition.dump()
        fingerprint = definition_fingerprint(whole)
        dumped = deduplicate_definition(whole, contents)
        if nested is not None:
            dumped[NESTED_STACK_KEY] = nested
        if source_digest:
            dumped[SOURCE_DIGEST_KEY] = source_digest
        if update_repairs_failure:
            dumped[UPDATE_REPAIRS_FAILURE] = True
        return cls(
            name=definition.name,
            type=definition.type,
            implementation=implementation,
            definition=dumped,
            definition_hash=_hash(fingerprint, definition.requires, nested, source_digest),
            requires=definition.requires,
            referenced_names=definition.referenced_names,
            # Outputs of a nested stack may be secret, whatever its properties are.
            sensitive=definition.sensitive or nested is not None,
            contents=contents or _NO_CONTENTS,
            hooks_and_restrictions=hooks_and_restrictions,
        )

    @property
    def has_nested_stack(self) -> bool:
        """True if the resource has a nested stack."""
        return NESTED_STACK_KEY in self.definition


def _hash(
    fingerprint: str,
    requires: Collection[str],
    nested: Mapping[str, Json] | None,
    source_digest: str,
) -> str:
    """Return the hash of a definition and of its requirements.

    A changed ``depends_on`` alone changes the order of deletion.
    """
    parts = [fingerprint, *sorted(requires)]
    if nested is not None:
        parts.append(json.dumps(nested, sort_keys=True))
    if source_digest:
        parts.append(source_digest)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def build_desired_resources(
    definitions: Mapping[str, ResourceDefinition], implementations: Mapping[str, str]
) -> dict[str, DesiredResource]:
    """Make desired resources of definitions, by name.

    Args:
        definitions: resource name → definition.
        implementations: resource name → type, for types that an environment maps.
    """
    return {
        name: DesiredResource.from_definition(
            definition, implementations.get(name, definition.type)
        )
        for name, definition in definitions.items()
    }


class StateSource(Enum):
    """The source of truth for resources that a goal leaves as they are."""

    RECORDED = "recorded"  # their rows
    OBSERVED = "observed"  # an observation by the traversal


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The stack, the version and the time that a plan is made for."""

    stack_id: str
    stack_name: str
    version: int
    now: datetime
    ids: IdFactory
    project_id: str = ""
    root_id: str = ""
    action: Action = Action.CREATE
    state_source: StateSource = StateSource.RECORDED
    observed_names: frozenset[str] | None = None  # with OBSERVED, these alone; None: all

    @classmethod
    def of_next_update(
        cls,
        stack: Stack,
        now: datetime,
        ids: IdFactory,
        state_source: StateSource = StateSource.RECORDED,
    ) -> PlanContext:
        """Return the context of an update of the stack that has not been started."""
        return cls(
            stack.id,
            stack.name,
            stack.version + 1,
            now,
            ids,
            project_id=stack.project_id,
            root_id=stack.tree_id,
            action=Action.UPDATE,
            state_source=state_source,
        )

    def observes(self, desired: DesiredResource) -> bool:
        """Return whether the traversal observes the resource before it is left as it is.

        A drift policy of the environment may say that the resource is never restored.
        """
        chosen = self.observed_names is None or desired.name in self.observed_names
        restored = is_restored(desired.hooks_and_restrictions)
        return chosen and restored and self.state_source is StateSource.OBSERVED
