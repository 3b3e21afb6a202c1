"""The state of every catalogue type, as the documentation tells it.

``python -m tests.conformance.catalogue_table > docs/catalogue.rst`` writes it anew; a unit test
holds the file against it.
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
from tests.conformance.cases import CASES

HEADER = """\
The catalogue
=============

What there is of each OpenStack type. *Schema* is the support status that clients are told.
*Update* says how many properties change in place, and whether the conformance suite changes
some. *Observe* is how many resources are asked for at once, *find* how one is found whose
creation was never answered; with *(1)* not where the template gives all that this would be
in, since the service never changes it again: a second one may come to be. *Tested on* is
where the suite drives it through its life; every type has its schema, and nothing more is
claimed for those that say *no test yet*.

This file is written by ``python -m tests.conformance.catalogue_table``.

"""
COLUMNS = ("type", "schema", "create", "update", "observe", "find", "tested on")
TYPES_TESTED_ON_REAL_CLOUD = {
    case.type for case in CASES if case.runs_on is not SupportedCloud.EMULATION_ONLY
}
TESTED_TYPES = {case.type for case in CASES}
TYPES_WITH_TESTED_UPDATE = {case.type for case in CASES if case.updated_property_names()}
_WORDS: Any = {"name": "hc", "description": "d"}
_WORDY: Any = SimpleNamespace(properties=_WORDS)  # as much of a view as is looked at
_MANY = {
    BulkRead.BY_IDS: "list by ids",
    BulkRead.CHANGED_SINCE: "list of changes",
    BulkRead.ALL: "list",
}


def render_rows() -> Iterator[str]:
    rows = [_row(kind) for kind in load_resource_types() if isinstance(kind, DeclarativeType)]
    rows.sort()
    widths = [max(len(row[i]) for row in (*rows, COLUMNS)) for i in range(len(COLUMNS))]
    rule = "  ".join("=" * width for width in widths)
    yield rule
    yield _line(COLUMNS, widths)
    yield rule
    for row in rows:
        yield _line(row, widths)
    yield rule


def render_table() -> str:
    return HEADER + "\n".join(render_rows()) + "\n"


def _row(resource_type: DeclarativeType) -> tuple[str, ...]:
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
        _update(resource_type),
        _observe(resource_type),
        _find(resource_type),
        on if tested else "no test yet",
    )


def _update(resource_type: DeclarativeType) -> str:
    shown = [p for p in resource_type.schema.properties.values() if not p.support_status.hidden]
    allowed = sum(p.update_allowed for p in shown)
    told = f"{allowed} of {len(shown)}"
    return f"{told}, tested" if resource_type.name in TYPES_WITH_TESTED_UPDATE else told


def _observe(resource_type: DeclarativeType) -> str:
    own = type(resource_type).observe_many is not DeclarativeType.observe_many
    return (
        "one by one"
        if own or resource_type.spec.path_properties
        else _MANY[resource_type.spec.rest_resource.bulk_read]
    )


def _find(resource_type: DeclarativeType) -> str:
    if isinstance(resource_type, QosSpecs):
        return "name, mark"
    if type(resource_type).find is not DeclarativeType.find and not resource_type.spec.has_name:
        return "what it joins"
    ways = []
    if resource_type.spec.has_name and resource_type.spec.rest_resource.name_key:
        ways.append("name")
    if resource_type.spec.findable_by_content:
        ways.append("content")
    elif resource_type.spec.rest_resource.ownership_mark_field is not OwnershipMarkField.NONE:
        ways.append("mark")
    told = ", ".join(ways) or "what it is"
    return f"{told} (1)" if _may_be_lost(resource_type) else told


def _may_be_lost(resource_type: DeclarativeType) -> bool:
    """Whether an author's words can take every place that a mark could be in."""
    own = type(resource_type).find is not DeclarativeType.find
    return (
        not own
        and not resource_type.spec.findable_by_content
        and not is_findable(resource_type.spec, _WORDY)
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    parts = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(parts).rstrip()


if __name__ == "__main__":
    print(render_table(), end="")
