"""Environments: documents, mappings, hooks, nested stacks, patches and merging of files."""

from typing import Any

import pytest

from heat_convergence.common import errors
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.environment_merge import merge_environment_files
from heat_convergence.template.template import Template
from tests.unit.template.template_helpers import hot_template

EMPTY = {
    "parameters": {},
    "parameter_defaults": {},
    "resource_registry": {"resources": {}},
    "event_sinks": [],
    "encrypted_param_names": [],
}


def registry(entries: Any, base: Any = None) -> Any:
    base_environment = Environment.parse({"resource_registry": base}) if base is not None else None
    return Environment.parse({"resource_registry": entries}, base=base_environment).registry


@pytest.mark.parametrize("source", [None, "", {}, "{}", "# nothing"])
def test_empty_documents_are_empty_environments(source: Any) -> None:
    assert Environment.parse(source).to_dict() == EMPTY


def test_dumped_environment_can_be_parsed_again() -> None:
    source = {
        "parameters": {"b": 1},
        "resource_registry": {"B": "C", "A": "x.yaml", "resources": {"r": {"A": "B"}}},
        "event_sinks": [{"type": "zaqar-queue", "target": "q"}],
        "encrypted_param_names": ["b"],
        "parameter_merge_strategies": {"b": "merge"},
    }
    stable = Environment.parse(source).to_dict()
    assert Environment.parse(stable).to_dict() == stable
    assert list(stable["resource_registry"]) == ["A", "B", "resources"]
    assert "parameter_merge_strategies" not in stable


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("[]", errors.HTTPBadRequest),
        ("text", errors.HTTPBadRequest),
        ({"parameter": {}}, errors.HTTPBadRequest),
        ({"parameters": None}, errors.HTTPBadRequest),
        ({"parameters": []}, errors.HTTPBadRequest),
        ({"event_sinks": {}}, errors.HTTPBadRequest),
        ({"event_sinks": ["x"]}, errors.HTTPBadRequest),
        ({"resource_registry": {"A": 5}}, errors.HTTPBadRequest),
        ({"resource_registry": {"resources": []}}, errors.HTTPBadRequest),
        ({"resource_registry": {"resources": {"r": {"hooks": "pre-crate"}}}},
         errors.InvalidBreakPointHook),
        ({"resource_registry": {"resources": {"r": {"c": {"hooks": ["x"]}}}}},
         errors.InvalidBreakPointHook),
        ({"resource_registry": {"resources": {"r": {"restricted_actions": "delete"}}}},
         errors.InvalidRestrictedAction),
    ],
)  # fmt: skip
def test_invalid_environments_are_refused(source: Any, error: Any) -> None:
    with pytest.raises(error):
        Environment.parse(source)


@pytest.mark.parametrize(
    ("entries", "name", "expected"),
    [
        ({}, "A::X", "A::X"),
        ({"A::X": "B::Y"}, "A::X", "B::Y"),
        ({"A::X": "B::Y", "B::Y": "C::Z"}, "A::X", "C::Z"),
        ({"A::X": "dir/x.yaml"}, "A::X", "dir/x.yaml"),
        ({"A::*": "B::*"}, "A::X::Y", "B::X::Y"),
        ({"A::*": "B::Y"}, "A::X", "B::Y"),
        ({"A::*": "A::Y"}, "A::Y", "A::Y"),
        ({"A::X": "A::X"}, "A::X", "A::X"),
        ({"A::X": None, "A::*": "B::*"}, "A::X", "A::X"),
        ({"A::*": None}, "A::X", "A::X"),
        ({"A::*": None, "A::X": "B"}, "A::X", "B"),
        ({"A::*": None, "A::X::*": "B::*"}, "A::X::Y", "B::Y"),
        ({"A::X": None, "resources": {"r": {"A::X": "C"}}}, "A::X", "C"),
        ({"A::X": "B", "resources": {"r": {"A::X": None}}}, "A::X", "B"),
        ({"A::X": "x.template"}, "A::X", "x.template"),
        ({"resources": {"r": {"A::X": "C"}}, "A::X": "B"}, "A::X", "C"),
        ({"resources": {"r*": {"A::X": "C"}}}, "A::X", "A::X"),
        ({"resources": {"other": {"A::X": "C"}}, "A::X": "B"}, "A::X", "B"),
        ({}, "nested.yaml", "nested.yaml"),
    ],
)
def test_type_resolves_to_the_most_specific_entry(entries: Any, name: str, expected: Any) -> None:
    assert registry(entries).resolve(name, "r") == expected


