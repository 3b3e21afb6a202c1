"""The storage of new root stacks, small ones of several requests in one transaction.

Called by the controllers that create stacks.  Decides which requests share a transaction: those of
one project, so that no project waits for the locks of another.  The first of these requests sends
the messages of all, as one message about several stacks costs much the same as one about one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from heat_convergence.api.controllers.base import new_traversal_context, run_in_transaction
from heat_convergence.api.controllers.joined_calls import JoinedCalls
from heat_convergence.api.services import ApiServices
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.stacks import quotas
from heat_convergence.stacks.adoption import adopted_resources
from heat_convergence.stacks.goal.stack_builder import StorableGoal

SMALL = 20  # resources; a larger stack has a transaction of its own, for which no other waits


@dataclass(frozen=True, slots=True)
class NewStack:
    """A new root stack.

    Attributes:
        storable: its goal.
        unlimited: whether the project's quotas are waived, as for a cloud administrator.
        entries: the resources of an abandoned stack to adopt, by name; None for a stack that
            adopts nothing.
    """

    stack: Stack
    storable: StorableGoal
    unlimited: bool
    entries: Mapping[str, Json] | None = None

    @property
    def goal(self) -> traversal.NewGoal:
        """The goal with the resources and the contents that are stored with it."""
        storable = self.storable
        return traversal.NewGoal(storable.goal, storable.desired_resources, storable.contents)

    @property
    def is_small(self) -> bool:
        """True if others may wait until it is stored."""
        return self.entries is None and len(self.storable.desired_resources) <= SMALL


class NewStackStorage:
    """The storage of new stacks by one application."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services
        self._small: JoinedCalls[NewStack, StartedTraversal] = JoinedCalls(self._store_small)

    def store(self, new: NewStack) -> StartedTraversal:
        """Store a new stack and start its first traversal."""
        if new.is_small:
            return self._small.call(new.stack.project_id, new)
        return run_in_transaction(
            self._services, lambda tx: store_new_stack(tx, self._services, new)
        )

    def _store_small(self, new_stacks: Sequence[NewStack]) -> Sequence[StartedTraversal]:
        return run_in_transaction(
            self._services, lambda tx: _store_together(tx, self._services, new_stacks)
        )


def store_new_stack(tx: Transaction, services: ApiServices, new: NewStack) -> StartedTraversal:
    """Store a new stack and start its first traversal in a transaction."""
    started = traversal.create_stack(
        tx,
        new.stack,
        new.goal,
        new_traversal_context(services),
        adopted_resources=adopted_resources(
            new.entries, new.storable.desired_resources, services.registry
        ),
    )
    _check_stack_count(tx, services, [new])
    return started


def _store_together(
    tx: Transaction, services: ApiServices, new_stacks: Sequence[NewStack]
) -> Sequence[StartedTraversal]:
    """Store new stacks of one project that adopt nothing, and start their first traversals."""
    started = traversal.create_stacks(
        tx, [(new.stack, new.goal) for new in new_stacks], new_traversal_context(services)
    )
    _check_stack_count(tx, services, new_stacks)
    return _with_all_messages_first(started)


def _with_all_messages_first(started: Sequence[StartedTraversal]) -> Sequence[StartedTraversal]:
    """Return the traversals with the messages of all in the first, whose request sends them."""
    first, *others = started
    messages = tuple(message for each in started for message in each.outgoing_messages)
    waits_for_bus = any(each.waits_for_bus for each in started)
    return [
        replace(first, outgoing_messages=messages, waits_for_bus=waits_for_bus),
        *(replace(each, outgoing_messages=(), waits_for_bus=False) for each in others),
    ]


def _check_stack_count(
    tx: Transaction, services: ApiServices, new_stacks: Sequence[NewStack]
) -> None:
    unlimited = all(new.unlimited for new in new_stacks)
    project_id = new_stacks[0].stack.project_id
    quotas.check_stack_count(tx, project_id, services.options, unlimited=unlimited)
