"""One resource as the goal wants it, evaluated as far as the template alone allows.

Made by ``evaluate.build``, stored with the resource's row, finished by the engine
once what it draws on is ready.  Must not look at other resources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.template import expression

Json = Any
Value = Any

NO_SHARED_CONTENTS: Mapping[str, str] = {}
_VALUES = ("properties", "metadata", "update_policy")  # what may hold expressions
ADOPTED_PROPERTIES = "handed"  # in a stored one: the properties of what is still to be adopted
DELETE, RETAIN, SNAPSHOT = "Delete", "Retain", "Snapshot"


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """``type`` is the template's word, the registry is not applied yet.

    ``property_texts``, ``metadata`` and ``update_policy`` hold expressions where they
    read other resources; each is a map, or as a whole one expression.
    ``requires`` are the names that must be ready first (``depends_on`` and every
    reference), ``referenced_names`` those of them whose values are read.  ``sensitive``
    says that the value of a hidden parameter went into it: the store encrypts it.
    """

    name: str
    type: str
    properties: Value = field(default_factory=dict)
    metadata: Value = field(default_factory=dict)
    update_policy: Value = field(default_factory=dict)
    deletion_policy: str = DELETE
    external_id: str | None = None
    description: str = ""
    requires: frozenset[str] = frozenset()
    referenced_names: frozenset[str] = frozenset()
    sensitive: bool = False

    def dump(self) -> dict[str, Json]:
        """Plain JSON; fields at their default are left out, as is the name."""
        data = self._content()
        if self.requires:
            data["requires"] = sorted(self.requires)
        if self.referenced_names:
            data["draws_on"] = sorted(self.referenced_names)
        if self.sensitive:
            data["sensitive"] = True
        return data

    @classmethod
    def load(
        cls, name: str, data: Mapping[str, Json], contents: Mapping[str, str] = NO_SHARED_CONTENTS
    ) -> ResourceDefinition:
        """The definition that ``dump`` wrote; ``contents`` are the texts, by their hashes,
        that ``share`` moved out of it."""
        return cls(
            name=name,
            type=data["type"],
            **{key: load_section(data, key, contents) for key in _VALUES},
            deletion_policy=data.get("deletion_policy", DELETE),
            external_id=data.get("external_id"),
            description=data.get("description", ""),
            requires=frozenset(data.get("requires", ())),
            referenced_names=frozenset(data.get("draws_on", ())),
            sensitive=data.get("sensitive", False),
        )

    def _content(self) -> dict[str, Json]:
        data: dict[str, Json] = {"type": self.type}
        for key in _VALUES:
            dumped = expression.dump(getattr(self, key))
            if dumped:
                data[key] = dumped
        if self.deletion_policy != DELETE:
            data["deletion_policy"] = self.deletion_policy
        if self.external_id is not None:
            data["external_id"] = self.external_id
        if self.description:
            data["description"] = self.description
        return data


def deduplicate_definition(data: Mapping[str, Json], contents: dict[str, str]) -> dict[str, Json]:
    """A dumped definition whose long texts, maps and lists are moved to ``contents``, by
    their hashes."""
    shared = {
        key: expression.deduplicate_map(data[key], contents) for key in _VALUES if key in data
    }
    return {**data, **shared}


def restore_definition(data: Mapping[str, Json], contents: Mapping[str, str]) -> dict[str, Json]:
    """The dumped definition again."""
    whole = {
        key: expression.restore_value(data[key], contents.__getitem__)
        for key in _VALUES
        if key in data
    }
    return {**data, **whole}


def load_section(
    data: Mapping[str, Json],
    section: str,
    contents: Mapping[str, str],
    cache: dict[str, Value] | None = None,
) -> Value:
    """``property_texts``, ``metadata`` or ``update_policy`` of a stored definition; with the
    same ``made``, definitions have the same objects for what they share."""
    return expression.load_deduplicated(data.get(section, {}), contents.__getitem__, cache)


def collect_definition_hashes(
    data: Mapping[str, Json], sections: Collection[str] = (*_VALUES, ADOPTED_PROPERTIES)
) -> frozenset[str]:
    """The hashes of the contents that a stored definition leads to."""
    return expression.collect_content_hashes([data[key] for key in sections if key in data])


def definition_fingerprint(definition: ResourceDefinition) -> str:
    """SHA-256, in hex, of what the definition says, and of whether it is secret; the
    order of maps does not count, nor does an explicit ``depends_on``."""
    said = definition._content()
    if definition.sensitive:
        said["sensitive"] = True
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
