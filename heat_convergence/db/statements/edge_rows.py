"""Edges of the resource graph as rows: conditions and updates by resource ids.

Called by the repositories of the graph and of readiness.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from heat_convergence.db.index_hints import force_index
from heat_convergence.db.statements.resource_rows import IDS
from heat_convergence.db.tables import resource_graph

# What runs for every job is built once: building it takes longer than running it.
VERSION = sa.bindparam("of_version", type_=sa.Integer)
OF_IDS = sa.and_(resource_graph.c.resource_id.in_(IDS), resource_graph.c.version == VERSION)
UPDATE = force_index(
    resource_graph.update().where(OF_IDS),
    resource_graph,
    "uq_resource_graph_resource_id_needed_by_version",
)


def edge_parameters(version: int, ids: Collection[str]) -> dict[str, Any]:
    """Return the parameters ``of_version`` and ``ids``, sorted as keys are locked."""
    return {"of_version": version, "ids": sorted(ids)}
