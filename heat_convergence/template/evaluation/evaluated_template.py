"""The result of evaluating a template.

Read by the planner, the API's views and the validators.  Decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.graph.graph import Graph
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.parameters.parameter_values import ParameterValue
from heat_convergence.template.template import Template

Json = Any


@dataclass(frozen=True, slots=True)
class EvaluatedTemplate:
    """A template with everything evaluated that does not depend on a resource.

    ``sensitive`` definitions and outputs hold the value of a hidden parameter: they, and
    ``hidden_parameter_values``, must be stored encrypted.

    Attributes:
        parameters: Parameter values, including pseudo parameters.
        definitions: Resource definitions, without resources whose condition is false.
    """

    template: Template
    description: str
    parameters: Mapping[str, ParameterValue]
    parameter_groups: tuple[Mapping[str, Json], ...]
    definitions: Mapping[str, ResourceDefinition]
    outputs: Mapping[str, OutputDefinition]

    @property
    def hidden_parameter_values(self) -> Mapping[str, Json]:
        """The values of hidden parameters by name."""
        return {
            name: value.value
            for name, value in self.parameters.items()
            if value.schema.hidden and value.has_value
        }

    @property
    def graph(self) -> Graph[str]:
        """The acyclic graph of requirements between the resources."""
        return Graph.from_requirements(
            {name: definition.requires for name, definition in self.definitions.items()}
        )

    def api_parameters(self) -> dict[str, str]:
        """Return the parameter values as the API's view of the stack shows them."""
        return {name: value.display_text for name, value in sorted(self.parameters.items())}
