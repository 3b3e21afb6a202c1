"""The table of types in the documentation, which must be current."""

from __future__ import annotations

from pathlib import Path

from tests.catalog_types import DECLARATIVE_TYPES
from tests.conformance import catalog_table

DOCS = Path(__file__).parents[4] / "docs" / "reference" / "catalogue.rst"
TYPES = DECLARATIVE_TYPES


def test_documentation_holds_the_current_table() -> None:
    assert DOCS.read_text() == catalog_table.render_table(), (
        "python -m tests.conformance.catalog_table"
    )


def test_every_case_has_a_type_of_the_catalog() -> None:
    assert set(TYPES) >= catalog_table.TESTED_TYPES


def test_types_properties_and_attributes_have_descriptions() -> None:
    missing = []
    for resource_type in TYPES.values():
        if not resource_type.schema.description:
            missing.append(resource_type.name)
        for name, declared in resource_type.schema.properties.items():
            if not declared.description:
                missing.append(f"{resource_type.name}.{name}")
        for name, attribute in resource_type.schema.attributes.items():
            if not attribute.description:
                missing.append(f"{resource_type.name}:{name}")
    assert missing == []
