"""Comparison of observed properties with applied ones."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.drift.comparison import Comparison, is_equal

EXACT, NORMALIZED, SUBSET = Comparison.EXACT, Comparison.NORMALIZED, Comparison.SUBSET


@pytest.mark.parametrize(
    ("comparison", "applied", "observed", "equal"),
    [
        (EXACT, "web", "web", True),
        (EXACT, "web", "Web", False),
        (EXACT, 1, "1", True),
        (EXACT, 1.0, 1, True),
        (EXACT, 1, 2, False),
        (EXACT, True, "True", True),
        (EXACT, True, "true", True),
        (EXACT, False, True, False),
        (EXACT, "", None, True),
        (EXACT, [], None, True),
        (EXACT, {"a": None}, {}, True),
        (EXACT, ["a", "b"], ["b", "a"], False),
        (NORMALIZED, "FA:16:3E:00:00:01", "fa:16:3e:00:00:01", True),
        (NORMALIZED, "10.0.0.7/24", "10.0.0.0/24", True),
        (NORMALIZED, "2001:db8:0::1", "2001:db8::1", True),
        (NORMALIZED, "v1.2", "V1.2", True),
        (NORMALIZED, ["a", "b"], ["b", "a"], True),
        (NORMALIZED, ["a", "a"], ["a"], False),
        (NORMALIZED, [{"destination": "10.1.0.0/16"}], [{"destination": "10.1.0.0/16"}], True),
        (SUBSET, {"role": "web"}, {"role": "web", "agent": "7"}, True),
        (SUBSET, {"role": "web"}, {"role": "db"}, False),
        (SUBSET, {"role": "web"}, None, False),
        (SUBSET, {"network": {"id": 1}}, {"network": {"id": 1, "mtu": 1500}}, True),
        (SUBSET, ["a"], ["b", "a"], True),
        (SUBSET, ["a", "a"], ["b", "a"], False),
        (SUBSET, ["a"], [], False),
        (SUBSET, [{"ip": "10.0.0.5"}], [{"ip": "10.0.0.5", "subnet_id": "s"}], True),
        (SUBSET, [{"ip": "10.0.0.5"}], [{"ip": "10.0.0.6", "subnet_id": "s"}], False),
    ],
)
def test_values_are_compared(comparison, applied, observed, equal):
    assert is_equal(comparison, applied, observed) is equal
