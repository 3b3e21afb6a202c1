"""Outputs of a stack: their names, and one with its value.

Called by the root controller.  Reads only; resources that the value draws on are
one statement.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller, named_stack
from heat_convergence.api.stored import OutputReader, output_definitions
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence.model import Stack
from heat_convergence.db import goals, resources
from heat_convergence.template.outputs import OutputDefinition
from heat_convergence.template.uses import references


class OutputsController(Controller):
    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            outputs = _outputs(conn, stack)
        items = [{"output_key": o.name, "description": o.description} for o in outputs.values()]
        return json_answer({"outputs": items})

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, output_key: str
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            output = _outputs(conn, stack).get(output_key)
            if output is None:
                raise errors.NotFound(f"Specified output key {output_key} not found.")
            rows = resources.inputs(conn, stack.id, references(output.value, self.given.functions))
        reader = OutputReader(stack, rows, self.given)
        return json_answer({"output": reader.one(output)})


def _outputs(conn: Any, stack: Stack) -> dict[str, OutputDefinition]:
    goal = goals.lean(conn, stack.goal_id)
    return {} if goal is None else {output.name: output for output in output_definitions(goal)}
