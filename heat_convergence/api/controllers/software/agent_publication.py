"""Publication of a server's metadata after a request has changed its deployments.

Called by the controller of deployments after its transaction. A failure is logged alone: the
request has taken effect, and the next change of a deployment publishes all of them.
"""

from __future__ import annotations

import logging

from heat_convergence.api.services import ApiServices
from heat_convergence.common.errors import Error
from heat_convergence.common.time_limit import time_limit
from heat_convergence.db.reads import resources, stacks
from heat_convergence.resources.builtin.software import agent_channels

LOG = logging.getLogger(__name__)
_TIME_LIMIT_S = 10.0  # of the requests to the object storage or the queue


def publish_changed_deployments(services: ApiServices, project_id: str, server_id: str) -> None:
    """Publish the metadata of a server whose agent reads them from another service."""
    try:
        with services.database.read() as conn:
            rows = resources.list_by_physical_id(conn, project_id, server_id)
            found = [row for row in rows if agent_channels.PUBLISHED_METADATA in row.data]
            stack = stacks.get(conn, found[0].stack_id) if found else None
        if stack is not None:
            with time_limit(_TIME_LIMIT_S):
                cloud = services.cloud_of(stack.tree_id)
                agent_channels.publish_to_agents(cloud, project_id, server_id)
    except Error as error:
        LOG.warning(
            "deployments of server not published: project=%(project)s error=%(error)s",
            {"project": project_id, "error": error},
        )
