"""The table of catalog types in the documentation.

``python -m tests.conformance.catalog_table > docs/catalogue.rst`` generates the file; a unit
test compares both.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.ownership_marks import is_findable
from heat_convergence.resources.driver.rest_resources import BulkRead, OwnershipMarkField
from heat_convergence.resources.openstack.cinder.qos_specs import QosSpecs
from tests.conformance.case import SupportedCloud
from tests.conformance.cases.all_cases import CASES

HEADER = """\
The catalog
===========

The state of each OpenStack type. *Schema* is the support status that clients see. *Update* is
the number of properties that can be updated in place, and whether the conformance suite updates
them. *Observe* is the request that reads the state of many resources. *Find* is how the driver
recognizes a resource whose create call was never answered; with *(1)* it cannot if the template
sets all of the fields that could carry a mark and the service never changes these fields again,
so that a second resource may be created. *Tested on* is the service, and its release, that the
suite creates, updates and deletes the type on. Types with *no test yet* have their schema only.

This file is generated: ``python -m tests.conformance.catalog_table > docs/catalogue.rst``.

"""
COLUMNS = ("type", "schema", "create", "update", "observe", "find", "tested on")
TYPES_TESTED_ON_REAL_CLOUD = {
    case.type for case in CASES if case.runs_on is not SupportedCloud.EMULATION_ONLY
}
TESTED_TYPES = {case.type for case in CASES}
TYPES_WITH_TESTED_UPDATE = {case.type for case in CASES if case.updated_property_names()}
_ALL_MARKABLE_PROPERTIES: Any = {"name": "hc", "description": "d"}
_CONTEXT_WITH_ALL_MARKABLE: Any = SimpleNamespace(
    properties=_ALL_MARKABLE_PROPERTIES
)  # the only field that is_findable reads
_BULK_READ_LABELS = {
    BulkRead.BY_IDS: "list by ids",
    BulkRead.CHANGED_SINCE: "list of changes",
    BulkRead.ALL: "list",
}


def render_rows() -> Iterator[str]:
    """Yield the lines of the table."""
    rows = [
        _render_row(resource_type)
        for resource_type in load_resource_types()
        if isinstance(resource_type, DeclarativeType)
    ]
    rows.sort()
    widths = [max(len(row[i]) for row in (*rows, COLUMNS)) for i in range(len(COLUMNS))]
    rule = "  ".join("=" * width for width in widths)
    yield rule
    yield _render_line(COLUMNS, widths)
    yield rule
    for row in rows:
        yield _render_line(row, widths)
    yield rule


def render_table() -> str:
    """Return the text of the documentation's page."""
    return HEADER + "\n".join(render_rows()) + "\n"


def _render_row(resource_type: DeclarativeType) -> tuple[str, ...]:
    tested = resource_type.name in TESTED_TYPES
    on = (
        resource_type.spec.test_environment
        if resource_type.name in TYPES_TESTED_ON_REAL_CLOUD
        else "emulation"
    )
    return (
        resource_type.name,
        str(resource_type.schema.support_status.status),
        "tested" if tested else "data",
        _describe_update(resource_type),
        _describe_observe(resource_type),
        _describe_find(resource_type),
        on if tested else "no test yet",
    )


def _describe_update(resource_type: DeclarativeType) -> str:
    shown = [p for p in resource_type.schema.properties.values() if not p.support_status.hidden]
    allowed = sum(p.update_allowed for p in shown)
    text = f"{allowed} of {len(shown)}"
    return f"{text}, tested" if resource_type.name in TYPES_WITH_TESTED_UPDATE else text


def _describe_observe(resource_type: DeclarativeType) -> str:
    own = type(resource_type).observe_many is not DeclarativeType.observe_many
    return (
        "one by one"
        if own or resource_type.spec.path_properties
        else _BULK_READ_LABELS[resource_type.spec.rest_resource.bulk_read]
    )


def _describe_find(resource_type: DeclarativeType) -> str:
    if isinstance(resource_type, QosSpecs):
        return "name, mark"
    if type(resource_type).find is not DeclarativeType.find and not resource_type.spec.has_name:
        return "associated ids"
    fields = []
    if resource_type.spec.has_name and resource_type.spec.rest_resource.name_key:
        fields.append("name")
    if resource_type.spec.findable_by_content:
        fields.append("content")
    elif resource_type.spec.rest_resource.ownership_mark_field is not OwnershipMarkField.NONE:
        fields.append("mark")
    description = ", ".join(fields) or "id"
    return f"{description} (1)" if _may_create_twice(resource_type) else description


def _may_create_twice(resource_type: DeclarativeType) -> bool:
    """Return whether a template's properties can take every field that could carry a mark."""
    own = type(resource_type).find is not DeclarativeType.find and not resource_type.spec.immutable
    return (
        not own
        and not resource_type.spec.findable_by_content
        and not is_findable(resource_type.spec, _CONTEXT_WITH_ALL_MARKABLE)
    )


def _render_line(cells: tuple[str, ...], widths: list[int]) -> str:
    parts = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(parts).rstrip()


if __name__ == "__main__":
    print(render_table(), end="")
