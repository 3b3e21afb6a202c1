"""Outputs of a stack: their names, and one with its value.

Called by the root controller.  Reads only; one statement reads all resources that the
value depends on.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller, get_stack
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.common import errors
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.repositories.incarnations import SqlIncarnationRepository
from heat_convergence.stacks.reads.goal_view import OutputResolver, output_definitions
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation.references import referenced_resources


class OutputsController(Controller):
    """The handlers of ``…/outputs``."""

    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """List the outputs without values."""
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            outputs = _outputs(conn, stack)
        items = [{"output_key": o.name, "description": o.description} for o in outputs.values()]
        return json_response({"outputs": items})

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, output_key: str
    ) -> webob.Response:
        """Show an output with its value."""
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            output = _outputs(conn, stack).get(output_key)
            if output is None:
                raise errors.NotFound(f"Specified output key {output_key} not found.")
            rows = SqlIncarnationRepository(conn).get_inputs(
                stack.id, referenced_resources(output.value, self.services.functions)
            )
        reader = OutputResolver(stack, rows, self.services)
        return json_response({"output": reader.resolve_all([output])[0]})


def _outputs(conn: Any, stack: Stack) -> dict[str, OutputDefinition]:
    goal = SqlGoalRepository(conn).get_row(stack.goal_id)
    return {} if goal is None else {output.name: output for output in output_definitions(goal)}
