"""A stored goal as clients read it: outputs, environment, template.

Called by the controllers that show stacks.  Evaluates outputs from the rows passed in, and from
attributes that others change, which are read anew; must not read the database.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.stacks.reads.resource_attributes import LiveAttributeReader, live_read_limit
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.evaluation.evaluation import ResourceValues, resolve_value
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation.references import referenced_resources
from heat_convergence.template.functions.function import Function
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import load_document
from heat_convergence.template.text_redaction import MASK

Json = Any


@dataclass(frozen=True, slots=True)
class OutputInputs(RowInputs):
    """The values that outputs read; a reference to a resource that does not exist is an error."""

    def reference_id(self, resource: str) -> Json:
        """Return the reference id of a resource.

        Raises:
            InvalidTemplateReference: the template has no resource of that name.
        """
        if resource not in self.rows:
            raise errors.InvalidTemplateReference(resource, "unknown")
        return RowInputs.reference_id(self, resource)


@dataclass(frozen=True, slots=True)
class _NewResources:
    """The values of resources that do not exist yet: a reference is the name."""

    names: frozenset[str]

    def reference_id(self, resource: str) -> Json:
        if resource not in self.names:
            raise errors.InvalidTemplateReference(resource, "unknown")
        return resource

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        return None


@dataclass(frozen=True, slots=True)
class OutputResolver:
    """The outputs of one stack; ``rows`` are the resources that they read, by name."""

    stack: Stack
    rows: Mapping[str, InputResource]
    services: StackServices

    def resolve_all(self, outputs: Iterable[OutputDefinition]) -> list[dict[str, Json]]:
        """Return the outputs with their values, or with the errors that evaluating them gave.

        Attributes of a COMPLETE stack's resources are read anew if others change them.
        """
        services = self.services
        inputs: RowInputs = OutputInputs(
            self.rows, self.stack, services.registry, services.clock()
        )
        if self.stack.status is Status.COMPLETE:
            inputs = replace(inputs, refresh=LiveAttributeReader(self.stack, services).refresh)
        with live_read_limit():
            return [self._resolve(output, inputs) for output in outputs]

    def resolve_before_creation(self, goal: Goal, names: Collection[str]) -> list[dict[str, Json]]:
        """Return the outputs of a stack that does not exist yet; attributes have no values.

        Args:
            goal: the goal of the stack.
            names: the names of its resources.
        """
        inputs = _NewResources(frozenset(names))
        return [self._resolve(output, inputs) for output in output_definitions(goal)]

    def _resolve(self, output: OutputDefinition, inputs: ResourceValues) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "output_key": output.name,
            "description": output.description,
            "output_value": None,
        }
        if not output.enabled:
            return shown
        try:
            shown["output_value"] = self._value(output, inputs)
        except errors.Error as error:
            shown["output_error"] = _output_error(error, output)
        return shown

    def _value(self, output: OutputDefinition, inputs: ResourceValues) -> Json:
        services = self.services
        where = f"outputs.{output.name}.value"
        return resolve_value(
            output.value,
            inputs,
            limits=services.limits,
            functions=services.functions,
            location=where,
        )


def _output_error(error: errors.Error, output: OutputDefinition) -> str:
    """Return the text that clients match, and after it the place inside the output's value."""
    inside = error.path.removeprefix(f"outputs.{output.name}.value").lstrip(".")
    return f"{error.message} (at {inside})" if inside else error.message


def output_definitions(goal: Goal) -> Iterator[OutputDefinition]:
    """Yield the outputs in the order of their names."""
    for name, data in sorted(goal.outputs.items()):
        yield OutputDefinition.load(name, data)


def resources_read_by_outputs(goal: Goal, functions: Mapping[str, Function]) -> frozenset[str]:
    """Return the names of the resources that the outputs read."""
    found = (referenced_resources(output.value, functions) for output in output_definitions(goal))
    return frozenset().union(*found)


def parse_stored_template(text: str, limits: TemplateLimits) -> Json:
    """Return the stored template as a map."""
    return load_document(text, limits=limits).data


def format_environment(goal: Goal, hidden_names: Container[str]) -> dict[str, Json]:
    """Return the five sections, with values of hidden parameters masked.

    Args:
        goal: the goal of the stack.
        hidden_names: names of parameters that a template of the tree hides. Other defaults are
            shown, whether a template declares them or not.
    """
    environment = goal.environment
    parameters = environment.get("parameters") or {}
    defaults = environment.get("parameter_defaults") or {}
    masked = {name for name in parameters if goal.parameters.get(name) == MASK}
    encrypted = environment.get("encrypted_param_names") or ()
    return {
        "parameters": {
            name: MASK if name in masked else value for name, value in parameters.items()
        },
        "resource_registry": environment.get("resource_registry") or {"resources": {}},
        "parameter_defaults": {
            name: MASK if name in hidden_names or name in encrypted else value
            for name, value in defaults.items()
        },
        "event_sinks": environment.get("event_sinks") or [],
        "encrypted_param_names": sorted({*encrypted, *masked}),
    }
