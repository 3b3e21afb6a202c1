"""Keystone's resource types, as data."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.row import Arg, Row
from heat_convergence.resources.openstack.identity_parts import (
    DISABLED_FIRST,
    GROUP_ROLES,
    GROUPS,
    USER_ROLES,
)

REAL = "Keystone 30"
_DOMAIN = {"domain": Arg("domain_id", "keystone.domain")}


def _row(name: str, noun: str, **given: Any) -> Row:
    return Row(
        name=f"OS::Keystone::{name}",
        schema="keystone",
        service="keystone",
        thing=THINGS[f"keystone.{noun}"],
        tested_on=REAL,
        **given,
    )


ROWS = (
    _row(
        "Project", "project",
        arguments={**_DOMAIN, "parent": Arg("parent_id", "keystone.project")},
    ),
    _row(
        "User", "user",
        arguments={
            **_DOMAIN,
            "default_project": Arg("default_project_id", "keystone.project"),
        },
        parts=(GROUPS, USER_ROLES),
        kept_when_unset=frozenset({"password"}),
    ),
    _row("Group", "group", arguments={**_DOMAIN}, parts=(GROUP_ROLES,)),
    _row("Role", "role", arguments={**_DOMAIN}),
    _row("Domain", "domain", parts=(DISABLED_FIRST,)),
    _row(
        "Region", "region",
        arguments={"parent_region": Arg("parent_region_id", "keystone.region")},
    ),
    _row("Service", "service"),
    _row(
        "Endpoint", "endpoint",
        arguments={
            "service": Arg("service_id", "keystone.service"),
            "region": Arg("region_id", "keystone.region"),
        },
    ),
    _row("UserRoleAssignment", "user", named=False),
    _row("GroupRoleAssignment", "group", named=False),
)
