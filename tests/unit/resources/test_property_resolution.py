"""Tests of the conversion and validation of properties, their defaults and hashes.

Source: docs/reference/validation.rst, "Properties".
"""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.protocol.schema import (
    PropertySchema,
    PropertyType,
    TypeSchema,
    changed_property_names,
    keep_properties_without_value,
    known_properties,
    properties_hash,
    resolve_properties,
    validate_properties,
)
from heat_convergence.template.expression import Expression
from heat_convergence.template.parameters.constraints import (
    AllowedValues,
    CustomConstraint,
    Length,
    Range,
)

LATER = Expression("get_attr", "standard", ["other", "x"])
PATH = ("resources", "r", "properties")


def one(property_type: str, **declared: Any) -> TypeSchema:
    return TypeSchema(
        properties={"p": PropertySchema(type=PropertyType(property_type), **declared)}
    )


def texts(schema: TypeSchema, raw: dict[str, Any], **options: Any) -> list[str]:
    _known, mistakes = validate_properties(schema, raw, PATH, **options)
    return [str(mistake) for mistake in mistakes]


@pytest.mark.parametrize(
    ("property_type", "value", "converted"),
    [
        ("integer", 3, 3),
        ("integer", "3", 3),
        ("integer", "-3", -3),
        ("integer", True, 1),
        ("integer", 10.7, 10),
        ("number", "10.7", 10.7),
        ("number", "10", 10),
        ("number", 10.5, 10.5),
        ("boolean", True, True),
        ("boolean", "TRUE", True),
        ("boolean", "false", False),
        ("string", "a", "a"),
        ("string", "", ""),
        ("string", 3, "3"),
        ("string", True, "True"),
        ("list", [1, "a", {}], [1, "a", {}]),
        ("list", (1,), [1]),
        ("map", {"a": None}, {"a": None}),
        ("any", [{"a": 1.5}], [{"a": 1.5}]),
    ],
)
def test_value_is_converted(property_type: str, value: Any, converted: Any) -> None:
    result = resolve_properties(one(property_type), {"p": value})
    assert result == {"p": converted}
    assert type(result["p"]) is type(converted)


@pytest.mark.parametrize(
    ("property_type", "value"),
    [
        ("integer", "10.7"),
        ("integer", "a"),
        ("integer", [1]),
        ("integer", float("nan")),
        ("number", "a"),
        ("number", "inf"),
        ("number", {}),
        ("boolean", 1),
        ("boolean", "yes"),
        ("string", 1.5),
        ("string", {}),
        ("string", []),
        ("list", "a,b"),
        ("list", {"a": 1}),
        ("map", "{}"),
        ("map", [1]),
    ],
)
def test_value_of_another_type_is_refused(property_type: str, value: Any) -> None:
    found = texts(one(property_type), {"p": value})
    assert len(found) == 1
    assert found[0].startswith("resources.r.properties.p: ")
    with pytest.raises(StackValidationFailed) as caught:
        resolve_properties(one(property_type), {"p": value}, PATH)
    assert str(caught.value).startswith("Property error: : resources.r.properties.p: : ")


def test_path_of_errors_may_be_text() -> None:
    with pytest.raises(StackValidationFailed) as caught:
        resolve_properties(one("integer"), {"p": "x"}, path="resources.r.properties")
    assert str(caught.value).startswith("Property error: : resources.r.properties.p: : ")


@pytest.mark.parametrize(
    ("property_type", "empty"),
    [("string", ""), ("integer", 0), ("number", 0), ("boolean", False), ("list", []), ("map", {})],
)
def test_null_is_the_empty_value_at_every_depth(property_type: str, empty: Any) -> None:
    inner = PropertySchema(type=property_type)
    schema = TypeSchema(
        properties={
            "p": inner,
            "m": PropertySchema(type="map", schema={"q": inner}),
            "l": PropertySchema(type="list", item=inner),
        }
    )
    raw = {"p": None, "m": {"q": None}, "l": [None]}
    assert resolve_properties(schema, raw) == {"p": empty, "m": {"q": empty}, "l": [empty]}


def test_null_takes_a_default_first() -> None:
    assert resolve_properties(one("string", default="d"), {"p": None}) == {"p": "d"}


def test_null_of_any_type_is_left_out() -> None:
    assert resolve_properties(one("any"), {"p": None}) == {}


