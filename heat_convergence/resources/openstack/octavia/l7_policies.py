"""``OS::Octavia::L7Policy``: redirect targets must fit the policy's action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import ResourcePropertyValueDependency
from heat_convergence.resources.driver.declarative import DeclarativeType

Json = Any
_REQUIRED_ACTIONS = {"redirect_pool": "REDIRECT_TO_POOL", "redirect_url": "REDIRECT_TO_URL"}


class L7Policy(DeclarativeType):
    """A layer 7 policy of a listener."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Reject a redirect target that does not belong to the action."""
        action = properties.get("action")
        for name, required in _REQUIRED_ACTIONS.items():
            if action is not None and action != required and properties.get(name) is not None:
                raise ResourcePropertyValueDependency(
                    f"{name} goes with the action {required}, not with {action}."
                )
