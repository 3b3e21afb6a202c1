"""Partial evaluation followed by resolution equals evaluation of everything at the end."""

import gc
import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template.evaluation.evaluation import (
    UNKNOWN,
    ValueAtPath,
    attribute_references,
    is_known,
    referenced_resources,
    resolve_partially,
    resolve_value,
)
from heat_convergence.template.evaluation.resource_definition import (
    ResourceDefinition,
    definition_fingerprint,
)
from heat_convergence.template.expression import (
    Expression,
    collect_content_hashes,
    deduplicate_value,
    dump,
    load,
    restore_value,
)
from heat_convergence.template.functions.function import Function
from tests.unit.template.template_helpers import FakeResourceValues, evaluate, hot_template

TEXT = st.sampled_from(["", "a", "b", "$x", "ab$x", "a,b", "k", "1"])
PLAIN_DATA = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
# Attributes of the resources a and b, suitable as arguments of the functions.
ATTRIBUTE_VALUES = {
    "text": "a,b",
    "list": ["a", "$x"],
    "map": {"k": "a", "a": {"k": 1}},
    "none": None,
}


def function_calls(inner: Any) -> Any:
    """Return calls of every family of functions around ``inner``, well-formed or not."""
    texts, lists = st.one_of(TEXT, inner), st.one_of(st.lists(inner, max_size=3), inner)
    maps = st.one_of(st.dictionaries(TEXT, inner, max_size=3), inner)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(TEXT, inner, max_size=2),
        st.fixed_dictionaries({"list_join": st.tuples(TEXT, lists).map(list)}),
        st.fixed_dictionaries({"list_concat": st.lists(lists, max_size=2)}),
        st.fixed_dictionaries({"list_concat_unique": st.lists(lists, max_size=2)}),
        st.fixed_dictionaries({"map_merge": st.lists(maps, max_size=2)}),
        st.fixed_dictionaries({"filter": st.tuples(lists, lists).map(list)}),
        st.fixed_dictionaries({"contains": st.tuples(inner, lists).map(list)}),
        st.fixed_dictionaries({"str_split": st.tuples(st.just(","), texts).map(list)}),
        st.fixed_dictionaries({"digest": st.tuples(st.just("md5"), texts).map(list)}),
        *(st.fixed_dictionaries({name: st.fixed_dictionaries(
            {"template": texts, "params": maps})})
          for name in ("str_replace", "str_replace_strict", "str_replace_vstrict")),
        st.fixed_dictionaries({"make_url": st.fixed_dictionaries(
            {"host": texts, "query": maps, "path": texts})}),
        st.fixed_dictionaries({"list_join": st.tuples(TEXT, lists, lists).map(list)}),
        st.fixed_dictionaries({"repeat": st.fixed_dictionaries(
            {"template": inner, "for_each": st.dictionaries(st.just("$x"), lists)})}),
        st.fixed_dictionaries({"map_replace": st.tuples(
            maps, st.fixed_dictionaries({"keys": maps})).map(list)}),
        st.fixed_dictionaries({"yaql": st.fixed_dictionaries(
            {"expression": st.sampled_from(["$.data", "[$.data, 1]", "$.data.len()"]),
             "data": inner})}),
        st.fixed_dictionaries({"if": st.tuples(st.booleans(), inner).map(list)}),
    )  # fmt: skip


REFERENCE_NODES = st.one_of(
    st.sampled_from(["a", "b"]).map(lambda name: {"get_resource": name}),
    st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([*ATTRIBUTE_VALUES, "absent"])).map(
        lambda pair: {"get_attr": list(pair)}
    ),
    st.just({"get_attr": ["a", "map", "a", "k"]}),
    st.just({"get_param": "p"}),
)
TEMPLATE_NODES = st.recursive(
    REFERENCE_NODES | TEXT | st.integers(0, 3), function_calls, max_leaves=8
)


