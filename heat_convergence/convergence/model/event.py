"""Events: the changes of state that the events API shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class Event:
    """One change of state, as the events API shows it.

    Attributes:
        version: the traversal; None for events of earlier releases.
        timeline: what has happened to the job that has ended, as marks.
    """

    id: str
    stack_id: str
    resource_name: str
    resource_type: str
    physical_id: str | None
    action: Action | str
    status: Status
    reason: str
    created_at: datetime
    properties: Mapping[str, Json] | None = None
    sensitive: bool = False
    version: int | None = None
    timeline: str | None = None