def test_all_nested_stacks_share_one_registry() -> None:
    """Sharing the object lets caches keyed by it work for all of them."""
    base = {"B::X": "b.yaml"}
    above = registry({"A::*": "C::*", "resources": {"r": {"r2": {"A::X": "a.yaml"}}}}, base)
    base_environment = above.for_nested_stack("r").for_nested_stack("r2")
    assert base_environment.resolve("A::X") == "C::X"
    assert base_environment.for_nested_stack("r").for_nested_stack(
        "other"
    ) is base_environment.for_nested_stack("r")
    assert base_environment.for_nested_stack("r").entries == {"A::*": "C::*", "resources": {}}


def test_operator_entries_have_the_lowest_precedence() -> None:
    base = {"A::X": "base.yaml", "B::*": "C::*"}
    assert registry({}, base).find_implementation("A::X").from_user is False
    assert registry({"A::*": "U::*"}, base).resolve("A::X") == "U::X"
    assert registry({"A::X": "B::Q"}, base).resolve("A::X") == "C::Q"
    assert registry({"A::X": None}, base).resolve("A::X") == "A::X"
    assert registry({"A::X": "x.yaml"}, base).find_implementation("A::X").is_template


@pytest.mark.parametrize("order", [("r", "other"), ("other", "r")])
def test_what_is_resolved_for_one_resource_is_not_taken_for_another(order: Any) -> None:
    base = {"A::X": "base.yaml", "resources": {"low": {"A::X": "low.yaml"}}}
    found = registry({"resources": {"r": {"A::X": "own.yaml"}}}, base)
    expected = {"r": "own.yaml", "other": "base.yaml"}
    assert [found.resolve("A::X", each) for each in order] == [expected[each] for each in order]
    assert found.resolve("A::X", "low") == "low.yaml"
    assert found.resolve("A::X") == "base.yaml"


def test_cyclic_mappings_are_refused() -> None:
    with pytest.raises(errors.StackValidationFailed, match="A -> B -> A"):
        registry({"A": "B", "B": "A"}).resolve("A")


def test_hooks_and_restricted_actions_apply_by_pattern() -> None:
    found = registry(
        {"resources": {
            "web*": {"hooks": "pre-create", "restricted_actions": "replace"},
            "web1": {"hooks": ["post-update", "pre-create"]},
            "group": {"web*": {"hooks": "pre-delete"}, "A": "B"},
            "gr*": {"exact": {"hooks": "pre-update"}},
        }}
    )  # fmt: skip
    assert found.hooks("web1") == {"pre-create", "post-update"}
    assert found.hooks("Web1") == frozenset()
    assert found.restricted_actions("web9") == {"replace"}
    child = found.for_nested_stack("group")
    assert child.hooks("web7") == {"pre-delete"}
    assert child.hooks("exact") == {"pre-update"}
    assert child.hooks("group") == frozenset()


def test_nested_stack_inherits_defaults_and_registry() -> None:
    parent = Environment.parse(
        {
            "parameters": {"p": 1},
            "parameter_defaults": {"d": 2},
            "resource_registry": {"A": "B", "resources": {"r": {"c": {"A": "C"}}}},
            "encrypted_param_names": ["p"],
        }
    )
    child = parent.for_nested_stack("r", {"q": 3})
    assert child.parameters == {"q": 3}
    assert child.parameter_defaults == {"d": 2}
    assert child.registry.resolve("A") == "B"
    assert child.registry.resolve("A", "c") == "C"
    assert child.encrypted_param_names == ()


def test_patch_keeps_unmentioned_entries() -> None:
    old = Environment.parse(
        {
            "parameters": {"a": 1, "b": 2},
            "resource_registry": {
                "A": "B", "C::X": "D", "C::Y": "D", "resources": {"r": {"A": "E"}}},
        }
    )  # fmt: skip
    new = Environment.parse(
        {
            "parameters": {"b": 3},
            "resource_registry": {
                "C::*": None, "F": "G", "resources": {"r": {"hooks": "pre-update"}}},
        }
    )  # fmt: skip
    patched = old.merged_with(new, ["a"])
    assert patched.parameters == {"b": 3}
    assert patched.registry.resolve("A") == "B"
    assert patched.registry.resolve("C::X") == "C::X"
    assert patched.registry.resolve("F") == "G"
    assert patched.registry.resolve("A", "r") == "E"
    assert patched.registry.hooks("r") == {"pre-update"}


