"""A stored plan: what an action on a stack would do, and the state that this was found from.

Made and executed by the API. Decides until when a plan can be executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from heat_convergence.convergence.model.json_value import Json


class PlanAction(StrEnum):
    """The action that a plan is for."""

    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"  # an update that keeps what its body does not name
    DELETE = "delete"
    REPAIR = "repair"
    IMPORT = "import"
    MOVE = "move"
    RENAME = "rename"


class PlanStatus(StrEnum):
    """The state of a plan."""

    READY = "READY"
    EXECUTED = "EXECUTED"
    EXPIRED = "EXPIRED"


class PlannedEffect(StrEnum):
    """The effect of an action on one resource."""

    UNCHANGED = "unchanged"
    ADD = "add"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    IMPORT = "import"
    MOVE = "move"  # from another stack
    RENAME = "rename"


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan of one action on a stack; its maps are encrypted at rest.

    Attributes:
        stack_id: of a plan to create a stack, the id that the stack will have.
        stack_version: the version of the stack that the plan was made for.
        summary: counts and verdicts.
        document: the effect on each resource, and the quotas.
        request: what the execution needs of the request.
        state: the state of the stack that the plan was made from; see ``difference``.
    """

    id: str
    stack_id: str
    stack_name: str
    project_id: str
    action: PlanAction
    username: str | None
    created_at: datetime
    expires_at: datetime
    stack_version: int
    executed_at: datetime | None = None
    summary: Mapping[str, Json] = field(default_factory=dict)
    document: Mapping[str, Json] = field(default_factory=dict)
    request: Mapping[str, Json] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)

    def status(self, now: datetime) -> PlanStatus:
        """Return the state of the plan at a time."""
        if self.executed_at is not None:
            return PlanStatus.EXECUTED
        return PlanStatus.EXPIRED if self.expires_at <= now else PlanStatus.READY
