"""The definition of one resource, evaluated as far as the template alone allows.

Built by ``evaluate_template``, stored with the resource's row, and resolved by the engine
once the referenced resources are ready.  Must not read other resources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.common.values.packed_map import pickled_by_constructor
from heat_convergence.template import expression

Json = Any
Value = Any

NO_SHARED_CONTENTS: Mapping[str, str] = {}
EMPTY_SECTION: Mapping[str, Value] = {}
"""A section that a resource does not have: most have no metadata and no update policy."""
_SECTIONS = ("properties", "metadata", "update_policy")  # the parts that may hold expressions
# A key of stored definitions: properties of a resource that is still to be adopted.
ADOPTED_PROPERTIES = "handed"
_REQUIRES, _REFERENCED_NAMES = "requires", "draws_on"
_NAMES = frozenset({_REQUIRES, _REFERENCED_NAMES})
DELETE, RETAIN, SNAPSHOT = "Delete", "Retain", "Snapshot"


@pickled_by_constructor
@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """A partly evaluated resource of a template.

    Attributes:
        type: The type in the template, before the resource registry is applied.
        properties: A map with expressions where it reads other resources, or one
            expression; ``metadata`` and ``update_policy`` likewise.
        requires: Names of resources that must be ready first: ``depends_on`` and every
            reference.
        referenced_names: Those of them whose values are read.
        depends_on: Those of them that it names itself; not stored.
        sensitive: Whether the value of a hidden parameter is part of it, so that it must be
            stored encrypted.
    """

    name: str
    type: str
    properties: Value = field(default_factory=lambda: EMPTY_SECTION)
    metadata: Value = field(default_factory=lambda: EMPTY_SECTION)
    update_policy: Value = field(default_factory=lambda: EMPTY_SECTION)
    deletion_policy: str = DELETE
    external_id: str | None = None
    description: str = ""
    requires: frozenset[str] = frozenset()
    referenced_names: frozenset[str] = frozenset()
    sensitive: bool = False
    depends_on: frozenset[str] = field(default=frozenset(), compare=False)

    def dump(self) -> dict[str, Json]:
        """Return plain JSON without the name and without fields that have their default."""
        data = self._content()
        if self.requires:
            data[_REQUIRES] = sorted(self.requires)
        if self.referenced_names:
            data[_REFERENCED_NAMES] = sorted(self.referenced_names)
        if self.sensitive:
            data["sensitive"] = True
        return data

    @classmethod
    def load(
        cls, name: str, data: Mapping[str, Json], contents: Mapping[str, str] = NO_SHARED_CONTENTS
    ) -> ResourceDefinition:
        """Load a definition that ``dump`` wrote.

        ``contents`` are the texts, by hash, that ``deduplicate_definition`` moved out of it.
        """
        return cls(
            name=name,
            type=data["type"],
            **{key: load_section(data, key, contents) for key in _SECTIONS},
            deletion_policy=data.get("deletion_policy", DELETE),
            external_id=data.get("external_id"),
            description=data.get("description", ""),
            requires=frozenset(data.get(_REQUIRES, ())),
            referenced_names=frozenset(data.get(_REFERENCED_NAMES, ())),
            sensitive=data.get("sensitive", False),
        )

    def _content(self) -> dict[str, Json]:
        data: dict[str, Json] = {"type": self.type}
        for key in _SECTIONS:
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
    """Move long texts, maps and lists of a dumped definition to ``contents``, by hash."""
    deduplicated = {
        key: expression.deduplicate_map(data[key], contents) for key in _SECTIONS if key in data
    }
    return {**data, **deduplicated}


def restore_definition(data: Mapping[str, Json], contents: Mapping[str, str]) -> dict[str, Json]:
    """Return the dumped definition with its deduplicated contents restored."""
    restored = {
        key: expression.restore_value(data[key], contents.__getitem__)
        for key in _SECTIONS
        if key in data
    }
    return {**data, **restored}


def load_section(
    data: Mapping[str, Json],
    section: str,
    contents: Mapping[str, str],
    cache: dict[str, Value] | None = None,
) -> Value:
    """Load one section of a stored definition.

    Args:
        data: The stored definition.
        section: ``properties``, ``metadata`` or ``update_policy``.
        contents: Deduplicated texts by hash.
        cache: Values by hash.  Definitions loaded with the same cache share the objects
            that they have in common.
    """
    return expression.load_deduplicated(data.get(section, {}), contents.__getitem__, cache)


def collect_definition_hashes(
    data: Mapping[str, Json], sections: Collection[str] = (*_SECTIONS, ADOPTED_PROPERTIES)
) -> frozenset[str]:
    """Return the hashes of the contents that a stored definition refers to."""
    return expression.collect_content_hashes([data[key] for key in sections if key in data])


def definition_fingerprint(dumped: Mapping[str, Json]) -> str:
    """Return the SHA-256, in hex, of a dumped definition's content and sensitivity.

    The order of maps and the names of other resources do not count.
    """
    content = {key: value for key, value in dumped.items() if key not in _NAMES}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
