"""Contexts for the tests of resource types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import resolve_properties
from heat_convergence.resources.protocol.verb_values import ResourceContext

START = datetime(2026, 1, 1, tzinfo=UTC)


def make_context(
    resource_type: ResourceType,
    properties: Mapping[str, Any],
    action: Action = Action.CREATE,
    *,
    after_s: float = 0.0,
    **overrides: Any,
) -> ResourceContext:
    """Return a context ``after_s`` seconds after the start of the action.

    Args:
        resource_type: The type of the resource.
        properties: Properties to resolve against the type's schema.
        action: The current action.
        after_s: Seconds since the start of the action.
        overrides: Further fields of the context.
    """
    fields: dict[str, Any] = {
        "physical_id": None if action is Action.CREATE else "web-r-0123456789ab",
        "attributes": {},
        "data": {},
        **overrides,
    }
    return ResourceContext(
        stack_id="1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        stack_name="web",
        project_id="p",
        resource_id="r-1",
        name="r",
        type=resource_type.name,
        physical_name="web-r-0123456789ab",
        properties=resolve_properties(resource_type.schema, properties),
        action=action,
        started_at=START,
        now=START + timedelta(seconds=after_s),
        **fields,
    )


@pytest.fixture
def build_context() -> Callable[..., ResourceContext]:
    """Return ``make_context``, which builds a new context at every call, as the daemons do."""
    return make_context
