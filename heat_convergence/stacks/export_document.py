"""The document of a stack for an adoption by another service, with its metadata evaluated.

Called by the API and by ``heat-convergence-manage export-heat-documents``. What the rows say is
read by ``convergence``; expressions in metadata are evaluated here, without any lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    SecretVisibility,
    StackExportReader,
    export_stack,
    keep_expressions,
)
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.evaluation.evaluation import resolve_value
from heat_convergence.template.evaluation.references import referenced_resources
from heat_convergence.template.expression import is_known

Json = Any


@dataclass(frozen=True, slots=True)
class _UnresolvedMetadata:
    """The metadata of a resource that is evaluated after the transaction.

    Attributes:
        named: rows of the stack's resources by name.
    """

    stack: Stack
    value: Json
    named: Mapping[str, Resource]


def defer_metadata(stack: Stack, value: Json, named: Mapping[str, Resource]) -> Json:
    """Leave metadata with expressions for later: ``stack_export.MetadataResolver``."""
    return value if is_known(value) else _UnresolvedMetadata(stack, value, named)


def read_document(reader: StackExportReader, stack: Stack, nested_stacks: Sequence[Stack]) -> Json:
    """Return the document of a stack and its nested stacks, its metadata not evaluated yet."""
    shown, _sensitive = export_stack(
        reader, stack, SecretVisibility.SHOWN, nested_stacks, resolve_metadata=defer_metadata
    )
    return shown


def evaluate_metadata(services: StackServices, shown: Json) -> Json:
    """Return the document with its metadata evaluated, now that no lock is held."""
    if isinstance(shown, _UnresolvedMetadata):
        return _resolve(services, shown)
    if isinstance(shown, Mapping):
        return {name: evaluate_metadata(services, item) for name, item in shown.items()}
    if isinstance(shown, list):
        return [evaluate_metadata(services, item) for item in shown]
    return shown


def _resolve(services: StackServices, metadata: _UnresolvedMetadata) -> Json:
    stack, value, named = metadata.stack, metadata.value, metadata.named
    names = referenced_resources(value, services.functions) & named.keys()
    rows = {name: InputResource.from_resource(named[name]) for name in names}
    inputs = RowInputs(rows, stack, services.registry, services.clock())
    try:
        found = resolve_value(value, inputs, limits=services.limits, functions=services.functions)
    except errors.Error:  # reported with the resource when it was created
        return keep_expressions(stack, value, named)
    return found or {}
