"""The catalogue's schemas are the facts', type by type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heat_convergence.resources.catalog.load import types
from heat_convergence.resources.driver.declared import DeclaredType
from tests.unit.resources.test_resource_conformance import property_as_fact, support_as_fact

SHARED = Path(__file__).resolve().parents[4] / "shared" / "heat-facts" / "resource_types.json"
TYPES = {kind.name: kind for kind in types() if isinstance(kind, DeclaredType)}
NEED = pytest.mark.skipif(not SHARED.exists(), reason="the facts are not beside this checkout")


@pytest.fixture(scope="module")
def facts() -> dict:
    return json.loads(SHARED.read_text())["types"]


@NEED
@pytest.mark.parametrize("name", TYPES)
def test_properties_are_the_facts(name, facts):
    declared = TYPES[name].schema.properties
    told = {key: property_as_fact(item) for key, item in declared.items()}
    assert told == {key: _plain(item) for key, item in facts[name]["properties"].items()}


@NEED
@pytest.mark.parametrize("name", TYPES)
def test_attributes_and_the_rest_are_the_facts(name, facts):
    kind, fact = TYPES[name], facts[name]
    told = {
        key: {
            "type": None if item.type is None else str(item.type),
            "cache_mode": str(item.cache_mode),
            "support_status": support_as_fact(item),
        }
        for key, item in kind.schema.attributes.items()
    }
    assert told == {key: _plain(item) for key, item in fact["attributes"].items()}
    assert kind.physical_name_limit == fact["physical_resource_name_limit"]
    assert kind.snapshots_on_delete == ("snapshot_delete" in fact["handlers"])
    assert str(kind.schema.support_status.status) == fact["support_status"]["status"]


@pytest.mark.parametrize("name", TYPES)
def test_old_names_are_hidden_and_new_ones_there(name):
    def walk(properties):
        for key, item in properties.items():
            if item.alias_of:
                assert item.support_status.hidden, key
                assert item.alias_of in properties, key
            walk(item.schema or {})
            walk((item.item and item.item.schema) or {})

    walk(TYPES[name].schema.properties)


@pytest.mark.parametrize("name", TYPES)
def test_rows_speak_of_properties_that_there_are(name):
    kind = TYPES[name]
    known = set(kind.schema.properties)
    for path in [*kind.row.arguments, *kind.row.aliases]:
        assert path.partition(".")[0] in known, path
    assert set(kind.row.places.values()) <= known
    assert set(kind.row.attributes) <= set(kind.schema.attributes)
    for part in kind.row.parts:
        assert part.names <= known, part


def _plain(item: dict) -> dict:
    """Without what this service does not tell: messages, and older states than one."""
    item = {key: value for key, value in item.items() if key != "implemented"}
    support = {
        key: value for key, value in item["support_status"].items() if key != "message"
    }
    if "previous" in support:
        support["previous"] = [
            {key: value for key, value in one.items() if key in ("status", "version")}
            for one in support["previous"][:1]
        ]
    item["support_status"] = support
    if "schema" in item:
        item["schema"] = {key: _plain(one) for key, one in item["schema"].items()}
    if item.get("default", 0) is None:
        del item["default"]
    return item


@NEED
def test_hidden_types_are_there_and_take_anything(facts):
    services = {name.split("::")[1] for name in TYPES}
    hidden = {
        name
        for name, fact in facts.items()
        if name.split("::")[1] in services
        and fact["support_status"]["status"] == "HIDDEN"
        and not fact["properties"]
    }
    placeholders = {kind.name: kind for kind in types() if kind.name not in TYPES}
    assert set(placeholders) == hidden
    for kind in placeholders.values():
        assert kind.schema.support_status.hidden
        assert kind.schema.accepts_any_property
