"""A stack as a document: exported, or abandoned with it, for another to adopt.

Called by the root controller.  The operator's options allow either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import stack_actions
from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    SecretVisibility,
    export_stack,
    keep_expressions,
)
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.store import SqlTransaction
from heat_convergence.resources.protocol.resource_context import RowInputs
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


def _defer(stack: Stack, value: Json, named: Mapping[str, Resource]) -> Json:
    """Leave metadata with expressions for later: ``stack_export.MetadataResolver``."""
    return value if is_known(value) else _UnresolvedMetadata(stack, value, named)


class ExportController(Controller):
    """The handlers of ``…/export`` and ``…/abandon``."""

    def export(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Return the document of a stack."""
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            reader = SqlTransaction(conn)
            descendants = reader.tree.list_descendants(stack.tree_id)
            shown, _sensitive = export_stack(
                reader, stack, SecretVisibility.SHOWN, descendants, resolve_metadata=_defer
            )
        return json_response(self._with_metadata(shown))

    def abandon(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Return the document of a stack and forget the stack, not its resources."""
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
        context = self.traversal_context()
        shown = run_in_transaction(
            self.services,
            lambda tx: stack_actions.abandon_stack(tx, stack.id, context, resolve_metadata=_defer),
        )
        return json_response(self._with_metadata(shown))

    def _with_metadata(self, shown: Json) -> Json:
        """Return the document with metadata evaluated, now that no lock is held."""
        if isinstance(shown, _UnresolvedMetadata):
            return self._resolve(shown)
        if isinstance(shown, Mapping):
            return {name: self._with_metadata(item) for name, item in shown.items()}
        if isinstance(shown, list):
            return [self._with_metadata(item) for item in shown]
        return shown

    def _resolve(self, metadata: _UnresolvedMetadata) -> Json:
        services = self.services
        stack, value, named = metadata.stack, metadata.value, metadata.named
        names = referenced_resources(value, services.functions) & named.keys()
        rows = {name: InputResource.from_resource(named[name]) for name in names}
        inputs = RowInputs(rows, stack, services.registry, services.clock())
        try:
            return (
                resolve_value(value, inputs, limits=services.limits, functions=services.functions)
                or {}
            )
        except errors.Error:  # reported with the resource when it was created
            return keep_expressions(stack, value, named)

    def _refuse_disabled(self) -> None:
        if not self.options.enable_stack_abandon:
            raise errors.NotSupported("Stack Abandon is not enabled (enable_stack_abandon).")
