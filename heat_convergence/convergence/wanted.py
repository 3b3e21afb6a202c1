"""What a plan is made from: the wanted definitions, and the when and who.

Made by ``api`` and by whoever begins nested stacks, read by ``plan`` and
``incarnations``; decides how a definition is stored and hashed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model import Action, Json
from heat_convergence.template.definition import Definition, fingerprint, share

NESTED = "nested"
"""Where a stored definition says that a stack is behind the resource."""

MENDED = "mended"
"""Where it says that an update may mend its failures."""


def stops_updates(guards: Collection[str]) -> bool:
    """Whether an update stops at the resource, changed or not."""
    return "pre-update" in guards or "post-update" in guards


@dataclass(frozen=True, slots=True)
class Wanted:
    """A definition as the plan needs it: compared by hash, stored as data; its long
    texts, in ``contents`` by their hashes, are stored once for all."""

    name: str
    type: str
    implementation: str
    definition: Mapping[str, Json]
    definition_hash: str
    requires: frozenset[str]
    draws_on: frozenset[str]
    sensitive: bool = False
    contents: Mapping[str, str] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    renewed: bool = False  # an update makes a new one, changed or not

    @classmethod
    def of(
        cls,
        definition: Definition,
        implementation: str,
        nested: Mapping[str, Json] | None = None,
        guards: tuple[str, ...] = (),
        *,
        mended: bool = False,
    ) -> Wanted:
        """``nested`` for a type with a stack behind it: what that stack is made of
        beside the properties, and what others read of it; ``mended`` for one whose
        failures an update may mend."""
        contents: dict[str, str] = {}
        dumped = share(definition.dump(), contents)
        if nested is not None:
            dumped[NESTED] = nested
        if mended:
            dumped[MENDED] = True
        return cls(
            name=definition.name,
            type=definition.type,
            implementation=implementation,
            definition=dumped,
            definition_hash=_hash(definition, nested),
            requires=definition.requires,
            draws_on=definition.draws_on,
            # What comes out of a stack may be secret, whatever went in.
            sensitive=definition.sensitive or nested is not None,
            contents=contents,
            guards=guards,
        )

    @property
    def nested(self) -> bool:
        """Whether a stack is behind it."""
        return NESTED in self.definition


def _hash(definition: Definition, nested: Mapping[str, Json] | None) -> str:
    """Of the definition and of what it requires, as an explicit ``depends_on``
    alone changes the order of deletion."""
    parts = [fingerprint(definition), *sorted(definition.requires)]
    if nested is not None:
        parts.append(json.dumps(nested, sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Reality(Enum):
    """What a traversal believes of resources that its goal leaves as they are."""

    RECORDED = "recorded"  # what their rows say
    OBSERVED = "observed"  # nothing, until they have been looked at


@dataclass(frozen=True, slots=True)
class Moment:
    """The when and who of a plan."""

    stack_id: str
    stack_name: str
    version: int
    now: datetime
    ids: IdFactory
    project_id: str = ""
    root_id: str = ""
    action: Action = Action.CREATE
    reality: Reality = Reality.RECORDED
