"""The versions of the language have the sections, keys and functions of Heat's."""

import json
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.template.functions.builtin_functions import BUILTIN_FUNCTIONS
from heat_convergence.template.parsing.template_versions import (
    KNOWN_FUNCTIONS,
    TEMPLATE_VERSIONS,
    TemplateFormat,
)
from tests.unit.template.template_helpers import evaluate

FOLDER = Path(__file__).parent
HEAT_VERSIONS = json.loads((FOLDER / "data" / "functions.json").read_text())["versions"]


# For each function the arguments of a call that can be evaluated, and the result.
SAMPLES = {
    "get_param": ("p", "v"),
    "get_resource": ("other", None),
    "get_attr": (["other", "x"], None),
    "get_file": ("f", "content"),
    "list_join": (["-", ["a", "b"]], "a-b"),
    "resource_facade": ("deletion_policy", "Delete"),
    "str_replace": ({"template": "a$x", "params": {"$x": 1}}, "a1"),
    "str_replace_strict": ({"template": "a$x", "params": {"$x": 1}}, "a1"),
    "str_replace_vstrict": ({"template": "a$x", "params": {"$x": 1}}, "a1"),
    "repeat": ({"template": "<x>", "for_each": {"<x>": ["a", "b"]}}, ["a", "b"]),
    "digest": (["md5", "a"], "0cc175b9c0f1b6a831c399e269772661"),
    "str_split": ([",", "a,b"], ["a", "b"]),
    "map_merge": ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
    "map_replace": ([{"a": 1}, {"keys": {"a": "b"}}], {"b": 1}),
    "yaql": ({"expression": "$.data + 1", "data": 1}, 2),
    "if": ([True, "y", "n"], "y"),
    "filter": ([["a"], ["a", "b"]], ["b"]),
    "make_url": ({"scheme": "http", "host": "h"}, "http://h"),
    "list_concat": ([["a"], ["a"]], ["a", "a"]),
    "list_concat_unique": ([["a"], ["a"]], ["a"]),
    "contains": (["a", ["a"]], True),
    "Ref": ("p", "v"),
    "Fn::GetAtt": (["other", "x"], None),
    "Fn::FindInMap": (["m", "k", "s"], "mapped"),
    "Fn::GetAZs": ("", ["nova"]),
    "Fn::Select": ([0, ["a"]], "a"),
    "Fn::Join": (["-", ["a", "b"]], "a-b"),
    "Fn::Split": ([",", "a,b"], ["a", "b"]),
    "Fn::Replace": ([{"$x": "1"}, "a$x"], "a1"),
    "Fn::Base64": ("a", "a"),
    "Fn::MemberListToMap": (["N", "V", [".member.0.N=a", ".member.0.V=b"]], {"a": "b"}),
    "Fn::ResourceFacade": ("DeletionPolicy", "Delete"),
    "Fn::If": ([True, "y", "n"], "y"),
    "equals": ([1, 1], True),
    "not": (False, True),
    "and": ([True, True], True),
    "or": ([False, True], True),
    "Fn::Equals": ([1, 1], True),
    "Fn::Not": ([False], True),
    "Fn::And": ([True, True], True),
    "Fn::Or": ([False, True], True),
}


def template_with(version: Any, value: Any = None, condition: Any = None) -> Any:
    words = version.dialect
    template = {
        version.key: version.date,
        words.parameters: {"p": {words.type: "String", "Default": "v"}},
        words.resources: {
            "other": {words.type: "T"},
            "it": {words.type: "T", words.properties: {"value": value}},
        },
    }
    if version.template_format is TemplateFormat.HOT:
        template[words.parameters] = {"p": {"type": "string", "default": "v"}}
    else:
        template["Mappings"] = {"m": {"k": {"s": "mapped"}}}
    if condition is not None:
        template[words.conditions] = {"c": condition}
        template[words.resources]["it"][words.condition] = "c"
    return template


def evaluate_output(version: Any, value: Any) -> Any:
    found = evaluate(template_with(version, value), files={"f": "content"})
    return found.definitions["it"].properties["value"]


def test_heat_has_the_same_versions() -> None:
    assert list(TEMPLATE_VERSIONS) == list(HEAT_VERSIONS)


