"""A row of the resource graph."""

from __future__ import annotations

from dataclasses import dataclass

from heat_convergence.template.environment.readiness import ReadinessLevel


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of ``resource_graph``: one resource that another waits for.

    Attributes:
        resource_id: the resource that must be ready first.
        needed_by: the resource that starts then; None if nothing needs the first.
        observed_ready: the first is ready, or has reached the level.
        retry_count: failed tries of the first; set when the row is written.
        level: the level that the second waits for; None until the first is done.
    """

    resource_id: str
    needed_by: str | None
    observed_ready: bool = False
    retry_count: int = 0
    level: ReadinessLevel | None = None
