"""Tests of the custom constraints that need no cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from heat_convergence.resources.custom_constraints import CLOUDLESS_CONSTRAINTS

GOOD: Mapping[str, Sequence[object]] = {
    "cron_expression": ["*/5 * * * *", "0 0 1 1 mon", ""],
    "dns_domain": ["example.org.", "", "a-1.b."],
    "dns_name": ["www", "www.example.org", "www.example.org.", "1a.org", ""],
    "expiration": ["2999-01-01T00:00:00", "2999-01-01T00:00:00Z", " 2999-01-01T00:00:00+01:00 "],
    "ip_addr": ["192.0.2.1", "2001:db8::1"],
    "ip_or_cidr": ["192.0.2.1", "192.0.2.0/24", "2001:db8::/32"],
    "iso_8601": ["2026-01-01T00:00:00Z", "2026-01-01", "20260101T000000"],
    "json_string": ['{"a": 1}', "[]", '"x"', "1"],
    "mac_addr": ["fa:16:3e:00:00:01", "FA-16-3E-00-00-01", "fa16.3e00.0001", "fa163e000001"],
    "net_cidr": ["192.0.2.0/24", "192.0.2.7/24", "2001:db8::/32", "0.0.0.0/0"],
    "rel_dns_name": ["www", "a.b"],
    "test_constr": [0, 1.5, -3],
    "timezone": ["UTC", "Europe/Berlin", ""],
}
BAD: Mapping[str, Sequence[object]] = {
    "cron_expression": ["* * *", "61 * * * *", "daily"],
    "dns_domain": ["example.org", "-a.", "."],
    "dns_name": ["-a", "a-.b", "a..b", "a_b", "x" * 64, "a.123", "a." * 128 + "b"],
    "expiration": ["2001-01-01T00:00:00", "tomorrow"],
    "ip_addr": ["192.0.2.256", "192.0.2.0/24", "host", ""],
    "ip_or_cidr": ["192.0.2.0/33", "x"],
    "iso_8601": ["yesterday", "2026-13-01", ""],
    "json_string": ["{", "", None],
    "mac_addr": ["fa:16:3e:00:00", "fa:16:3e:00:00:zz", "fa:16-3e:00:00:01", ""],
    "net_cidr": ["192.0.2.1", "192.0.2.0/33", "/24", "x/8"],
    "rel_dns_name": ["www.", "a_b"],
    "test_constr": ["1", True, None],
    "timezone": ["Mars/Olympus", "../../etc/passwd", "/etc/localtime"],
}


def test_every_constraint_has_cases() -> None:
    assert sorted(GOOD) == sorted(BAD) == sorted(CLOUDLESS_CONSTRAINTS)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n in GOOD for v in GOOD[n]])
def test_valid_value_passes(name: str, value: object) -> None:
    assert CLOUDLESS_CONSTRAINTS[name](value) is None


@pytest.mark.parametrize(("name", "value"), [(n, v) for n in BAD for v in BAD[n]])
def test_invalid_value_is_refused(name: str, value: object) -> None:
    assert CLOUDLESS_CONSTRAINTS[name](value)
