"""The catalogue's schemas are the facts', type by type."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.declarative import DeclarativeType
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    property_as_fact,
)

SHARED = Path(__file__).resolve().parents[5] / "shared" / "heat-facts" / "resource_types.json"
# Of each property and attribute as the facts have it; written by ``python -m``.
DIGESTS = Path(__file__).parents[1] / "data" / "catalogue_digests.json"
TYPES = {kind.name: kind for kind in load_resource_types() if isinstance(kind, DeclarativeType)}
NEED = pytest.mark.skipif(not SHARED.exists(), reason="the facts are not beside this checkout")


def _facts() -> dict:
    return json.loads(SHARED.read_text())["types"]


@pytest.fixture(scope="module")
def facts() -> dict:
    return _facts()


@pytest.fixture(scope="module")
def digests() -> dict:
    return json.loads(DIGESTS.read_text())


def _told(resource_type: DeclarativeType) -> dict[str, dict]:
    """All that clients are told of a type, in the form of the facts."""
    return {
        "properties": {
            name: property_as_fact(item) for name, item in resource_type.schema.properties.items()
        },
        "attributes": {
            name: attribute_as_fact(item) for name, item in resource_type.schema.attributes.items()
        },
        "rest": {
            "name_limit": resource_type.physical_name_limit,
            "snapshot": resource_type.allows_snapshot_on_delete,
            "check": resource_type.supports_check,
            "mended": resource_type.update_repairs_failure,
            "status": str(resource_type.schema.support_status.status),
        },
    }


def _wanted(fact: dict) -> dict[str, dict]:
    handlers = fact["handlers"]
    return {
        "properties": {name: _plain(item) for name, item in fact["properties"].items()},
        "attributes": {name: _plain(item) for name, item in fact["attributes"].items()},
        "rest": {
            "name_limit": fact["physical_resource_name_limit"],
            "snapshot": "snapshot_delete" in handlers,
            "check": "check" in handlers,
            "mended": "custom_needs_replace_failed" in handlers,
            "status": fact["support_status"]["status"],
        },
    }


def _digested(parts: dict[str, dict]) -> dict[str, dict[str, str]]:
    return {
        part: {name: _digest(item) for name, item in items.items()}
        for part, items in parts.items()
    }


def _digest(item: object) -> str:
    text = json.dumps(item, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


@NEED
@pytest.mark.parametrize("name", TYPES)
def test_schemas_are_the_facts(name, facts):
    assert _told(TYPES[name]) == _wanted(facts[name])


@pytest.mark.parametrize("name", TYPES)
def test_schemas_are_what_the_digests_of_the_facts_say(name, digests):
    assert _digested(_told(TYPES[name])) == digests[name]


@NEED
def test_digests_are_the_facts(digests, facts):
    assert digests == {name: _digested(_wanted(facts[name])) for name in sorted(TYPES)}


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
    for path in [*kind.spec.arguments, *kind.spec.aliases]:
        assert path.partition(".")[0] in known, path
    assert set(kind.spec.path_properties.values()) <= known
    assert set(kind.spec.attribute_paths) <= set(kind.schema.attributes)
    for part in kind.spec.subresources:
        assert part.property_names <= known, part


def _plain(item: dict) -> dict:
    """Without what this service does not tell: messages, and older states than one."""
    item = {key: value for key, value in item.items() if key != "implemented"}
    support = {key: value for key, value in item["support_status"].items() if key != "message"}
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
    placeholders = {kind.name: kind for kind in load_resource_types() if kind.name not in TYPES}
    assert set(placeholders) == hidden
    for kind in placeholders.values():
        assert kind.schema.support_status.hidden
        assert kind.schema.accepts_any_property


if __name__ == "__main__":
    wanted = {name: _digested(_wanted(_facts()[name])) for name in sorted(TYPES)}
    DIGESTS.write_text(json.dumps(wanted, indent=1, sort_keys=True) + "\n")
