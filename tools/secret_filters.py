"""Findings of detect-secrets that are none, by a rule instead of one by one.

Named by ``.secrets.baseline``; detect-secrets calls each function with the parts of a finding
that its parameters name, and drops the finding if one returns True.
"""

from __future__ import annotations

from typing import Any

_BY_KEYWORD = frozenset({"Secret Keyword", "Basic Auth Credentials"})


def is_planted_in_a_test(filename: str, secret: str, plugin: Any) -> bool:
    """Return whether a test calls a text of its own a password.

    Keys and tokens of services are found in tests, too: those are known by their form.
    """
    del secret  # its name makes detect-secrets call this for findings
    in_tests = filename.startswith(("tests/", "benchmarks/", "heat_convergence/testing/"))
    return in_tests and plugin.secret_type in _BY_KEYWORD


def is_description(filename: str, secret: str, plugin: Any) -> bool:
    """Return whether the catalog describes a property that is called a secret."""
    del secret
    return filename.endswith("catalog/descriptions.yaml") and plugin.secret_type in _BY_KEYWORD
