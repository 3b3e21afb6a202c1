"""The documentation's table is what the catalogue and the suite are."""

from __future__ import annotations

from pathlib import Path

from heat_convergence.resources.catalog.load import types
from heat_convergence.resources.driver.declared import DeclaredType
from tests.conformance import table

DOCS = Path(__file__).parents[3] / "docs" / "catalogue.rst"
TYPES = {kind.name: kind for kind in types() if isinstance(kind, DeclaredType)}


def test_the_table_is_current():
    assert DOCS.read_text() == table.text(), "python -m tests.conformance.table"


def test_every_case_is_of_a_type_that_there_is():
    assert set(TYPES) >= table.TESTED


def test_everything_is_described():
    missing = []
    for kind in TYPES.values():
        if not kind.schema.description:
            missing.append(kind.name)
        for name, item in kind.schema.properties.items():
            if not item.description:
                missing.append(f"{kind.name}.{name}")
        for name, item in kind.schema.attributes.items():
            if not item.description:
                missing.append(f"{kind.name}:{name}")
    assert missing == []
