"""A snapshot that a user took of a stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that a user took: the goal to go back to, and what there was.

    ``version`` is that of the SNAPSHOT traversal which ends it; ``action`` CREATE, or
    DELETE while what its resources saved is being deleted: at ``delete_at``, after
    ``tries`` in vain.  ``data`` is as an abandoned stack's.
    """

    id: str
    stack_id: str
    project_id: str
    name: str | None
    version: int
    action: Action
    status: Status
    status_reason: str
    goal_id: str
    created_at: datetime
    data: Mapping[str, Json] | None = None
    delete_at: datetime | None = None
    tries: int = 0
    sensitive: bool = False  # has secrets in its data: sealed at rest
