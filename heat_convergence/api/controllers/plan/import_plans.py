"""Plans to import existing objects into a stack, and their execution.

Called by the controllers of plans.  The objects are read with the credentials of the user, when
the plan is made and again when it is executed; nothing is changed in the cloud.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.api.controllers.base import get_undeleted_stack
from heat_convergence.api.controllers.plan.drafts import DraftPlan
from heat_convergence.api.controllers.plan.execution_guard import (
    PreparedAction,
    guarded,
    require_same_definitions,
)
from heat_convergence.api.controllers.plan.handover_sides import HandoverPlans, HandoverSide
from heat_convergence.api.controllers.plan.tree_state import read_tree_state
from heat_convergence.api.http import ApiRequest
from heat_convergence.api.requests.plans import PlanBody
from heat_convergence.api.trust_delegation import renew_delegation
from heat_convergence.common import errors
from heat_convergence.convergence.drift.observation import DriftStatus, PropertyDrift
from heat_convergence.convergence.lifecycle.handover.resource_handover import Handover, hand_over
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.plans.difference import list_differences
from heat_convergence.convergence.plans.stored_plan import PlannedEffect, StoredPlan
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.reads import stacks
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.resources.driver.request_cloud import current_cloud
from heat_convergence.stacks import quotas
from heat_convergence.stacks.plans.handover_checks import require_unchanged
from heat_convergence.stacks.plans.object_ownership import (
    ImportedObject,
    find_owners,
    require_still_unowned,
)
from heat_convergence.stacks.plans.object_reader import ObjectReader, ReadObject
from heat_convergence.stacks.plans.planned_resource import PlannedResource

Json = Any
_OBJECTS, _PHYSICAL_IDS = "objects", "import"
_CHANGED = "the object is not as it was observed"


class ImportPlans(HandoverPlans):
    """The plans to import existing objects."""

    def draft(
        self, request: ApiRequest, stack_name: str, stack_id: str, body: PlanBody
    ) -> DraftPlan:
        """Return the plan of a request.

        Raises:
            HandoverConflict: a resource owns one of the objects.
        """
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
        side = self.read_side(request, stack, body.fields, body.action, keeps_goal=body.keeps_goal)
        self._require_new_names(side, body.pairs)
        self._require_unowned(side, body.pairs)
        found = self._read(request, side, body.pairs)
        rows = [*side.tree.rows, *(each.row for each in found.values())]
        resources = self.preview(side, rows)
        require_unchanged(body.action, resources)
        self.require_settled(body.action, side, rows)
        stored = {
            **side.to_json(),
            _PHYSICAL_IDS: dict(body.pairs),
            _OBJECTS: {name: _observed(each) for name, each in found.items()},
        }
        state = {**side.tree.capture(), **side.capture_definitions()}
        shown = list(_with_imports(resources, found))
        return DraftPlan(body.action, stack, shown, side.history, stored, state)

    def prepare(self, request: ApiRequest, plan: StoredPlan) -> PreparedAction:
        """Return the execution of a plan that still holds.

        Raises:
            PlanOutdated: the stack or an object is not as it was.
        """
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, plan.stack_name, plan.stack_id)
            tree = read_tree_state(conn, stack, self.options.max_nested_stack_depth)
        differences = list_differences(plan.state, tree.capture())
        if differences:
            raise errors.PlanOutdated(differences)
        side = self.restore_side(request, tree, plan.request)
        require_same_definitions(plan, side.prepared)
        found = self._read_again(request, side, plan)
        renew_delegation(self.services, request, stack)
        return PreparedAction(guarded(plan, lambda tx: self._import(tx, side, found)))

    def _import(
        self, tx: Transaction, side: HandoverSide, found: Mapping[str, ReadObject]
    ) -> StartedTraversal:
        imports = {name: each.existing for name, each in found.items()}
        handover = Handover([side.start_request()], imports=imports)
        (started,) = hand_over(tx, handover, self.traversal_context())
        quotas.check_updated_tree(tx, started, self.options)
        physical_ids = {name: each.existing.physical_id for name, each in found.items()}
        objects = _objects(side, physical_ids)
        require_still_unowned(tx, side.stack, objects, self.services.registry)
        return started

    @staticmethod
    def _require_new_names(side: HandoverSide, names: Collection[str]) -> None:
        known = {row.name for row in side.tree.rows}
        for name in sorted(names):
            if name in known:
                raise errors.HandoverConflict(
                    f"Stack {side.stack.name} has a resource {name} already."
                )
            if name not in side.desired_resources:
                raise errors.HTTPBadRequest(f"The template has no resource {name} to import.")

    def _require_unowned(self, side: HandoverSide, physical_ids: Mapping[str, str]) -> None:
        """Require that no resource of the project owns the objects.

        RULE 12: resources of other projects are not looked at.
        """
        objects = _objects(side, physical_ids)
        project_id = side.stack.project_id
        with self.database.read() as conn:
            rows = SqlResourceRepository(conn).list_by_physical_ids(
                project_id, sorted(physical_ids.values())
            )
            for each, row in find_owners(rows, objects, self.services.registry):
                owner = stacks.get(conn, row.stack_id)
                raise errors.HandoverConflict(
                    f"The object {each.physical_id} ({each.implementation}) belongs to resource"
                    f" {row.name} of stack {owner.name if owner else row.stack_id} already."
                )

    def _read(
        self, request: ApiRequest, side: HandoverSide, physical_ids: Mapping[str, str]
    ) -> dict[str, ReadObject]:
        cloud, stack = current_cloud(), side.stack
        if cloud is None or request.project_id != stack.project_id:
            raise errors.HTTPBadRequest(
                "Objects are read with your credentials, and there are none for the project of"
                f" stack {stack.name}."
            )
        reader = ObjectReader(
            self.services,
            cloud,
            stack,
            side.prepared.evaluated,
            side.desired_resources,
            self.plan_context(stack),
        )
        return reader.read(physical_ids, side.tree.rows)

    def _read_again(
        self, request: ApiRequest, side: HandoverSide, plan: StoredPlan
    ) -> dict[str, ReadObject]:
        """Return the objects if they are as they were when the plan was made."""
        physical_ids, before = plan.request[_PHYSICAL_IDS], plan.request[_OBJECTS]
        try:
            found = self._read(request, side, physical_ids)
        except (errors.NotFound, errors.HTTPBadRequest) as error:
            raise errors.PlanOutdated([_difference(side, "", error.message)]) from error
        changed = [name for name, each in found.items() if _observed(each) != before[name]]
        if changed:
            raise errors.PlanOutdated([_difference(side, name, _CHANGED) for name in changed])
        return found


def _objects(side: HandoverSide, physical_ids: Mapping[str, str]) -> list[ImportedObject]:
    return [
        ImportedObject(name, side.desired_resources[name].implementation, physical_id)
        for name, physical_id in sorted(physical_ids.items())
    ]


def _observed(found: ReadObject) -> list[Json]:
    """Return what a plan remembers of an object, in the form that is stored."""
    return [[each.name, str(each.applied), str(each.observed)] for each in found.differences]


def _difference(side: HandoverSide, name: str, reason: str) -> dict[str, str]:
    return {"stack_name": side.stack.name, "resource_name": name, "reason": reason}


def _with_imports(
    resources: Iterable[PlannedResource], found: Mapping[str, ReadObject]
) -> Iterator[PlannedResource]:
    """Yield the resources, the imported ones with what differs from the template."""
    for each in resources:
        imported = found.get(each.name) if each.path == each.name else None
        yield each if imported is None else _imported(each, imported)


def _imported(planned: PlannedResource, found: ReadObject) -> PlannedResource:
    unread = ", ".join(found.unread)
    return replace(
        planned,
        effect=PlannedEffect.IMPORT,
        reason=f"cannot be compared: {unread}" if unread else "",
        properties=[_property(each) for each in found.differences],
        drift_status=DriftStatus.MODIFIED if found.differences else DriftStatus.IN_SYNC,
        sensitive=planned.sensitive or found.existing.sensitive,
    )


def _property(found: PropertyDrift) -> dict[str, Json]:
    return {
        "property": found.name,
        "desired": found.applied,
        "known": True,
        "applied": None,
        "observed": found.observed,
        "forces_replacement": False,
    }
