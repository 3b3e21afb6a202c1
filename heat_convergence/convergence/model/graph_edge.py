"""A row of the resource graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of ``resource_graph``: ``resource_id`` must be ready before
    ``needed_by`` starts; ``needed_by`` None for what nothing needs."""

    resource_id: str
    needed_by: str | None
    observed_ready: bool = False
    retry_count: int = 0  # only when it is written
