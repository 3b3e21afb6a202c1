"""A stored goal as clients read it: outputs, environment, template.

Called by the controllers that show stacks.  Evaluates what was left open when the
stack was made, from rows it is handed; never asks the database or the cloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.convergence.model import Goal, Input, Stack
from heat_convergence.resources.views import RowInputs
from heat_convergence.template.evaluate import finish
from heat_convergence.template.functions.base import Function
from heat_convergence.template.limits import Limits
from heat_convergence.template.loader import load
from heat_convergence.template.masking import MASK
from heat_convergence.template.outputs import OutputDefinition
from heat_convergence.template.uses import references

Json = Any


@dataclass(frozen=True, slots=True)
class OutputReader:
    """Finishes the outputs of one stack; ``rows`` are what they draw on."""

    stack: Stack
    rows: Mapping[str, Input]
    given: ApiServices

    def all(self, goal: Goal) -> list[dict[str, Json]]:
        return [self.one(output) for output in output_definitions(goal)]

    def one(self, output: OutputDefinition) -> dict[str, Json]:
        """A mistake that only shows now is told in the output, not as a failure."""
        shown: dict[str, Json] = {
            "output_key": output.name,
            "description": output.description,
            "output_value": None,
        }
        if not output.enabled:
            return shown
        try:
            shown["output_value"] = self._finished(output)
        except errors.Error as error:
            shown["output_error"] = str(error)
        return shown

    def _finished(self, output: OutputDefinition) -> Json:
        given = self.given
        inputs = RowInputs(self.rows, self.stack, given.registry, given.clock())
        where = f"outputs.{output.name}.value"
        return finish(
            output.value, inputs, limits=given.limits, functions=given.functions, where=where
        )


def output_definitions(goal: Goal) -> Iterator[OutputDefinition]:
    """In the order of their names."""
    for name, data in sorted(goal.outputs.items()):
        yield OutputDefinition.load(name, data)


def drawn_on(goal: Goal, functions: Mapping[str, Function]) -> frozenset[str]:
    """Names of the resources that the outputs read."""
    found = (references(output.value, functions) for output in output_definitions(goal))
    return frozenset().union(*found)


def template_map(text: str, limits: Limits) -> Json:
    """The stored text as the map that it is."""
    return load(text, limits=limits).data


def shown_environment(goal: Goal) -> dict[str, Json]:
    """The five sections; values of hidden parameters are masked."""
    environment = goal.environment
    return {
        "parameters": _masked(environment.get("parameters"), goal),
        "resource_registry": environment.get("resource_registry") or {"resources": {}},
        "parameter_defaults": _masked(environment.get("parameter_defaults"), goal),
        "event_sinks": environment.get("event_sinks") or [],
        "encrypted_param_names": environment.get("encrypted_param_names") or [],
    }


def _masked(values: Mapping[str, Json] | None, goal: Goal) -> dict[str, Json]:
    return {
        name: MASK if goal.parameters.get(name) == MASK else value
        for name, value in (values or {}).items()
    }
