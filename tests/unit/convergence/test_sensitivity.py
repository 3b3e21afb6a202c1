"""Sensitivity propagates to the resources that reference a sensitive one."""

from __future__ import annotations

from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.sensitivity import propagate_sensitivity


def desired_resource(
    name: str, *referenced_names: str, sensitive: bool = False
) -> DesiredResource:
    return DesiredResource(
        name,
        "T",
        "T",
        {"name": name},
        "hash",
        frozenset(referenced_names),
        frozenset(referenced_names),
        sensitive,
    )


def sensitive_names(*resources: DesiredResource, sources=()) -> list[str]:
    found = propagate_sensitivity({each.name: each for each in resources}, sources)
    return sorted(name for name, each in found.items() if each.sensitive)


def test_sensitivity_propagates_to_indirect_dependents():
    chain = [
        desired_resource("a", sensitive=True),
        desired_resource("b", "a"),
        desired_resource("c", "b"),
        desired_resource("d"),
    ]
    assert sensitive_names(*chain) == ["a", "b", "c"]


def test_dependency_of_a_sensitive_resource_is_not_sensitive():
    assert sensitive_names(desired_resource("a"), desired_resource("b", "a", sensitive=True)) == [
        "b"
    ]


def test_dependent_of_a_source_of_secrets_is_sensitive():
    assert sensitive_names(desired_resource("a"), desired_resource("b", "a"), sources=["a"]) == [
        "b"
    ]


def test_cycles_and_unknown_names_are_handled():
    assert sensitive_names(
        desired_resource("a", "b", sensitive=True), desired_resource("b", "a", "nobody")
    ) == ["a", "b"]


def test_definition_is_marked_sensitive_and_its_hash_is_unchanged():
    found = propagate_sensitivity(
        {"a": desired_resource("a", sensitive=True), "b": desired_resource("b", "a")}
    )
    assert found["b"].definition == {"name": "b", "sensitive": True}
    assert found["b"].definition_hash == "hash"
    assert found["a"].definition == {"name": "a"}
