"""The context of a step: time, ids and settings, and the events made with them.

Made by api, engine and observer for each transaction; passed to every function of
``lifecycle``.  Must not hold anything that outlives the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle.observations import Observations
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction

STACK_TYPE = "OS::Heat::Stack"

NestedStatusReader = Callable[[Transaction, Sequence[Resource]], Observations]
"""Rows → observations of those that have nested stacks."""


@dataclass(frozen=True, slots=True)
class TraversalContext:
    """The time, the ids and the settings of one transaction.

    ``read_nested_status`` is the observer's; others have none.
    """

    now: datetime
    ids: IdFactory
    settings: ConvergenceSettings
    read_nested_status: NestedStatusReader | None = None

    def resource_event(
        self,
        row: Resource,
        action: Action | str,
        status: Status,
        reason: str,
        properties: Mapping[str, Json] | None = None,
    ) -> Event:
        """Return the event of a resource's new state.

        Args:
            row: the resource.
            action: the action that the event shows.
            status: the status that it shows.
            reason: the status reason.
            properties: set when the action starts; they hold for later events, too.
        """
        return Event(
            id=self.ids(),
            stack_id=row.stack_id,
            resource_name=row.name,
            resource_type=row.type,
            physical_id=row.physical_id,
            action=action,
            status=status,
            reason=reason,
            created_at=self.now,
            properties=properties,
            sensitive=row.sensitive,
        )

    def stack_event(self, stack: Stack, status: Status, reason: str) -> Event:
        """Return the event of a stack's new state, under the stack's own name."""
        return Event(
            id=self.ids(),
            stack_id=stack.id,
            resource_name=stack.name,
            resource_type=STACK_TYPE,
            physical_id=stack.id,
            action=stack.action,
            status=status,
            reason=reason,
            created_at=self.now,
        )
