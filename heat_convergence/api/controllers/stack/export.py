"""A stack as a document: exported, or abandoned with it, for another to adopt.

Called by the root controller.  The operator's options allow either.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import stack_actions
from heat_convergence.db.store import SqlTransaction
from heat_convergence.stacks.export_document import (
    defer_metadata,
    evaluate_metadata,
    read_document,
)


class ExportController(Controller):
    """The handlers of ``…/export`` and ``…/abandon``."""

    def export(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Return the document of a stack."""
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            reader = SqlTransaction(conn)
            shown = read_document(reader, stack, reader.tree.list_descendants(stack.tree_id))
        return json_response(evaluate_metadata(self.services, shown))

    def abandon(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Return the document of a stack and forget the stack, not its resources."""
        self._refuse_disabled()
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
        context = self.traversal_context()
        shown = run_in_transaction(
            self.services,
            lambda tx: stack_actions.abandon_stack(
                tx, stack.id, context, resolve_metadata=defer_metadata
            ),
        )
        return json_response(evaluate_metadata(self.services, shown))

    def _refuse_disabled(self) -> None:
        if not self.options.enable_stack_abandon:
            raise errors.NotSupported("Stack Abandon is not enabled (enable_stack_abandon).")
