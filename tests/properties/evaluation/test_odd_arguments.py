"""Every function with arguments of every shape: a result or a documented error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common.errors import Error
from heat_convergence.template.evaluation.evaluation import MissingParameters, resolve_value
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.builtin_functions import BUILTIN_FUNCTIONS
from heat_convergence.template.parsing.template_versions import TEMPLATE_VERSIONS, TemplateFormat
from tests.unit.template.template_helpers import FakeResourceValues, evaluate

ODD: list[Any] = [
    None, True, 0, -1, 2**70, 1.5, "", "a", "p", "é%", [], {}, [[]], [{}], [None], {"": None},
    {"a": {}}, ["a", []], [[], []],
]  # fmt: skip
# Valid arguments, in which one position after the other gets each odd value.
VALID: dict[str, Any] = {
    "get_param": ["p", "a"], "get_resource": "b", "get_attr": ["b", "x", "y"], "get_file": "f",
    "resource_facade": "metadata", "list_join": [",", ["a", "b"]],
    "str_replace": {"template": "a", "params": {"a": "b"}},
    "str_replace_strict": {"template": "a", "params": {"a": "b"}},
    "str_replace_vstrict": {"template": "a", "params": {"a": "b"}},
    "str_split": [",", "a,b", 0], "digest": ["md5", "a"],
    "repeat": {"template": "v", "for_each": {"v": ["a"]}, "permutations": False},
    "map_merge": [{"a": 1}], "map_replace": [{"a": 1}, {"keys": {"a": "b"}, "values": {"1": 2}}],
    "list_concat": [["a"]], "list_concat_unique": [["a"]], "filter": [["a"], ["a", "b"]],
    "contains": ["a", ["a"]],
    "make_url": {"scheme": "http", "username": "u", "password": "p", "host": "h", "port": 80,
                 "path": "/a", "query": {"a": "b"}, "fragment": "f"},
    "yaql": {"expression": "$.data", "data": {"a": 1}}, "if": ["c", 1, 2],
    "equals": [1, 2], "and": ["c", True], "or": ["c", False], "not": "c",
    "Ref": "p", "Fn::GetAtt": ["b", "x"], "Fn::FindInMap": ["m", "k", "s"], "Fn::GetAZs": "",
    "Fn::Select": [0, ["a"]], "Fn::Join": [",", ["a"]], "Fn::Split": [",", "a"],
    "Fn::Replace": [{"a": "b"}, "a"], "Fn::Base64": "a",
    "Fn::MemberListToMap": ["k", "v", [".member.0.k=a", ".member.0.v=b"]],
    "Fn::ResourceFacade": "Metadata", "Fn::If": ["c", 1, 2], "Fn::Equals": [1, 2],
    "Fn::And": ["c", True], "Fn::Or": ["c", False], "Fn::Not": ["c"],
}  # fmt: skip


def variations(valid: Any, depth: int = 0) -> list[Any]:
    """Return the arguments with an odd value in place of each of their parts in turn."""
    found = list(ODD)
    if depth < 2 and isinstance(valid, list):
        for index, part in enumerate(valid):
            rest = variations(part, depth + 1)
            found += [[*valid[:index], odd, *valid[index + 1 :]] for odd in rest]
    elif depth < 2 and isinstance(valid, dict):
        for key, part in valid.items():
            found += [{**valid, key: odd} for odd in variations(part, depth + 1)]
    return found


def hot(version: str, value: Any) -> dict[str, Any]:
    sections = {
        "parameters": {"p": {"type": "json", "default": {"a": ["x"]}}},
        "resources": {"b": {"type": "T"}, "r": {"type": "T", "properties": {"a": value}}},
        "outputs": {"o": {"value": value}},
    }
    if TEMPLATE_VERSIONS[f"heat_template_version.{version}"].has_conditions:
        sections["conditions"] = {"c": True, "d": value}
    return {"heat_template_version": version, **sections}


def cfn(key: str, date: str, value: Any) -> dict[str, Any]:
    return {
        key: date,
        "Parameters": {"p": {"Type": "String", "Default": "x"}},
        "Mappings": {"m": {"k": {"s": 1}}},
        "Conditions": {"c": True, "d": value},
        "Resources": {"b": {"Type": "T"}, "r": {"Type": "T", "Properties": {"a": value}}},
        "Outputs": {"o": {"Value": value}},
    }


def sources(name: str, arguments: Any) -> list[dict[str, Any]]:
    """Return a template of each version that has the function."""
    found = []
    for version in TEMPLATE_VERSIONS.values():
        if name in version.functions or name in version.condition_functions:
            is_hot = version.template_format is TemplateFormat.HOT
            call = {name: arguments}
            found.append(
                hot(version.date, call) if is_hot else cfn(version.key, version.date, call)
            )
    return found


@pytest.mark.parametrize("name", sorted({name for name, _ in BUILTIN_FUNCTIONS}))
def test_odd_arguments_of_a_function_raise_nothing_but_400(name: str) -> None:
    for arguments in variations(VALID[name]):
        for source in sources(name, arguments)[-2:]:
            for missing in MissingParameters:
                try:
                    evaluated = evaluate(source, files={"f": "text"}, missing=missing)
                except Error as error:
                    assert error.http_status == 400, (arguments, error)  # noqa: PT017
                else:
                    json.dumps([each.dump() for each in evaluated.definitions.values()])


@pytest.mark.parametrize(("name", "variant"), BUILTIN_FUNCTIONS)
def test_odd_arguments_of_a_stored_call_raise_nothing_but_400(name: str, variant: str) -> None:
    """Resolved values take the place of arguments that were not known before."""
    inputs = FakeResourceValues({"b": {"x": {"y": [1, {}]}}})
    for arguments in variations(VALID[name]):
        try:
            value = resolve_value([Expression(name, variant, arguments)], inputs)
        except Error as error:
            assert error.http_status == 400, (arguments, error)  # noqa: PT017
        else:
            json.dumps(value)
