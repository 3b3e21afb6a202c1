"""The definition of one output, evaluated as far as the template alone allows.

Built by ``evaluate_template``, stored with the goal, resolved whenever the stack's outputs
are read.  Must not read resources itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.template import expression

Json = Any
Value = Any
DEFAULT_OUTPUT_DESCRIPTION = "No description given"


@dataclass(frozen=True, slots=True)
class OutputDefinition:
    """A partly evaluated output.

    Attributes:
        enabled: False if its condition is false: it is listed with the value null.
        sensitive: Whether it holds the value of a hidden parameter.
    """

    name: str
    value: Value
    description: str = DEFAULT_OUTPUT_DESCRIPTION
    enabled: bool = True
    sensitive: bool = False

    def dump(self) -> dict[str, Json]:
        """Return plain JSON without the name and without fields that have their default."""
        data: dict[str, Json] = {"value": expression.dump(self.value)}
        if self.description != DEFAULT_OUTPUT_DESCRIPTION:
            data["description"] = self.description
        if not self.enabled:
            data["enabled"] = False
        if self.sensitive:
            data["sensitive"] = True
        return data

    @classmethod
    def load(cls, name: str, data: Mapping[str, Json]) -> OutputDefinition:
        """Load an output that ``dump`` wrote."""
        return cls(
            name=name,
            value=expression.load(data["value"]),
            description=data.get("description", DEFAULT_OUTPUT_DESCRIPTION),
            enabled=data.get("enabled", True),
            sensitive=data.get("sensitive", False),
        )