@pytest.mark.parametrize("name", HEAT_VERSIONS)
def test_version_has_the_sections_and_keys_of_heat(name: str) -> None:
    version, fact = TEMPLATE_VERSIONS[name], HEAT_VERSIONS[name]
    assert version.key == fact["version_key"]
    assert version.date == fact["version"]
    assert list(version.aliases) == fact["aliases"]
    assert version.template_format.value == fact["api_list_entry"]["type"]
    assert sorted(version.sections) == sorted(fact["sections"])
    assert sorted(version.resource_keys) == sorted(fact["resource_keys"])
    assert (version.template_format is TemplateFormat.HOT) == fact["unknown_resource_key_rejected"]
    assert sorted(version.output_keys) == sorted(fact["output_keys"])
    assert version.deletion_policies == fact["deletion_policies"]
    assert version.functions == fact["functions"]
    assert sorted(version.removed_functions) == sorted(fact["removed_functions"])
    assert version.condition_functions == fact["condition_functions"]
    assert version.has_conditions == fact["conditions_supported"]
    assert sorted(version.parameter_keys) == sorted(fact["parameter_keys"])
    assert sorted(version.parameter_types) == sorted(fact["parameter_types"])
    assert sorted(version.parameter_constraints) == sorted(fact["parameter_constraints"])
    assert sorted(version.pseudo_parameters) == sorted(fact["pseudo_parameters"])


def test_every_function_has_a_sample_and_code() -> None:
    assert set(SAMPLES) == KNOWN_FUNCTIONS
    assert len(KNOWN_FUNCTIONS) == 41
    used = {
        pair
        for version in TEMPLATE_VERSIONS.values()
        for pair in [*version.functions.items(), *version.condition_functions.items()]
    }
    assert used == set(BUILTIN_FUNCTIONS)


BY_VERSION = pytest.mark.parametrize("version", TEMPLATE_VERSIONS.values(), ids=lambda v: v.id)


@BY_VERSION
def test_version_has_exactly_its_functions(version: Any) -> None:
    fact = HEAT_VERSIONS[version.id]
    for name, (arguments, expected) in SAMPLES.items():
        call = {name: arguments}
        if name in fact["removed_functions"]:
            with pytest.raises(StackValidationFailed, match="The template version is invalid"):
                evaluate_output(version, call)
            continue
        folded = evaluate_output(version, call)
        if name not in fact["functions"]:
            assert folded == call  # plain data
        elif expected is not None:
            assert folded == expected, name
        else:
            assert folded.arguments == arguments  # waits for the resource


@BY_VERSION
def test_every_function_refuses_arguments_of_the_wrong_type(version: Any) -> None:
    for name in HEAT_VERSIONS[version.id]["functions"].keys() - {"Fn::GetAZs"}:  # which takes any
        with pytest.raises(StackValidationFailed) as caught:
            evaluate_output(version, {"deep": [{name: 5}]})
        words = version.dialect
        where = f"{words.resources}.it.{words.properties}.value.deep[0].{name}"
        assert where in str(caught.value), name
    for name in HEAT_VERSIONS[version.id]["condition_functions"]:
        with pytest.raises(StackValidationFailed) as caught:
            evaluate(template_with(version, condition={name: 5}))
        assert f"{version.dialect.conditions}.c.{name}" in str(caught.value), name


@BY_VERSION
def test_every_function_accepts_calls_as_arguments(version: Any) -> None:
    """The results of calls count as arguments wherever their type is right."""
    select = next((n for n in ("Fn::Select", "str_split") if n in version.functions), None)
    if select is None:
        return
    for name, (arguments, expected) in SAMPLES.items():
        if name in version.functions and isinstance(arguments, str) and expected is not None:
            inner = {"Fn::Select": [0, [arguments]], "str_split": ["/", f"{arguments}/", 0]}
            if name == "Ref":
                continue  # a name that must stand there
            assert evaluate_output(version, {name: {select: inner[select]}}) == expected, name


@BY_VERSION
def test_version_has_exactly_its_condition_functions(version: Any) -> None:
    for name in SAMPLES:
        template = template_with_condition(version, name)
        if name in HEAT_VERSIONS[version.id]["condition_functions"]:
            assert "it" in evaluate(template).definitions
        else:
            with pytest.raises(StackValidationFailed):
                evaluate(template)


def template_with_condition(version: Any, name: str) -> Any:
    special = {
        "get_param": "flag",
        "Ref": "flag",
        "Fn::FindInMap": ["m", "k", "s"],
        "yaql": {"expression": "true", "data": None},
    }
    arguments = special.get(name, SAMPLES[name][0])
    template = template_with(version, condition={name: arguments})
    flag = {"type": "boolean", "default": True}
    if version.template_format is TemplateFormat.CFN:
        flag = {"Type": "Boolean", "Default": True}
        template["Mappings"] = {"m": {"k": {"s": True}}}
    template[version.dialect.parameters]["flag"] = flag
    return template
