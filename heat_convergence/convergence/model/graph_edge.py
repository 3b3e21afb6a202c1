"""A row of the resource graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of ``resource_graph``: one resource that another waits for.

    Attributes:
        resource_id: the resource that must be ready first.
        needed_by: the resource that starts then; None if nothing needs the first.
        observed_ready: the first is ready.
        retry_count: failed tries of the first; set when the row is written.
    """

    resource_id: str
    needed_by: str | None
    observed_ready: bool = False
    retry_count: int = 0
