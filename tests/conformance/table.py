"""The state of every catalogue type, as the documentation tells it.

``python -m tests.conformance.table > docs/catalogue.rst`` writes it anew; a unit test
holds the file against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from heat_convergence.resources.catalog.load import types
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.naming import was_marked
from heat_convergence.resources.driver.things import Many, Mark
from heat_convergence.resources.openstack.qos_specs import QosSpecs
from tests.conformance.case import On
from tests.conformance.cases import CASES

HEAD = """\
The catalogue
=============

What there is of each OpenStack type. *Schema* is the support status that clients are told.
*Update* says how many properties change in place, and whether the conformance suite changes
some. *Observe* is how many resources are asked for at once, *find* how one is found whose
creation was never answered; with *(1)* not where the template gives all that this would be
in, since the service never changes it again: a second one may come to be. *Tested on* is
where the suite drives it through its life; every type has its schema, and nothing more is
claimed for those that say *no test yet*.

This file is written by ``python -m tests.conformance.table``.

"""
COLUMNS = ("type", "schema", "create", "update", "observe", "find", "tested on")
REAL = {case.type for case in CASES if case.on is not On.EMULATION}
TESTED = {case.type for case in CASES}
UPDATED = {case.type for case in CASES if case.changed()}
_WORDS: Any = {"name": "hc", "description": "d"}
_WORDY: Any = SimpleNamespace(properties=_WORDS)  # as much of a view as is looked at
_MANY = {
    Many.IDS: "list by ids",
    Many.CHANGED: "list of changes",
    Many.ALL: "list",
}


def lines() -> Iterator[str]:
    rows = [_row(kind) for kind in types() if isinstance(kind, DeclaredType)]
    rows.sort()
    widths = [max(len(row[i]) for row in (*rows, COLUMNS)) for i in range(len(COLUMNS))]
    rule = "  ".join("=" * width for width in widths)
    yield rule
    yield _line(COLUMNS, widths)
    yield rule
    for row in rows:
        yield _line(row, widths)
    yield rule


def text() -> str:
    return HEAD + "\n".join(lines()) + "\n"


def _row(kind: DeclaredType) -> tuple[str, ...]:
    tested = kind.name in TESTED
    on = kind.row.tested_on if kind.name in REAL else "emulation"
    return (
        kind.name,
        str(kind.schema.support_status.status),
        "tested" if tested else "data",
        _update(kind),
        _observe(kind),
        _find(kind),
        on if tested else "no test yet",
    )


def _update(kind: DeclaredType) -> str:
    shown = [p for p in kind.schema.properties.values() if not p.support_status.hidden]
    allowed = sum(p.update_allowed for p in shown)
    told = f"{allowed} of {len(shown)}"
    return f"{told}, tested" if kind.name in UPDATED else told


def _observe(kind: DeclaredType) -> str:
    own = type(kind).observe_many is not DeclaredType.observe_many
    return "one by one" if own or kind.row.places else _MANY[kind.row.thing.many]


def _find(kind: DeclaredType) -> str:
    if isinstance(kind, QosSpecs):
        return "name, mark"
    if type(kind).find is not DeclaredType.find and not kind.row.named:
        return "what it joins"
    ways = []
    if kind.row.named and kind.row.thing.name_key:
        ways.append("name")
    if kind.row.found_by_content:
        ways.append("content")
    elif kind.row.thing.mark is not Mark.NONE:
        ways.append("mark")
    told = ", ".join(ways) or "what it is"
    return f"{told} (1)" if _may_be_lost(kind) else told


def _may_be_lost(kind: DeclaredType) -> bool:
    """Whether an author's words can take every place that a mark could be in."""
    own = type(kind).find is not DeclaredType.find
    return not own and not kind.row.found_by_content and not was_marked(kind.row, _WORDY)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    parts = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(parts).rstrip()


if __name__ == "__main__":
    print(text(), end="")