class ReferenceInliner:
    """Replaces references by parameters of the same value, so that nothing is unresolved."""

    def __init__(self, inputs: Any) -> None:
        self.inputs = inputs

    def replaced(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.replaced(item) for item in node]
        if not isinstance(node, dict):
            return node
        if set(node) == {"get_resource"}:
            return self.value(self.inputs.reference_id(node["get_resource"]))
        if set(node) == {"get_attr"}:
            resource, name, *path = node["get_attr"]
            value = self.inputs.attribute(resource, name, path)
            for part in path:
                value = value.get(part) if isinstance(value, dict) else None
            return self.value(value)
        return {key: self.replaced(item) for key, item in node.items()}

    @staticmethod
    def value(value: Any) -> Any:
        return {"get_param": ["all", json.dumps(value)]}


def result_or_error(action: Any) -> Any:
    try:
        return action()
    except Error as error:
        return type(error)


def evaluate_output(value: Any, parameters: Any = None) -> Any:
    parameters = parameters or {}
    declared = {name: {"type": "json", "default": {}} for name in parameters}
    source = hot_template(
        parameters={"p": {"type": "string", "default": "a"}, **declared},
        resources={"a": {"type": "T"}, "b": {"type": "T"}},
        outputs={"it": {"value": value}},
    )
    return evaluate(source, {"parameters": parameters}).outputs["it"].value


RESOURCE_VALUES = FakeResourceValues(
    {"a": ATTRIBUTE_VALUES, "b": ATTRIBUTE_VALUES}, {"a": "id-a", "b": "id-b"}
)


@settings(max_examples=150)
@given(TEMPLATE_NODES)
def test_partial_evaluation_then_resolution_equals_full_evaluation(node: Any) -> None:
    inliner = ReferenceInliner(RESOURCE_VALUES)
    everything = {json.dumps(v): v for v in [*ATTRIBUTE_VALUES.values(), "id-a", "id-b", 1]}

    def at_once() -> Any:
        return resolve_value(
            evaluate_output(inliner.replaced(node), {"all": everything}), RESOURCE_VALUES
        )

    def in_turns() -> Any:
        evaluated = evaluate_output(node)
        return resolve_value(load(json.loads(json.dumps(dump(evaluated)))), RESOURCE_VALUES)

    assert result_or_error(in_turns) == result_or_error(at_once)


class PartialResourceValues:
    """The values of the resources that are known already."""

    def __init__(self, known: Any) -> None:
        self.known = known

    def reference_id(self, resource: str) -> Any:
        return RESOURCE_VALUES.reference_id(resource) if resource in self.known else UNKNOWN

    def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> Any:
        return (
            RESOURCE_VALUES.attribute(resource, name, path) if resource in self.known else UNKNOWN
        )


@settings(max_examples=80)
@given(TEMPLATE_NODES, st.permutations([{"a"}, {"b"}, set()]))
def test_order_in_which_values_arrive_does_not_matter(node: Any, arrivals: Any) -> None:
    evaluated = result_or_error(lambda: evaluate_output(node))
    if isinstance(evaluated, type):
        return

    def step_by_step() -> Any:
        value = evaluated
        for known in arrivals:
            value = resolve_partially(value, PartialResourceValues(known))
        return resolve_value(value, RESOURCE_VALUES)

    assert result_or_error(step_by_step) == result_or_error(
        lambda: resolve_value(evaluated, RESOURCE_VALUES)
    )


@given(PLAIN_DATA)
def test_dumped_data_is_never_mistaken_for_an_expression(data: Any) -> None:
    for mark in ("$call", "$data", "$content"):
        value = {mark: data, "deep": [{mark: data}, {mark: {mark: data}}]}
        for item in (value, value["deep"], {mark: data}):
            assert load(json.loads(json.dumps(dump(item)))) == item
            contents: dict[str, str] = {}
            shared = deduplicate_value(dump(item), contents, min_chars=1)
            assert collect_content_hashes(shared) <= set(contents)
            assert load(restore_value(shared, contents.__getitem__)) == item


def test_malformed_dumps_are_refused() -> None:
    with pytest.raises(ValueError, match="malformed"):
        load({"$call": 1})


