"""The caches of a process keep little of what users send: patterns, expressions and names."""

from __future__ import annotations

import json

import pytest

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.template import bounded_regex
from heat_convergence.template.evaluation_budget import request_budget
from heat_convergence.template.functions import yaql_evaluation
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters import hidden_parameters
from heat_convergence.template.parameters.hidden_parameters import hidden_parameters_of_texts


def test_large_patterns_are_not_cached() -> None:
    before = bounded_regex._compile_cached.cache_info().currsize
    assert bounded_regex.compile_pattern("[a-z]{9000}").fullmatch("a" * 9000)
    assert bounded_regex._compile_cached.cache_info().currsize == before


def test_long_expressions_are_not_cached() -> None:
    before = yaql_evaluation._parse_cached.cache_info().currsize
    assert yaql_evaluation._parsed("1" + " + 1" * 500)
    assert yaql_evaluation._parse_cached.cache_info().currsize == before


def test_compiling_many_large_patterns_exceeds_the_limit_of_a_request() -> None:
    limits = TemplateLimits(max_evaluation_steps=5_000)
    with request_budget(limits):
        bounded_regex.compile_pattern("[a-z]{9000}")
        with pytest.raises(RequestLimitExceeded):
            bounded_regex.compile_pattern("[a-y]{9000}")


def hiding(*names: str) -> str:
    return json.dumps({"parameters": {name: {"type": "string", "hidden": True} for name in names}})


def test_names_of_hidden_parameters_are_cached_for_a_number_of_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: dict[bytes, frozenset[str]] = {}
    monkeypatch.setattr(hidden_parameters, "_NAMES_BY_DIGEST", kept)
    monkeypatch.setattr(hidden_parameters, "_MAX_CACHED_TEXTS", 10)
    for number in range(50):
        names = hidden_parameters_of_texts([hiding(f"p{number}")], DEFAULT_LIMITS)
        assert f"p{number}" in names
        assert len(kept) <= 10


def test_long_names_of_hidden_parameters_are_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[bytes, frozenset[str]] = {}
    monkeypatch.setattr(hidden_parameters, "_NAMES_BY_DIGEST", kept)
    for name in ("x" * 2_000, "short"):
        assert name in hidden_parameters_of_texts([hiding(name)], DEFAULT_LIMITS)
    assert list(kept.values()) == [frozenset({"short"})]
