"""What a template comes to: the record that ``evaluate.build`` gives.

Read by the planner, the api's views and the validators.  Decides nothing.
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
    """All that a goal needs of its template.

    ``definitions`` lack resources whose condition is false.  ``parameters`` has the
    pseudo parameters too.  Definitions and outputs that hold the value of a hidden
    parameter say so (``sensitive``), and ``hidden_parameter_values`` has those values: what is
    stored of either must be encrypted.
    """

    template: Template
    description: str
    parameters: Mapping[str, ParameterValue]
    parameter_groups: tuple[Mapping[str, Json], ...]
    definitions: Mapping[str, ResourceDefinition]
    outputs: Mapping[str, OutputDefinition]

    @property
    def hidden_parameter_values(self) -> Mapping[str, Json]:
        """By the parameter's name."""
        return {
            name: value.value
            for name, value in self.parameters.items()
            if value.schema.hidden and value.has_value
        }

    @property
    def graph(self) -> Graph[str]:
        """What needs what; there is no ring in it."""
        return Graph.from_requirements(
            {name: definition.requires for name, definition in self.definitions.items()}
        )

    def api_parameters(self) -> dict[str, str]:
        """As the stack's view shows them."""
        return {name: value.display_text for name, value in sorted(self.parameters.items())}
