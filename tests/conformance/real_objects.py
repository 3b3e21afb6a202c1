"""Objects of a real cloud that cases name and that no type of theirs creates.

Each is made when the first case names it, so that a service that no case needs is not asked, and
is deleted with the session.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from urllib.parse import urlsplit

from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from openstack.connection import Connection

from tests.conformance.emulated_objects import ObjectFactory

BAREMETAL_DRIVER = "fake-hardware"


def object_factories(
    connections: Mapping[str, Connection], system: Connection, cleanup: ExitStack
) -> dict[str, ObjectFactory]:
    """Return the functions that make objects, by their placeholders.

    Args:
        connections: Connections by the names of their users.
        system: A connection of the administrator to the system.
        cleanup: Deletes the objects.
    """
    demo, admin = connections["demo"], connections["admin"]
    factories: dict[str, ObjectFactory] = {
        "second_image": lambda: _image(demo, cleanup),
        "cluster_image": lambda: _cluster_image(demo, cleanup),
        "object_store_host": lambda: str(urlsplit(demo.object_store.get_endpoint()).hostname),
        "queues_url": lambda: f"{demo.message.get_endpoint().rstrip('/')}/queues",
        "node": lambda: _node(system, admin.current_project_id, cleanup),
        "second_node": lambda: _node(system, admin.current_project_id, cleanup),
    }
    factories = {name: cache(factory) for name, factory in factories.items()}
    factories["portgroup"] = cache(lambda: _port_group(system, factories["node"](), cleanup))
    return factories


def system_connection(auth_url: str, region: str, password: str) -> Connection:
    """Return a connection whose token is scoped to the system, as Ironic's nodes need it."""
    auth = Password(
        auth_url, username="admin", password=password, user_domain_id="default", system_scope="all"
    )
    return Connection(session=Session(auth), region_name=region)


def _image(cloud: Connection, cleanup: ExitStack, **properties: str) -> str:
    image = cloud.image.create_image(
        name=f"hc-image-{uuid.uuid4().hex[:8]}",
        disk_format="raw",
        container_format="bare",
        data=bytes(1024),
        **properties,
    )
    cleanup.callback(cloud.image.delete_image, image.id)
    return str(image.id)


def _cluster_image(cloud: Connection, cleanup: ExitStack) -> str:
    """Create an image with the distribution that Magnum asks for."""
    return _image(cloud, cleanup, os_distro="fedora-coreos")


def _node(system: Connection, project_id: str, cleanup: ExitStack) -> str:
    """Create a node of a project, whose administrators may change its ports."""
    node = system.baremetal.create_node(
        name=f"hc-node-{uuid.uuid4().hex[:8]}", driver=BAREMETAL_DRIVER, owner=project_id
    )
    cleanup.callback(system.baremetal.delete_node, node.id)
    return str(node.id)


def _port_group(system: Connection, node_id: str, cleanup: ExitStack) -> str:
    group = system.baremetal.create_port_group(node_id=node_id)
    cleanup.callback(system.baremetal.delete_port_group, group.id)
    return str(group.id)
