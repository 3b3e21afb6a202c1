"""What a case of the conformance suite says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Any
Resource = tuple[str, str, Mapping[str, Json]]


@dataclass(frozen=True)
class Case:
    """A type, what must be there before, its properties at first and after each
    update, and attributes as they are in the end."""

    type: str
    before: Sequence[Resource] = ()
    properties: Mapping[str, Json] = field(default_factory=dict)
    updates: Sequence[Mapping[str, Json]] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    admin: bool = False
    findable: bool = True
    label: str = ""
    real_only: bool = False
    lasting: bool = False  # it can be found at all times, as quotas can

    @property
    def id(self) -> str:
        return self.label or self.type
