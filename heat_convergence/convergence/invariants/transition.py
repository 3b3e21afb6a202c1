"""States and steps as the rules see them: rows, physical resources and one change.

Made by the simulator after every step and by the consistency check of a deployment.
Must not say how a state came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.readiness import ReadinessLevel


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule, by the rule's number, with a description."""

    rule: int
    message: str

    def __str__(self) -> str:
        """Return the number and the description."""
        return f"rule {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class ActualResource:
    """A physical resource, from the cloud's own account.

    Attributes:
        used_ids: ids of physical resources that its properties name.
        exists: false for one that was deleted; it stays in the account.
        changed_externally: changed or deleted by others than the service.
        level: the highest readiness level that it has reached; None where levels do not matter.
    """

    id: str
    name: str
    type: str
    stack_id: str
    resource_id: str
    properties: Mapping[str, Json]
    used_ids: frozenset[str] = frozenset()
    exists: bool = True
    ready: bool = True
    suspended: bool = False
    changed_externally: bool = False
    level: ReadinessLevel | None = None


@dataclass(frozen=True)
class StackState:
    """The stored rows of one stack; ``edges`` are those of its version.

    Attributes:
        quarantined: ids of the resources that are in quarantine.
    """

    stack: Stack
    resources: tuple[Resource, ...]
    edges: tuple[Edge, ...]
    quarantined: frozenset[str] = frozenset()

    @cached_property
    def by_id(self) -> dict[str, Resource]:
        """The resources by id."""
        return {row.id: row for row in self.resources}

    @cached_property
    def unready_requirements(self) -> set[str]:
        """Ids of resources that need another one that is not ready."""
        return {
            edge.needed_by
            for edge in self.edges
            if edge.needed_by is not None and not edge.observed_ready
        }


@dataclass(frozen=True, slots=True)
class CloudCall:
    """A call to the cloud that is about to happen, by a job of ``version``."""

    action: Action
    resource_id: str
    version: int
    lease_token: str
    physical_id: str | None


@dataclass(frozen=True)
class Transition:
    """One step of one actor: a committed transaction, a call or a refused request.

    Attributes:
        engine_id: the identity of the actor, if it is an engine.
        lease_tokens: the leases of the actor's current piece of work.
        expected_properties: for a stack at its goal, resource name → the properties
            that the goal has for it, None for a nested stack.
    """

    now: datetime
    after: StackState
    before: StackState | None = None
    engine_id: str | None = None
    lease_tokens: frozenset[str] = frozenset()
    call: CloudCall | None = None
    rejection: str | None = None
    actual_resources: Mapping[str, ActualResource] = field(default_factory=dict)
    expected_properties: Mapping[str, Mapping[str, Json] | None] | None = None

    @cached_property
    def existing_resources(self) -> list[ActualResource]:
        """The stack's physical resources that exist, by id."""
        stack_id = self.after.stack.id
        found = (each for each in self.actual_resources.values() if each.stack_id == stack_id)
        return sorted((each for each in found if each.exists), key=lambda each: each.id)


ViolationMessages = Iterable[str]


def describe(row: Resource) -> str:
    """Return the name and the id of a resource, for a message."""
    return f"{row.name} ({row.id})"


def newly_claimed(step: Transition) -> list[Resource]:
    """Return the resources that an engine has claimed in the step."""
    if step.before is None or step.engine_id is None:
        return []
    before = step.before.by_id
    return [
        row
        for row in step.after.resources
        if row.lease.token is not None
        and (row.id not in before or before[row.id].lease.token != row.lease.token)
    ]
