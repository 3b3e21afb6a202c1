"""One output of a stack, evaluated as far as the template alone allows.

Made by ``evaluate.build``, stored with the goal, finished whenever somebody reads
the stack.  Must not look at resources itself.
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
    """``enabled`` False: its condition is false; it stays listed and its value is
    null.  ``sensitive``: the value of a hidden parameter went into it."""

    name: str
    value: Value
    description: str = DEFAULT_OUTPUT_DESCRIPTION
    enabled: bool = True
    sensitive: bool = False

    def dump(self) -> dict[str, Json]:
        """Plain JSON; fields at their default are left out, as is the name."""
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
        """The output that ``dump`` wrote."""
        return cls(
            name=name,
            value=expression.load(data["value"]),
            description=data.get("description", DEFAULT_OUTPUT_DESCRIPTION),
            enabled=data.get("enabled", True),
            sensitive=data.get("sensitive", False),
        )
