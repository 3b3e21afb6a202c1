"""REST resources and specs of Keystone's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import ArgumentMapping
from heat_convergence.resources.openstack.keystone.regions import KeystoneRegion
from heat_convergence.resources.openstack.keystone.role_assignments import (
    GroupRoleAssignment,
    UserRoleAssignment,
)
from heat_convergence.resources.openstack.keystone.subresources import (
    DISABLE_BEFORE_DELETE,
    GROUP_MEMBERSHIPS,
    GROUP_ROLE_GRANTS,
    USER_ROLE_GRANTS,
)

TESTED_RELEASE = "Keystone 30"
_DOMAIN = {"domain": ArgumentMapping("domain_id", "keystone.domain")}


_keystone = partial(make_rest_resource, "Keystone", "identity")

REST_RESOURCES = by_entity(
    _keystone(
        "project",
        "identity.v3.project.Project",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _keystone(
        "user", "identity.v3.user.User", ownership_mark_field=OwnershipMarkField.DESCRIPTION
    ),
    _keystone(
        "group", "identity.v3.group.Group", ownership_mark_field=OwnershipMarkField.DESCRIPTION
    ),
    _keystone("role", "identity.v3.role.Role", ownership_mark_field=OwnershipMarkField.NAME),
    _keystone(
        "domain", "identity.v3.domain.Domain", ownership_mark_field=OwnershipMarkField.DESCRIPTION
    ),
    _keystone(
        "region",
        "identity.v3.region.Region",
        name_key=None,
        ids_are_uuids=False,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _keystone(
        "service",
        "identity.v3.service.Service",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _keystone(
        "endpoint",
        "identity.v3.endpoint.Endpoint",
        name_query=None,
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
)


_spec = partial(make_spec, "Keystone", REST_RESOURCES, test_environment=TESTED_RELEASE)

TYPE_SPECS = (
    _spec(
        "Project",
        "project",
        arguments={**_DOMAIN, "parent": ArgumentMapping("parent_id", "keystone.project")},
    ),
    _spec(
        "User",
        "user",
        arguments={
            **_DOMAIN,
            "default_project": ArgumentMapping("default_project_id", "keystone.project"),
        },
        subresources=(GROUP_MEMBERSHIPS, USER_ROLE_GRANTS),
        kept_when_unset=frozenset({"password"}),
    ),
    _spec("Group", "group", arguments={**_DOMAIN}, subresources=(GROUP_ROLE_GRANTS,)),
    _spec("Role", "role", arguments={**_DOMAIN}),
    _spec("Domain", "domain", subresources=(DISABLE_BEFORE_DELETE,)),
    _spec(
        "Region",
        "region",
        arguments={"parent_region": ArgumentMapping("parent_region_id", "keystone.region")},
    ),
    _spec("Service", "service"),
    _spec(
        "Endpoint",
        "endpoint",
        arguments={
            "service": ArgumentMapping("service_id", "keystone.service"),
            "region": ArgumentMapping("region_id", "keystone.region"),
        },
    ),
    _spec("UserRoleAssignment", "user", has_name=False),
    _spec("GroupRoleAssignment", "group", has_name=False),
)

KEYSTONE = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Keystone::GroupRoleAssignment": GroupRoleAssignment,
        "OS::Keystone::Region": KeystoneRegion,
        "OS::Keystone::UserRoleAssignment": UserRoleAssignment,
    },
)
