"""The entries of a resource registry that map types to types and templates.

Used by ``resource_registry``, and by whatever tells a template from a type by its name.  Decides
which entries apply to a type.  Must not know which registry an entry is from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = Any
RESOURCES, BASE_URL = "resources", "base_url"


def is_template_name(implementation: str) -> bool:
    """Return whether a registry target names a template rather than a resource type."""
    return implementation.endswith((".yaml", ".template"))


@dataclass(frozen=True, slots=True)
class Implementation:
    """The type or template that implements a resource type.

    ``from_user`` is False if the operator's environment chose it: templates that the
    operator names may come from files of the host.
    """

    target: str
    from_user: bool = True

    @property
    def is_template(self) -> bool:
        """True if the target is a template."""
        return is_template_name(self.target)


def matching_targets(entries: Mapping[str, Json], type_name: str) -> Iterator[tuple[str, str]]:
    """Yield the entries that apply to a type by their patterns, each with its target."""
    for pattern, target in entries.items():
        if not isinstance(target, str) or pattern in (RESOURCES, BASE_URL):
            continue
        if pattern == type_name:
            yield pattern, target
        elif pattern.endswith("*") and type_name.startswith(pattern[:-1]):
            if target.endswith("*"):
                yield pattern, target[:-1] + type_name[len(pattern) - 1 :]
            elif target != type_name:
                yield pattern, target
