"""The table of types in the documentation, which must be current."""

from __future__ import annotations

import re
from pathlib import Path

from tests.catalog_types import DECLARATIVE_TYPES
from tests.conformance import catalog_table
from tests.conformance.other_types import TESTED_BY, supported_types

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs" / "reference" / "catalogue.rst"
SUPPORTED_BY_HEAT = 157
TYPES = DECLARATIVE_TYPES


def test_documentation_holds_the_current_table() -> None:
    assert DOCS.read_text() == catalog_table.render_table(), (
        "python -m tests.conformance.catalog_table"
    )


def test_every_supported_type_has_a_row() -> None:
    others = {each.name for each in supported_types()}
    assert TESTED_BY.keys() == others
    supported = {
        name for name, each in TYPES.items() if each.schema.support_status.status == "SUPPORTED"
    }
    assert len(supported | others) == SUPPORTED_BY_HEAT


def test_modules_name_the_types_that_they_test() -> None:
    texts = {module: (ROOT / module).read_text() for _target, module in TESTED_BY.values()}
    unnamed = [
        (name, module)
        for name, (_target, module) in TESTED_BY.items()
        if not re.search(rf"{name.rpartition('::')[2]}\b", texts[module])
    ]
    assert unnamed == []


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