def test_equal_long_texts_are_stored_once() -> None:
    contents: dict[str, str] = {}
    deduplicate_value([{"user_data": "x" * 5000}, {"user_data": "x" * 5000}, "short"], contents)
    assert list(contents.values()) == ["x" * 5000]


UNRESOLVED_NODE = {"get_attr": ["a", "x"]}
UNRESOLVED_EXPRESSION = Expression("get_attr", "attr_optional_name", ["a", "x"])


@pytest.mark.parametrize(
    ("function", "arguments", "unresolved"),
    [
        ("list_join", ["-", ["a", None, "b", UNRESOLVED_NODE, "c", "d"], ["e", "f"]],
         ["-", ["a--b", UNRESOLVED_EXPRESSION, "c-d"], ["e-f"]]),
        ("list_join", ["-", ["a", {"k": 1}, UNRESOLVED_NODE]], ["-", ["a", {"k": 1}, UNRESOLVED_EXPRESSION]]),  # noqa: E501
        ("map_merge", [{"a": 1}, None, {"a": 2, "b": 3}, UNRESOLVED_NODE, {"c": 4}],
         [{"a": 2, "b": 3}, UNRESOLVED_EXPRESSION, {"c": 4}]),
        ("map_merge", [{"a": UNRESOLVED_NODE}, {"a": 1}], [{"a": UNRESOLVED_EXPRESSION}, {"a": 1}]),  # noqa: E501
        ("list_concat", [["a"], ["b"], UNRESOLVED_NODE, ["c"], None], [["a", "b"], UNRESOLVED_EXPRESSION, ["c"]]),  # noqa: E501
        ("list_concat_unique", [["a"], ["a"], [UNRESOLVED_NODE]], [["a", "a"], [UNRESOLVED_EXPRESSION]]),  # noqa: E501
    ],
)  # fmt: skip
def test_known_neighbours_are_joined(function: Any, arguments: Any, unresolved: Any) -> None:
    assert evaluate_output({function: arguments}).arguments == unresolved


def test_expression_is_minimal_and_lists_its_references() -> None:
    value = {"list_join": ["-", [{"get_param": "p"}, {"get_attr": ["a", "map", "k"]}]]}
    evaluated = evaluate_output(value)
    read = Expression("get_attr", "attr_optional_name", ["a", "map", "k"])
    assert evaluated == Expression("list_join", "multi_list_json_items", ["-", ["a", read]])
    assert referenced_resources(evaluated) == {"a"}
    assert not is_known(evaluated)
    (reference,) = attribute_references({"x": [evaluated]})
    assert (reference.resource, reference.attribute, reference.path) == ("a", "map", ("k",))
    assert reference.location == "x[0].list_join[1][1]"
    assert resolve_value(evaluated, RESOURCE_VALUES) == "a-a"


def test_all_attributes_and_applied_paths_are_resolved() -> None:
    assert resolve_value(evaluate_output({"get_attr": ["a"]}), RESOURCE_VALUES) == ATTRIBUTE_VALUES

    class Applied(FakeResourceValues):
        def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> Any:
            return ValueAtPath(list(path))

    assert resolve_value(evaluate_output({"get_attr": ["a", "outputs", "x", 0]}), Applied()) == [
        "x",
        0,
    ]


def test_errors_of_resolution_have_a_path() -> None:
    evaluated = evaluate_output({"str_split": [",", {"get_attr": ["a", "text"]}, 7]})
    with pytest.raises(StackValidationFailed, match=r"r\.properties\.v: : Incorrect index"):
        resolve_value(evaluated, RESOURCE_VALUES, location="r.properties.v")
    with pytest.raises(StackValidationFailed, match="no value yet"):
        resolve_value(evaluated, PartialResourceValues(set()))