RULES = TypeSchema(
    properties={
        "name": PropertySchema(type="string"),
        "size": PropertySchema(type="integer"),
        "rules": PropertySchema(
            type="list",
            item=PropertySchema(
                type="map",
                schema={
                    "port": PropertySchema(type="integer"),
                    "proto": PropertySchema(type="string"),
                },
            ),
        ),
    }
)
WITH_NULLS = {"name": None, "size": 1, "rules": [{"port": None, "proto": "tcp"}, None]}
FILLED = {"name": "", "size": 1, "rules": [{"port": 0, "proto": "tcp"}, {}]}


@pytest.mark.parametrize(
    ("raw", "before", "kept"),
    [
        (
            WITH_NULLS,
            {"size": 1, "rules": [{"proto": "tcp"}]},
            {"size": 1, "rules": [{"proto": "tcp"}]},
        ),
        (WITH_NULLS, FILLED, FILLED),
        (WITH_NULLS, {"name": "x", "size": 2, "rules": []}, FILLED),
        (
            {**WITH_NULLS, "size": 2},
            {"size": 1, "rules": [{"proto": "tcp"}]},
            {"size": 2, "rules": [{"proto": "tcp"}]},
        ),
        ({"name": ""}, {}, {"name": ""}),
    ],
    ids=["before the rule", "after it", "changed", "another changed", "no null"],
)
def test_update_keeps_what_only_nulls_change(raw: Any, before: Any, kept: Any) -> None:
    after = resolve_properties(RULES, raw)
    assert keep_properties_without_value(RULES, raw, before, after) == kept


@pytest.mark.parametrize(
    ("property_type", "empty"),
    [
        ("string", ""),
        ("integer", 0),
        ("number", 0),
        ("boolean", False),
        ("list", []),
        ("map", {}),
    ],
)
def test_null_of_a_required_property_is_the_empty_value(property_type: str, empty: Any) -> None:
    schema = one(property_type, required=True)
    assert texts(schema, {"p": None}) == []
    assert resolve_properties(schema, {"p": None}) == {"p": empty}
    assert texts(schema, {}) == ["resources.r.properties: : Property p not assigned"]


def test_null_of_a_required_property_of_any_type_stays_null() -> None:
    assert texts(one("any", required=True), {"p": None}) == []
    assert resolve_properties(one("any", required=True), {"p": None}) == {}


@pytest.mark.parametrize("default", ["", 0, False, []])
def test_an_empty_default_is_a_default(default: Any) -> None:
    schema = TypeSchema(
        properties={"p": PropertySchema(type=PropertyType.ANY, default=default, required=True)}
    )
    assert resolve_properties(schema, {}) == {"p": default}


def test_unknown_name_with_the_nearest_known_one() -> None:
    schema = TypeSchema(properties={"network": PropertySchema(type=PropertyType.STRING)})
    (text,) = texts(schema, {"netwrok": LATER})
    assert text.startswith("resources.r.properties: : Unknown Property netwrok")
    assert '"network"' in text
    (text,) = texts(schema, {"zzz": 1})
    assert text == "resources.r.properties: : Unknown Property zzz"


def test_unimplemented_property_is_refused() -> None:
    schema = one("string", implemented=False)
    assert resolve_properties(schema, {}) == {}
    assert texts(schema, {"p": "x"}) == [
        "resources.r.properties: : Property p not implemented yet"
    ]


NESTED = TypeSchema(
    properties={
        "rules": PropertySchema(
            type=PropertyType.LIST,
            item=PropertySchema(
                type=PropertyType.MAP,
                schema={
                    "port": PropertySchema(
                        type=PropertyType.INTEGER, required=True, constraints=(Range(1, 65535),)
                    ),
                    "proto": PropertySchema(type=PropertyType.STRING, default="tcp"),
                },
            ),
        )
    }
)


def test_nested_conversion_and_defaults() -> None:
    raw = {"rules": [{"port": "80"}, {"port": 53, "proto": "udp"}]}
    assert resolve_properties(NESTED, raw) == {
        "rules": [{"port": 80, "proto": "tcp"}, {"port": 53, "proto": "udp"}]
    }


