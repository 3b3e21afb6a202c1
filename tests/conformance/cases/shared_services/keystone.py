"""Conformance cases of Keystone's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase

PROJECT: tuple[str, str, dict[str, Any]] = ("project", "OS::Keystone::Project", {})
USER: tuple[str, str, dict[str, Any]] = ("user", "OS::Keystone::User", {})
SECOND_USER = ("second", USER[1], USER[2])
GROUP: tuple[str, str, dict[str, Any]] = ("group", "OS::Keystone::Group", {})
SECOND_GROUP = ("second", GROUP[1], GROUP[2])
SERVICE = ("service", "OS::Keystone::Service", {"type": "hc"})
SECOND_SERVICE = ("second", "OS::Keystone::Service", {"type": "hc2"})
REGION: tuple[str, str, dict[str, Any]] = ("region", "OS::Keystone::Region", {"id": "hc-outer"})


def _roles(*names: str) -> list[dict[str, Any]]:
    return [{"role": name, "project": {"get": "project"}} for name in names]


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(f"OS::Keystone::{name}", prerequisites, needs_admin=True, **fields)


CASES = [
    _case(
        "Project",
        properties={"description": "d", "tags": ["a"]},
        changes=[
            {"name": "hc-project", "enabled": False, "tags": ["b"], "description": None},
            {"domain": "default"},
        ],
        attributes={"name": "hc-project", "enabled": False, "domain_id": "default"},
        replacement_properties={"name": "hc-project-2"},
    ),
    _case(
        "Group",
        PROJECT,
        properties={"roles": _roles("member")},
        changes=[
            {"name": "hc-g", "description": "d", "roles": _roles("reader")},
            {"domain": "default"},
            {"name": None, "description": None, "roles": None},
        ],
    ),
    _case(
        "User",
        PROJECT,
        GROUP,
        properties={
            "password": "hc-secret-1",
            "groups": [{"get": "group"}],
            "default_project": {"get": "project"},
            "roles": _roles("member"),
        },
        changes=[
            {
                "password": "hc-secret-2",
                "email": "a@example.org",
                "name": "hc-user",
                "roles": _roles("reader"),
                "groups": None,
                "default_project": None,
            },
            {"enabled": False, "description": "d", "domain": "default"},
        ],
        replacement_properties={"name": "hc-user-2"},
    ),
    _case("Role", changes=[{"name": "hc-role"}], replacement_properties={"name": "hc-role-2"}),
    _case(
        "Domain",
        properties={"description": "d"},
        changes=[{"name": "hc-domain", "enabled": True}, {"description": "e"}],
        replacement_properties={"name": "hc-domain-2"},
    ),
    _case(
        "Region",
        REGION,
        properties={"id": "hc-region"},
        changes=[{"description": "d"}, {"parent_region": {"get": "region"}}, {"enabled": False}],
        replacement_properties={"id": "hc-region-2"},
    ),
    _case(
        "Service",
        properties={"type": "hc"},
        changes=[{"type": "hc2", "name": "hc-service", "enabled": False}, {"description": "d"}],
        replacement_properties={"name": "hc-service-2"},
    ),
    _case(
        "Endpoint",
        SERVICE,
        SECOND_SERVICE,
        REGION,
        properties={
            "service": {"get": "service"},
            "interface": "public",
            "url": "http://127.0.0.1:1",
        },
        changes=[
            {"interface": "admin", "url": "http://127.0.0.1:2", "enabled": False},
            {"name": "hc-endpoint", "service": {"get": "second"}},
            {"region": {"get": "region"}},
        ],
        replacement_properties={"name": "hc-endpoint-2"},
    ),
    _case(
        "UserRoleAssignment",
        PROJECT,
        USER,
        SECOND_USER,
        properties={"user": {"get": "user"}, "roles": _roles("member")},
        changes=[{"roles": _roles("reader")}, {"user": {"get": "second"}}],
        replacement_properties={"user": {"get": "user"}},
    ),
    _case(
        "GroupRoleAssignment",
        PROJECT,
        GROUP,
        SECOND_GROUP,
        properties={"group": {"get": "group"}, "roles": _roles("member")},
        changes=[{"roles": _roles("reader")}, {"group": {"get": "second"}}],
        replacement_properties={"group": {"get": "group"}},
    ),
]
