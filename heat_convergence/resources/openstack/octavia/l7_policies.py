"""``OS::Octavia::L7Policy``: where to redirect to goes with what the policy does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourcePropertyValueDependency
from heat_convergence.resources.driver.declarative import DeclarativeType

Json = Any
_TAKES = {"redirect_pool": "REDIRECT_TO_POOL", "redirect_url": "REDIRECT_TO_URL"}


class L7Policy(DeclarativeType):
    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        action = properties.get("action")
        for name, taken in _TAKES.items():
            if action is not None and action != taken and properties.get(name) is not None:
                raise ResourcePropertyValueDependency(
                    f"{name} goes with the action {taken}, not with {action}."
                )
