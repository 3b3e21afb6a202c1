"""Mutated templates: parsing and evaluation raise only documented errors."""

import json
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heat_convergence.common.errors import Error
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import (
    MissingParameters,
    evaluate_template,
    resolve_value,
)
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.template_versions import KNOWN_FUNCTIONS, TEMPLATE_VERSIONS
from heat_convergence.template.template import Template
from tests.unit.template.template_helpers import STACK_CONTEXT, FakeResourceValues

SMALL_LIMITS = TemplateLimits(
    max_depth=40, max_nodes=5_000, max_result_size=20_000, yaql_max_steps=500,
    max_template_size=20_000,
)  # fmt: skip

HOT_TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "description": "d",
    "parameter_groups": [{"label": "l", "parameters": ["p"]}],
    "parameters": {
        "p": {"type": "string", "default": "x", "constraints": [{"length": {"max": 3}}]},
        "j": {"type": "json", "default": {"a": [1]}, "hidden": True},
        "n": {"type": "number", "default": 1, "constraints": [{"range": {"min": 0}}]},
    },
    "conditions": {"c": {"not": {"equals": [{"get_param": "p"}, "y"]}}, "d": {"or": ["c", False]}},
    "resources": {
        "a": {"type": "T", "condition": "c", "properties": {
            "x": {"str_replace": {"template": "a$x", "params": {"$x": {"get_param": "p"}}}},
            "y": {"repeat": {"template": "%i%", "for_each": {"%i%": {"get_param": ["j", "a"]}}}},
            "z": {"yaql": {"expression": "$.data.x + 1", "data": {"x": {"get_param": "n"}}}}}},
        "b": {"type": "T", "depends_on": ["a"], "deletion_policy": "Retain", "properties": {
            "x": {"list_join": [",", [{"get_attr": ["a", "x"]}, {"get_resource": "a"}]]},
            "y": {"map_replace": [{"map_merge": [{"k": 1}, {"get_param": "j"}]}, {"keys": {}}]},
            "z": {"make_url": {"host": "h", "port": {"get_param": "n"}}},
            "q": {"if": ["d", {"digest": ["md5", "x"]}, {"str_split": [",", "a,b", 1]}]}}},
    },
    "outputs": {"o": {"value": {"get_attr": ["b", "y", 0]}, "condition": "c"}},
}  # fmt: skip
CFN_TEMPLATE = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Parameters": {"P": {"Type": "String", "Default": "x", "AllowedPattern": "[a-z]"}},
    "Mappings": {"M": {"x": {"s": 1}}},
    "Conditions": {"C": {"Fn::And": [{"Fn::Equals": [{"Ref": "P"}, "x"]}, True]}},
    "Resources": {
        "A": {"Type": "T", "Properties": {"m": {"Fn::FindInMap": ["M", {"Ref": "P"}, "s"]}}},
        "B": {"Type": "T", "DependsOn": "A", "Condition": "C", "Properties": {
            "j": {"Fn::Join": ["", [{"Ref": "A"}, {"Fn::GetAtt": ["A", "x"]}]]},
            "s": {"Fn::Select": [0, {"Fn::Split": [",", "a,b"]}]}}},
    },
    "Outputs": {"O": {"Value": {"Fn::If": ["C", {"Ref": "B"}, 1]}}},
}  # fmt: skip

WORDS = [*sorted(KNOWN_FUNCTIONS), *"c a b p j A P M x type value".split(), ""]
NAMES = st.sampled_from(WORDS)
ARBITRARY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**30) | st.floats(-2, 2) | NAMES
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=6,
)  # fmt: skip


def container_slots(node: Any) -> Any:
    """Return every list and map in a document with the keys in it."""
    children = node.items() if isinstance(node, dict) else enumerate(node)
    result = [(node, key) for key, _ in children]
    for _, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        if isinstance(child, dict | list):
            result += container_slots(child)
    return result


@st.composite
def mutated_documents(draw: Any) -> Any:
    document = json.loads(json.dumps(draw(st.sampled_from([HOT_TEMPLATE, CFN_TEMPLATE]))))
    for _ in range(draw(st.integers(1, 3))):
        node, key = draw(st.sampled_from(container_slots(document) or [(document, "x")]))
        change = draw(st.sampled_from(["replace", "delete", "rename", "wrap"]))
        if change == "delete":
            del node[key]
        elif change == "rename" and isinstance(node, dict):
            node[draw(NAMES)] = node.pop(key)
        elif change == "wrap":
            node[key] = {draw(NAMES): node[key]}
        else:
            node[key] = draw(ARBITRARY_JSON)
    for version in TEMPLATE_VERSIONS.values():
        if version.key in document and draw(st.integers(0, 20)) == 0:
            document[version.key] = version.date
    return document


def result_unless_documented_error(action: Any) -> Any:
    """Return the action's result, or None after a documented error.

    Any other exception, or an error without a text, fails the test.
    """
    try:
        return action()
    except Error as error:
        documented = error
    assert str(documented)
    assert documented.http_status == 400
    return None


def evaluate_and_resolve(source: Any, missing: Any) -> None:
    """Parse, evaluate, store and resolve a template."""
    inputs = FakeResourceValues({name: {"x": "v", "y": [1]} for name in "abAB"})
    result = result_unless_documented_error(
        lambda: evaluate_template(
            Template.parse(source, limits=SMALL_LIMITS),
            Environment(),
            {"f": "x"},
            STACK_CONTEXT,
            EvaluationOptions(missing_parameters=missing),
        )
    )
    if result is None:
        return
    for definition in result.definitions.values():
        loaded = type(definition).load(definition.name, json.loads(json.dumps(definition.dump())))
        assert loaded == definition
    values = [definition.properties for definition in result.definitions.values()]
    for value in [*values, *(output.value for output in result.outputs.values())]:
        plain = result_unless_documented_error(
            partial(resolve_value, value, inputs, limits=SMALL_LIMITS)
        )
        json.dumps(plain, allow_nan=False)


@settings(max_examples=100)
@given(mutated_documents(), st.sampled_from(MissingParameters))
def test_mutated_documents_raise_only_documented_errors(document: Any, missing: Any) -> None:
    evaluate_and_resolve(document, missing)


@settings(max_examples=100)
@given(mutated_documents(), st.data())
def test_mutated_texts_raise_only_documented_errors(document: Any, data: Any) -> None:
    text = json.dumps(document, indent=1)
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 4))
        piece = data.draw(st.text(alphabet='{}[]:,"\\&*!|>-%@#\n\t aé0.', max_size=3))
        text = text[:start] + piece + text[end:]
    evaluate_and_resolve(text, MissingParameters.REJECT)


@settings(max_examples=100)
@given(ARBITRARY_JSON, NAMES)
def test_arbitrary_environments_raise_only_documented_errors(content: Any, name: str) -> None:
    for source in (content, {name: content}, {"resource_registry": content},
                   {"resource_registry": {"resources": content}}):  # fmt: skip
        if isinstance(source, dict | str):
            result_unless_documented_error(partial(exercise_environment, source))


def exercise_environment(source: Any) -> None:
    environment = Environment.parse(source)
    environment.registry.resolve("a", "a")
    environment.for_nested_stack("a", {}).registry.hooks("b")
    json.dumps(environment.to_dict())
