"""The caches of a process keep little of what users send as patterns and expressions."""

from __future__ import annotations

import pytest

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.template import bounded_regex
from heat_convergence.template.evaluation_budget import request_budget
from heat_convergence.template.functions import yaql
from heat_convergence.template.limits import TemplateLimits


def test_large_patterns_are_not_cached() -> None:
    before = bounded_regex._compile_cached.cache_info().currsize
    assert bounded_regex.compile_pattern("[a-z]{9000}").fullmatch("a" * 9000)
    assert bounded_regex._compile_cached.cache_info().currsize == before


def test_long_expressions_are_not_cached() -> None:
    before = yaql._parse_cached.cache_info().currsize
    assert yaql._parsed("1" + " + 1" * 500)
    assert yaql._parse_cached.cache_info().currsize == before


def test_compiling_many_large_patterns_exceeds_the_limit_of_a_request() -> None:
    limits = TemplateLimits(max_evaluation_steps=5_000)
    with request_budget(limits):
        bounded_regex.compile_pattern("[a-z]{9000}")
        with pytest.raises(RequestLimitExceeded):
            bounded_regex.compile_pattern("[a-y]{9000}")
