"""Secrets spread along reads, and no further."""

from __future__ import annotations

from heat_convergence.convergence.secrecy import spread
from heat_convergence.convergence.wanted import Wanted


def want(name: str, *draws_on: str, sensitive: bool = False) -> Wanted:
    return Wanted(name, "T", "T", {"name": name}, "hash", frozenset(draws_on),
                  frozenset(draws_on), sensitive)


def secret(*wanted: Wanted, sources=()) -> list[str]:
    found = spread({each.name: each for each in wanted}, sources)
    return sorted(name for name, each in found.items() if each.sensitive)


def test_readers_of_secrets_have_them_however_far_off():
    chain = [want("a", sensitive=True), want("b", "a"), want("c", "b"), want("d")]
    assert secret(*chain) == ["a", "b", "c"]


def test_what_is_read_by_a_secret_is_none():
    assert secret(want("a"), want("b", "a", sensitive=True)) == ["b"]


def test_readers_of_what_makes_secrets_have_them():
    assert secret(want("a"), want("b", "a"), sources=["a"]) == ["b"]


def test_a_ring_and_a_stranger_end():
    assert secret(want("a", "b", sensitive=True), want("b", "a", "nobody")) == ["a", "b"]


def test_the_definition_tells_it_and_its_hash_stays():
    found = spread({"a": want("a", sensitive=True), "b": want("b", "a")})
    assert found["b"].definition == {"name": "b", "sensitive": True}
    assert found["b"].definition_hash == "hash"
    assert found["a"].definition == {"name": "a"}