SCHEMAS = Template.parse(
    hot_template(
        parameters={
            "text": {"type": "string"},
            "number": {"type": "number"},
            "list": {"type": "comma_delimited_list"},
            "map": {"type": "json"},
            "flag": {"type": "boolean"},
        }
    )
).parameters


def merged(*texts: Any, request: Any = None) -> Any:
    files = {f"e{n}": text for n, text in enumerate(texts)}
    return merge_environment_files(files, list(files), SCHEMAS, request=request)


@pytest.mark.parametrize(
    ("name", "first", "second", "strategy", "expected"),
    [
        ("text", "a", "b", "overwrite", "b"),
        ("text", "a", "b", "merge", "ab"),
        ("number", "1", "2", "merge", 3),
        ("list", "a", "[b, c]", "merge", ["a", "b", "c"]),
        ("map", "{a: 1, n: {x: 1}}", "{a: 2, n: {y: 2}}", "merge", {"a": 2, "n": {"y": 2}}),
        ("map", "{a: s, n: {x: [1]}}", "{a: t, n: {x: [2]}}", "deep_merge",
         {"a": "st", "n": {"x": [1, 2]}}),
    ],
)  # fmt: skip
def test_merge_strategies_combine_values(
    name: str, first: Any, second: Any, strategy: Any, expected: Any
) -> None:
    found = merged(
        f"parameters: {{{name}: {first}}}",
        f"parameters: {{{name}: {second}}}\nparameter_merge_strategies: {{{name}: {strategy}}}",
    )
    assert found.parameters[name] == expected
    by_default = merged(
        f"parameters: {{{name}: {first}}}",
        f"parameters: {{{name}: {second}}}\nparameter_merge_strategies: {{default: {strategy}}}",
    )
    assert by_default.parameters[name] == expected


def test_other_sections_merge_by_file_order() -> None:
    found = merged(
        "parameters: {unknown: 1}\nevent_sinks: [{type: a}]\n"
        "resource_registry: {A: B, resources: {r: {A: C}}}",
        "parameters: {other: 1, text: t}\nevent_sinks: [{type: b}]\n"
        "resource_registry: {A: null, D: E, resources: {s: {A: C}}}",
    )
    assert found.parameters == {"unknown": 1, "text": "t"}
    assert found.event_sinks == ({"type": "a"},)
    assert found.registry.resolve("A") == "B"
    assert found.registry.resolve("D") == "E"
    assert found.registry.resolve("A", "r") == "B"
    assert found.registry.resolve("A", "s") == "C"
    over = merged("parameters: {text: file}", request={"parameters": {"text": "request"}})
    assert over.parameters == {"text": "file"}


def test_first_explicit_strategy_applies_to_all_files() -> None:
    """The default strategy of a file counts too; null removes nothing."""
    found = merged(
        "parameters: {text: a, list: [a]}",
        "parameters: {text: b, list: null}\nparameter_merge_strategies: {default: merge}",
        "parameters: {text: c}",
    )
    assert found.parameters == {"text": "abc", "list": ["a"]}
    with pytest.raises(errors.ConflictingMergeStrategyForParam, match="text"):
        merged(
            "parameters: {text: a}",
            "parameters: {text: b}",
            "parameters: {text: c}\nparameter_merge_strategies: {text: merge}",
        )


def test_invalid_merges_are_refused() -> None:
    with pytest.raises(errors.InvalidMergeStrategyForParam):
        merged(
            "parameters: {flag: true}",
            "parameters: {flag: false}\nparameter_merge_strategies: {flag: merge}",
        )
    with pytest.raises(errors.ConflictingMergeStrategyForParam):
        merged(
            "parameters: {map: {}}\nparameter_merge_strategies: {map: merge}",
            "parameters: {map: {}}\nparameter_merge_strategies: {map: deep_merge}",
        )
    with pytest.raises(errors.HTTPBadRequest, match="e0"):
        merged("parameters: [")
    with pytest.raises(errors.HTTPBadRequest, match="sideways"):
        merged(
            "parameters: {map: {}}",
            "parameters: {map: {}}\nparameter_merge_strategies: {map: sideways}",
        )
    with pytest.raises(errors.HTTPBadRequest, match="absent"):
        merge_environment_files({}, ["absent"], SCHEMAS)
