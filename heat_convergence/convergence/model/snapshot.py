"""Snapshots that users take of stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: the goal that a restore returns to, and the state of the resources.

    Attributes:
        version: the version of the SNAPSHOT traversal that completes it.
        action: CREATE, or DELETE while the data of its resources are being deleted.
        data: a document as of an abandoned stack.
        delete_at: when the deletion is tried next.
        tries: failed tries of the deletion.
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
    sensitive: bool = False  # has secrets in its data: encrypted at rest
