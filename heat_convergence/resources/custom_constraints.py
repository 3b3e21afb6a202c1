"""Custom constraints that need no cloud, and the loading of all custom constraints.

Decides whether a value is an address, a name, a date and so on. ``load_constraints`` is called
once by ``cli``; the constraints by templates and schemas. A constraint takes one plain value,
returns the violation as text or None, and does no I/O.

Source: https://docs.openstack.org/heat/latest/template_guide/hot_spec.html, ``custom_constraint``.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
import zoneinfo
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from typing import Any

from croniter import croniter
from stevedore import ExtensionManager

from heat_convergence.common.clock import utc_now
from heat_convergence.template.parameters.constraints import CustomConstraintFunction

Json = Any
ENTRY_POINT_GROUP = "heat_convergence.constraints"
DNS_NAME_LIMIT = 255

_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_MAC = re.compile(
    r"[0-9a-f]{1,2}([:-])[0-9a-f]{1,2}(\1[0-9a-f]{1,2}){4}"
    r"|([0-9a-f]{4}\.){2}[0-9a-f]{4}|[0-9a-f]{12}",
    re.IGNORECASE,
)

_log = logging.getLogger(__name__)


def load_constraints() -> dict[str, CustomConstraintFunction]:
    """Return constraint name → function, of all installed packages.

    A constraint that cannot be imported is logged and left out; templates that use it are
    refused.
    """
    manager: ExtensionManager[Any] = ExtensionManager(
        ENTRY_POINT_GROUP, on_load_failure_callback=_log_failure
    )
    return {extension.name: extension.plugin for extension in manager}


def ip_addr(value: Json) -> str | None:
    """Check for an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(str(value))
    except ValueError:
        return f"{value!r} is not an IP address"
    return None


def net_cidr(value: Json) -> str | None:
    """Check for an address with a prefix length; bits of the host part may be set."""
    text = str(value)
    try:
        if "/" not in text:
            raise ValueError
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return f"Invalid net cidr invalid IPNetwork {value} (one is 192.0.2.0/24, for example)"
    return None


def ip_or_cidr(value: Json) -> str | None:
    """Check for an address with or without a prefix length."""
    if ip_addr(value) is None or net_cidr(value) is None:
        return None
    return f"{value!r} is neither an IP address nor a CIDR"


def mac_addr(value: Json) -> str | None:
    """Check for a MAC address in one of the usual forms."""
    return None if _MAC.fullmatch(str(value)) else f"{value!r} is not a MAC address"


def dns_name(value: Json) -> str | None:
    """Check for a host name, relative or fully qualified; an empty text passes."""
    text = str(value)
    if len(text) > DNS_NAME_LIMIT:
        return f"{text[:20]!r}... is longer than {DNS_NAME_LIMIT} characters"
    labels = text.removesuffix(".").split(".")
    for label in labels if text else ():
        if not _LABEL.fullmatch(label):
            return f"{value!r} is not a DNS name: {label!r} is not a label"
    if len(labels) > 1 and labels[-1].isdigit():
        return f"{value!r} is not a DNS name: the last label is a number"
    return None


def rel_dns_name(value: Json) -> str | None:
    """Check for a relative host name, which a domain is still to be appended to."""
    if str(value).endswith("."):
        return f"{value!r} ends with a dot: it is absolute, not relative"
    return dns_name(value)


def dns_domain(value: Json) -> str | None:
    """Check for an absolute domain, ending in a dot; an empty text passes."""
    if value != "" and not str(value).endswith("."):
        return f"{value!r} does not end with a dot"
    return dns_name(value)


def iso_8601(value: Json) -> str | None:
    """Check for a time in ISO 8601 form."""
    return None if _time_in(value) else f"{value!r} is not a time in ISO 8601 form"


def expiration(value: Json) -> str | None:
    """Check for a time in the future, in UTC if it has no zone; an empty text passes."""
    if value == "":
        return None
    moment = _time_in(value)
    if moment is None:
        return f"{value!r} is not a time in ISO 8601 form"
    return None if moment > utc_now() else f"{value!r} is in the past"


def json_string(value: Json) -> str | None:
    """Check for a text that is JSON."""
    try:
        json.loads(value)
    except (TypeError, ValueError) as error:
        return f"{value!r} is not JSON: {error}"
    return None


def cron_expression(value: Json) -> str | None:
    """Check for a cron expression; an empty text passes."""
    if value == "" or croniter.is_valid(str(value)):
        return None
    return f"{value!r} is not a cron expression"


def timezone(value: Json) -> str | None:
    """Check for the name of a time zone; an empty text passes."""
    try:
        if value != "":
            zoneinfo.ZoneInfo(str(value))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"Invalid timezone: 'No time zone found with key {value}'"
    return None


def test_constr(value: Json) -> str | None:
    """Check for a number; in Heat it once was the duration of the check."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return None
    return f"{value!r} is not a number"


test_constr.__test__ = False  # type: ignore[attr-defined]  # a constraint, not a test

CLOUDLESS_CONSTRAINTS: Mapping[str, CustomConstraintFunction] = {
    check.__name__: check
    for check in (
        cron_expression,
        dns_domain,
        dns_name,
        expiration,
        ip_addr,
        ip_or_cidr,
        iso_8601,
        json_string,
        mac_addr,
        net_cidr,
        rel_dns_name,
        test_constr,
        timezone,
    )
}


def _time_in(value: Json) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _log_failure(
    manager: ExtensionManager[Any], entry_point: EntryPoint, error: BaseException
) -> None:
    _log.error(
        "Constraint plug-in cannot be loaded: %(plugin)s: %(error)s",
        {"plugin": entry_point.value, "error": error},
    )
