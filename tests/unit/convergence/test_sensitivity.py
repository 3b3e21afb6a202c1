"""Secrets spread along reads, and no further."""

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


def sensitive_names(*wanted: DesiredResource, sources=()) -> list[str]:
    found = propagate_sensitivity({each.name: each for each in wanted}, sources)
    return sorted(name for name, each in found.items() if each.sensitive)


def test_readers_of_secrets_have_them_however_far_off():
    chain = [
        desired_resource("a", sensitive=True),
        desired_resource("b", "a"),
        desired_resource("c", "b"),
        desired_resource("d"),
    ]
    assert sensitive_names(*chain) == ["a", "b", "c"]


def test_what_is_read_by_a_secret_is_none():
    assert sensitive_names(desired_resource("a"), desired_resource("b", "a", sensitive=True)) == [
        "b"
    ]


def test_readers_of_what_makes_secrets_have_them():
    assert sensitive_names(desired_resource("a"), desired_resource("b", "a"), sources=["a"]) == [
        "b"
    ]


def test_a_ring_and_a_stranger_end():
    assert sensitive_names(
        desired_resource("a", "b", sensitive=True), desired_resource("b", "a", "nobody")
    ) == ["a", "b"]


def test_the_definition_tells_it_and_its_hash_stays():
    found = propagate_sensitivity(
        {"a": desired_resource("a", sensitive=True), "b": desired_resource("b", "a")}
    )
    assert found["b"].definition == {"name": "b", "sensitive": True}
    assert found["b"].definition_hash == "hash"
    assert found["a"].definition == {"name": "a"}