def test_all_mistakes_are_reported_with_their_paths() -> None:
    raw = {"rules": [{"port": 0}, "x", {"prt": 1}], "rulez": []}
    found = texts(NESTED, raw)
    assert found[0].startswith("resources.r.properties: : Unknown Property rulez")
    assert found[1].startswith("resources.r.properties.rules[0].port: ")
    assert found[2].startswith("resources.r.properties.rules[1]: ")
    assert found[3].startswith("resources.r.properties.rules[2]: : Unknown Property prt")
    assert found[4] == "resources.r.properties.rules[2]: : Property port not assigned"
    assert len(found) == 5
    with pytest.raises(StackValidationFailed) as caught:
        resolve_properties(NESTED, raw, PATH)
    lines = str(caught.value).splitlines()
    assert lines == [f"Property error: : {text}" for text in found]


def test_unknown_values_pass() -> None:
    assert texts(NESTED, {"rules": LATER}) == []
    assert texts(NESTED, {"rules": [LATER, {"port": LATER}]}) == []
    assert texts(one("integer", required=True), {"p": LATER}) == []
    assert texts(one("list", constraints=(Length(max=1),)), {"p": [LATER, 1]}) == []
    (text,) = texts(NESTED, {"rules": [{"port": LATER, "x": LATER}]})
    assert "Unknown Property x" in text


def test_known_properties_omits_unknown_and_invalid_values() -> None:
    schema = TypeSchema(
        properties={
            "a": PropertySchema(type=PropertyType.INTEGER),
            "b": PropertySchema(type=PropertyType.LIST),
            "c": PropertySchema(type=PropertyType.STRING, default="d"),
        }
    )
    assert known_properties(schema, {"a": "1", "b": [LATER]}) == {"a": 1, "c": "d"}
    assert known_properties(schema, {"a": "x"}) == {"c": "d"}


def test_constraints_apply_to_list_items() -> None:
    schema = one("list", constraints=(AllowedValues(("a", "b")),))
    assert resolve_properties(schema, {"p": ["a", "b"]}) == {"p": ["a", "b"]}
    (text,) = texts(schema, {"p": ["a", "c"]})
    assert text.startswith('resources.r.properties.p: : "c" is not an allowed value ["a", "b"]')


def test_custom_constraints_are_checked_when_passed() -> None:
    schema = one("string", constraints=(CustomConstraint("even"),))
    checks = {"even": lambda value: None if len(value) % 2 == 0 else f"{value} is odd"}
    assert texts(schema, {"p": "ab"}, custom=checks) == []
    (text,) = texts(schema, {"p": "abc"}, custom=checks)
    assert text == "resources.r.properties.p: : Error validating value 'abc': abc is odd"
    assert texts(schema, {"p": "abc"}) == []
    (text,) = texts(schema, {"p": "ab"}, custom={})
    assert text.endswith('"ab" does not validate even (constraint not found)')


def test_schema_that_accepts_any_property() -> None:
    schema = TypeSchema(
        properties={"p": PropertySchema(type=PropertyType.INTEGER)}, accepts_any_property=True
    )
    assert resolve_properties(schema, {"p": "1", "q": "1"}) == {"p": 1, "q": "1"}
    assert schema.update_allowed("q")
    assert not schema.update_allowed("p")


def test_contradictory_schema_is_refused() -> None:
    text = PropertySchema(type=PropertyType.STRING)
    with pytest.raises(ValueError, match="Only a map"):
        PropertySchema(type=PropertyType.LIST, schema={"a": text})
    with pytest.raises(ValueError, match="Only a list"):
        PropertySchema(type=PropertyType.MAP, item=text)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({}, {}, set()),
        ({"a": 1}, {"a": 1.0}, set()),
        ({"a": None}, {}, set()),
        ({"a": [1, {"b": 2, "c": 3}]}, {"a": [1, {"c": 3, "b": 2}]}, set()),
        ({"a": 1}, {"a": True}, {"a"}),
        ({"a": 1}, {"a": "1"}, {"a"}),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"a"}),
        ({"a": 1, "b": 1}, {"b": 2, "c": 3}, {"a", "b", "c"}),
    ],
)
def test_changed_property_names(
    before: dict[str, Any], after: dict[str, Any], names: set[str]
) -> None:
    assert changed_property_names(before, after) == names
    assert (properties_hash(before) == properties_hash(after)) == (not names)
