"""A project for each service and each story that runs at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from keystoneauth1 import exceptions

from tests.cloud.differential.service_side import ServiceSide
from tests.cloud.testbed import CloudTestbed, UserIdentityClient

USER = "demo"
_ROLES = ("member", "heat_stack_owner")
SidePair = tuple[ServiceSide, ServiceSide]


@contextmanager
def side_pairs(
    cloud_testbed: CloudTestbed, heat_url: str, ours_url: str, region: str, count: int = 3
) -> Iterator[list[SidePair]]:
    """Yield pairs of sides, each side in a project of its own.

    Args:
        heat_url, ours_url: the endpoints up to ``/v1``.
        region: the region in which this service is registered.
    """
    admin = cloud_testbed.identity_client()
    with_projects = []
    for number in range(count):
        names = [f"differential-{side}-{number}" for side in ("heat", "ours")]
        for name in names:
            _make_project(admin, cloud_testbed, name)
        heat, ours = (cloud_testbed.session(USER, name) for name in names)
        own_region = str(cloud_testbed.facts["region"])
        with_projects.append((ServiceSide("heat", heat_url, heat, own_region),
                              ServiceSide("ours", ours_url, ours, region)))  # fmt: skip
    yield with_projects


def _make_project(admin: UserIdentityClient, cloud_testbed: CloudTestbed, name: str) -> None:
    """Make a project with the user's roles, if it is not there."""
    query = f"/projects?name={name}&domain_id=default"
    found = admin.get(query)["projects"]
    if not found:
        body = {"project": {"name": name, "domain_id": "default"}}
        with suppress(exceptions.Conflict):  # a loaded Keystone had not listed it
            admin.post("/projects", body)
        found = admin.get(query)["projects"]
    user_id = cloud_testbed.identity_client(USER).user_id
    for role in admin.get("/roles")["roles"]:
        if role["name"] in _ROLES:
            admin.put(f"/projects/{found[0]['id']}/users/{user_id}/roles/{role['id']}")
