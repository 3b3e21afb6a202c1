"""Keystone's resource types, as data."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.type_spec import ArgumentMapping, TypeSpec
from heat_convergence.resources.openstack.keystone.subresources import (
    DISABLE_BEFORE_DELETE,
    GROUP_MEMBERSHIPS,
    GROUP_ROLE_GRANTS,
    USER_ROLE_GRANTS,
)

TESTED_RELEASE = "Keystone 30"
_DOMAIN = {"domain": ArgumentMapping("domain_id", "keystone.domain")}


def _row(name: str, noun: str, **given: Any) -> TypeSpec:
    return TypeSpec(
        name=f"OS::Keystone::{name}",
        schema_file="keystone",
        service="keystone",
        rest_resource=REST_RESOURCES[f"keystone.{noun}"],
        test_environment=TESTED_RELEASE,
        **given,
    )


TYPE_SPECS = (
    _row(
        "Project",
        "project",
        arguments={**_DOMAIN, "parent": ArgumentMapping("parent_id", "keystone.project")},
    ),
    _row(
        "User",
        "user",
        arguments={
            **_DOMAIN,
            "default_project": ArgumentMapping("default_project_id", "keystone.project"),
        },
        subresources=(GROUP_MEMBERSHIPS, USER_ROLE_GRANTS),
        kept_when_unset=frozenset({"password"}),
    ),
    _row("Group", "group", arguments={**_DOMAIN}, subresources=(GROUP_ROLE_GRANTS,)),
    _row("Role", "role", arguments={**_DOMAIN}),
    _row("Domain", "domain", subresources=(DISABLE_BEFORE_DELETE,)),
    _row(
        "Region",
        "region",
        arguments={"parent_region": ArgumentMapping("parent_region_id", "keystone.region")},
    ),
    _row("Service", "service"),
    _row(
        "Endpoint",
        "endpoint",
        arguments={
            "service": ArgumentMapping("service_id", "keystone.service"),
            "region": ArgumentMapping("region_id", "keystone.region"),
        },
    ),
    _row("UserRoleAssignment", "user", has_name=False),
    _row("GroupRoleAssignment", "group", has_name=False),
)