def test_fingerprint_ignores_order_but_nothing_else() -> None:
    one = ResourceDefinition("r", "T", {"a": 1, "b": {"c": 2, "d": 3}}, requires=frozenset("x"))
    other = ResourceDefinition("r", "T", {"b": {"d": 3, "c": 2}, "a": 1})
    assert definition_fingerprint(one.dump()) == definition_fingerprint(other.dump())
    assert definition_fingerprint(one.dump()) != definition_fingerprint(
        ResourceDefinition("r", "T", {"a": 1}).dump()
    )
    call = Expression("get_attr", "v", ["a"])
    assert definition_fingerprint(
        ResourceDefinition("r", "T", {"a": call}).dump()
    ) != definition_fingerprint(ResourceDefinition("r", "T", {"a": dump(call)}).dump())


def test_stored_definitions_and_outputs_load_unchanged() -> None:
    found = evaluate(
        hot_template(
            parameters={"s": {"type": "string", "default": "x", "hidden": True}},
            resources={
                "a": {"type": "T", "metadata": {"get_attr": ["b", "m"]}, "description": "d"},
                "b": {"type": "U", "external_id": "e", "properties": {"x": {"get_param": "s"}}},
                "c": {"type": "V", "depends_on": ["a"], "update_policy": {"p": 1},
                      "deletion_policy": "Snapshot", "properties": {"$call": [1, 2, 3]}},
            },
            outputs={"o": {"value": {"get_resource": "a"}, "description": "d"},
                     "off": {"value": 1, "condition": False}},
        )
    )  # fmt: skip
    for stored in (*found.definitions.values(), *found.outputs.values()):
        again = type(stored).load(stored.name, json.loads(json.dumps(stored.dump())))
        assert again == stored


def test_plugin_functions_are_evaluated() -> None:
    def shout(arguments: Any, scope: object) -> Any:
        return arguments.upper()

    plugins = {"shout": Function("Louder.", shout), "get_param": Function("Never.", shout)}
    source = hot_template(
        resources={"a": {"type": "T"}},
        outputs={"now": {"value": {"shout": "a"}}, "later": {"value": {"shout": {
            "get_attr": ["a", "text"]}}}, "own": {"value": {"get_param": "OS::stack_name"}}},
    )  # fmt: skip
    outputs = evaluate(source, functions=plugins).outputs
    assert outputs["now"].value == "A"
    assert outputs["own"].value == "stack"
    assert resolve_value(outputs["later"].value, RESOURCE_VALUES, functions=plugins) == "A,B"
    with pytest.raises(StackValidationFailed, match="any more"):
        resolve_value(outputs["later"].value, RESOURCE_VALUES)


def wide_template(count: Any) -> Any:
    """Return a template of resources that each read the previous one and the parameters."""
    named: dict[str, Any] = {"r0": {"type": "T"}}
    for at in range(1, count):
        before = f"r{at - 1}"
        named[f"r{at}"] = {"type": "T", "properties": {
            "joined": {"list_join": ["-", [{"get_param": "p"}, {"get_attr": [before, "x"]}]]},
            "rules": {"repeat": {"template": "%i%", "for_each": {"%i%": ["a", "b"]}}},
            "chosen": {"if": ["c", {"get_resource": before}, 1]},
        }}  # fmt: skip
    return hot_template(
        parameters={"p": {"type": "string", "default": "x"}},
        conditions={"c": {"equals": [{"get_param": "p"}, "x"]}},
        resources=named,
    )


def count_python_calls(action: Any) -> Any:
    """Return the number of Python function calls, without those of the garbage collector.

    A collection in the middle would run the finalizers of other tests' objects.
    """
    count = 0

    def count_call(frame: Any, event: Any, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    gc.collect()
    gc.disable()
    sys.setprofile(count_call)
    try:
        action()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def test_cost_grows_linearly_with_the_number_of_resources() -> None:
    def build_and_dump(count: Any) -> None:
        for definition in evaluate(wide_template(count)).definitions.values():
            definition_fingerprint(definition.dump())

    build_and_dump(10)  # caches
    once, twice, thrice = (
        count_python_calls(lambda n=n: build_and_dump(n)) for n in (100, 200, 300)
    )
    assert abs((thrice - twice) - (twice - once)) <= 0.01 * (twice - once)
