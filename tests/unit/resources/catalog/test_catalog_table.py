"""The documentation's table is what the catalogue and the suite are."""

from __future__ import annotations

from pathlib import Path

from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.declarative import DeclarativeType
from tests.conformance import catalogue_table

DOCS = Path(__file__).parents[4] / "docs" / "catalogue.rst"
TYPES = {kind.name: kind for kind in load_resource_types() if isinstance(kind, DeclarativeType)}


def test_the_table_is_current():
    assert DOCS.read_text() == catalogue_table.render_table(), (
        "python -m tests.conformance.catalogue_table"
    )


def test_every_case_is_of_a_type_that_there_is():
    assert set(TYPES) >= catalogue_table.TESTED_TYPES


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
