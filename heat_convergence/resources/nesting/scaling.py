"""Scaling a group when a signal asks for it: an update of the stack behind it.

Called for signals to scaling policies, in the signal's transaction: the scaling begins
in it or not at all, so that a crash loses neither half (RULE 4).  Decides when a signal
is passed over: while the group is at work, still scaling or cooling down, and when
nothing would change.  Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import EntityNotFound, RequestLimitExceeded
from heat_convergence.convergence import traversal
from heat_convergence.convergence.dispatch import Posting
from heat_convergence.convergence.model import Action, Desired, Resource, Stack, Status
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.saving import savers
from heat_convergence.convergence.traversal import Asker, Means
from heat_convergence.resources.adjustment import Adjustment, Bounds
from heat_convergence.resources.nesting.child import Children, Draft
from heat_convergence.resources.nesting.kinds import NestedType

Json = Any
COOLDOWN_END, SCALING = "cooldown_end", "scaling"  # names in a group's data


class Scalable(NestedType):
    """A group whose size policies may change."""

    @abstractmethod
    def bounds(self, properties: Mapping[str, Json]) -> Bounds:
        """Of the group with these properties."""


@dataclass(slots=True)
class Scaler:
    """Of the group behind which is the stack ``group_id``, for one transaction.

    ``hold`` comes before any other lock: first a stack, then the row in its parent.
    """

    group_id: str
    children: Children
    most_resources: int = -1  # of a tree; negative: any number
    _child: Stack | None = field(default=None, init=False)

    def hold(self, tx: Transaction, stack: Stack) -> str | None:
        """Locks the group's stack; id of the row to lock next."""
        found = tx.lock_stack(self.group_id)
        if found is None or found.deleted_at is not None or found.owner_id != stack.id:
            return None
        self._child = found
        return found.owner_resource_id

    def adjust(
        self, tx: Transaction, stack: Stack, asked: Adjustment, means: Means
    ) -> tuple[Posting, ...] | None:
        """Begins the scaling; None when the signal is passed over.

        Raises ``EntityNotFound`` where the stack has no such group, and what is wrong
        with members that would be made.
        """
        child, row = self._child, self._row(tx)
        kind = None if row is None else self.children.registry.find(row.implementation)
        if child is None or row is None or not isinstance(kind, Scalable):
            raise EntityNotFound("Alarm target group", self.group_id)
        if not _at_rest(row, child, means.now) or savers(tx, child):
            return None
        members = [
            each for each in tx.stack_resources(child.id) if each.desired is Desired.PRESENT
        ]
        current = sum(each.status is not Status.FAILED for each in members)
        bounds = kind.bounds(row.properties or {})
        size = asked.size(current, bounds)
        if size == current:
            return None
        self._check_limit(tx, row, size - current)
        draft = self._draft(tx, stack, row, members, child, size, means)
        cooldown_s = bounds.cooldown_s if asked.cooldown_s is None else asked.cooldown_s
        scaling = {
            "cooldown_s": cooldown_s,
            "why": f"{asked.kind} : {asked.amount:g}",
            "adjustment_type": str(asked.kind),
            "adjustment": asked.amount,
            "from": current,
            "to": size,
        }
        data = {**draft.data, SCALING: scaling}
        tx.save_resources({row.id: {"data": data, "sensitive": row.sensitive}})
        tx.put_contents(draft.contents)
        begun = traversal.start(
            tx,
            stack_id=child.id,
            action=Action.UPDATE,
            asker=Asker.SERVICE,
            goal=draft.goal,
            wanted=draft.wanted,
            means=means,
        )
        return begun.postings

    def _row(self, tx: Transaction) -> Resource | None:
        """The group's, if it is wanted and its stack is behind it."""
        owner_id = None if self._child is None else self._child.owner_resource_id
        if owner_id is None:
            return None
        for row in tx.get_resources([owner_id]):
            if row.physical_id == self.group_id and row.desired is Desired.PRESENT:
                return row
        return None

    def _draft(
        self,
        tx: Transaction,
        stack: Stack,
        row: Resource,
        members: list[Resource],
        child: Stack,
        size: int,
        means: Means,
    ) -> Draft:
        return self.children.draft(
            self.children.parent(stack, tx.lean_goal, tx.get_contents),
            row,
            row.properties or {},
            means.ids,
            facade={},
            members=lambda: members,
            goal=lambda: tx.lean_goal(child.goal_id),
            size=size,
        )

    def _check_limit(self, tx: Transaction, row: Resource, more: int) -> None:
        number = tx.count_tree(row.root_id) + more
        if 0 <= self.most_resources < number and more > 0:
            raise RequestLimitExceeded(
                f"Maximum resources per stack exceeded: {number},"
                f" {self.most_resources} are allowed",
                path=f"resources.{row.name}",
            )


def _at_rest(row: Resource, child: Stack, now: datetime) -> bool:
    """Whether the group may scale now."""
    if row.job is not None or row.status is not Status.COMPLETE:
        return False
    if child.in_progress or SCALING in row.data:
        return False
    ends = row.data.get(COOLDOWN_END) or {}
    return all(datetime.fromisoformat(until) <= now for until in ends)
