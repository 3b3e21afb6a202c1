"""The objects of the cloud that resources of a project own, as imports must know them.

Called by the API when it makes a plan of an import, and in the transaction that executes it.
Asks nothing of any service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heat_convergence.common import errors
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.step_selection import external_id
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.registry import ResourceTypeRegistry


@dataclass(frozen=True, slots=True)
class ImportedObject:
    """An object that is to be imported.

    Attributes:
        name: the name of the resource.
        implementation: the type that the environment maps the resource's type to.
    """

    name: str
    implementation: str
    physical_id: str


def find_owners(
    rows: Iterable[Resource], objects: Iterable[ImportedObject], registry: ResourceTypeRegistry
) -> list[tuple[ImportedObject, Resource]]:
    """Return the objects that resources own, with their owners.

    A resource with an ``external_id`` owns nothing. Objects of different services or kinds may
    have the same id, as a volume and its attachment do.

    Args:
        rows: rows of the project with the physical ids of the objects.
        objects: the objects.
        registry: the resource types.
    """
    by_id: dict[str, list[ImportedObject]] = {}
    for each in objects:
        by_id.setdefault(each.physical_id, []).append(each)
    return [
        (each, row)
        for row in rows
        if external_id(row) is None
        for each in by_id.get(row.physical.id or "", ())
        if _entity(row.desired.implementation, registry) == _entity(each.implementation, registry)
    ]


def require_still_unowned(
    tx: Transaction,
    stack: Stack,
    objects: Sequence[ImportedObject],
    registry: ResourceTypeRegistry,
) -> None:
    """Refuse objects that another resource has got since they were looked up.

    The lock of the project's quotas lets one import pass at a time; it comes last.

    Args:
        tx: the transaction of the import, in which the stack has its new resources already.
        stack: the stack that imports.
        objects: the imported objects.
        registry: the resource types.

    Raises:
        PlanOutdated: another resource owns one of the objects.
    """
    tx.stacks.lock_quotas(stack.project_id)
    names = {each.name for each in objects}
    physical_ids = sorted(each.physical_id for each in objects)
    rows = [
        row
        for row in tx.resources.list_by_physical_ids(stack.project_id, physical_ids)
        if row.stack_id != stack.id or row.name not in names
    ]
    owned = find_owners(rows, objects, registry)
    if owned:
        reason = "another resource has imported the object"
        raise errors.PlanOutdated(
            [
                {"stack_name": stack.name, "resource_name": each.name, "reason": reason}
                for each, _row in owned
            ]
        )


def _entity(implementation: str, registry: ResourceTypeRegistry) -> str:
    """Return the entity of a service that a type manages, else the type itself."""
    found = registry.find(implementation)
    declared = found.delegate if isinstance(found, TranslatedType) else found
    if isinstance(declared, DeclarativeType):
        return declared.spec.rest_resource.entity
    return implementation
