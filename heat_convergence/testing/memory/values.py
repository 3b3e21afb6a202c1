"""Values as a database column returns them, and rows with fewer columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.sanitization import sanitize_text
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_values

_JSON = frozenset({"definition", "properties", "attributes", "data"})
_NAMES = frozenset(
    {"requires", "referenced_names", "physical_dependencies", "hooks_and_restrictions"}
)
_REASONS = frozenset({"status_reason", "first_failure_reason"})
STORED_RESOURCE_COLUMNS = _JSON | {"status_reason"}


def as_stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as a column returns them: JSON makes lists of tuples."""
    stored = dict(values)
    for name in _JSON & values.keys():
        if values[name]:
            stored[name] = json.loads(json.dumps(values[name]))
    for name in _REASONS & values.keys():
        stored[name] = sanitize_text(values[name]) if values[name] else values[name]
    for name in _NAMES & values.keys():
        stored[name] = tuple(values[name])
    return stored


def as_planned(row: Resource) -> Resource:
    """Return the row as ``resources.lock_by_stack`` does."""
    properties: dict[str, Any] | None = None if row.physical.properties is None else {}
    return with_values(row, {"properties": properties, "attributes": {}, "timeline": None})
