"""The properties and attributes that all types of software deployments declare.

Imported by deployments and by groups of them. Data only.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
)
from heat_convergence.template.parameters.constraints import AllowedValues

CFN_SIGNAL, HEAT_SIGNAL, NO_SIGNAL = "CFN_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL"
TEMP_URL_SIGNAL, ZAQAR_SIGNAL = "TEMP_URL_SIGNAL", "ZAQAR_SIGNAL"
DEPLOYMENT_ACTIONS = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")


def text_property(description: str, **more: Any) -> PropertySchema:
    """Declare a property of type string; ``more`` are further fields."""
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


DEPLOYMENT_PROPERTIES = {
    "config": text_property("ID of the software configuration to deploy.", update_allowed=True),
    "server": text_property("ID of the server to deploy to.", required=True),
    "input_values": PropertySchema(
        type=PropertyType.MAP,
        description="Values of the inputs of the configuration, by name.",
        update_allowed=True,
    ),
    "actions": PropertySchema(
        type=PropertyType.LIST,
        description="Stack actions in which the configuration is deployed.",
        default=["CREATE", "UPDATE"],
        update_allowed=True,
        constraints=(AllowedValues(DEPLOYMENT_ACTIONS),),
    ),
    "name": text_property("Name of the derived configuration on the server.", update_allowed=True),
    "signal_transport": text_property(
        "How the server signals its output values.",
        default=CFN_SIGNAL,
        constraints=(
            AllowedValues((CFN_SIGNAL, TEMP_URL_SIGNAL, HEAT_SIGNAL, NO_SIGNAL, ZAQAR_SIGNAL)),
        ),
    ),
}
DEPLOYMENT_ATTRIBUTES = {
    deployment_inputs.STDOUT: AttributeSchema(PropertyType.STRING, "Captured standard output."),
    deployment_inputs.STDERR: AttributeSchema(PropertyType.STRING, "Captured standard error."),
    deployment_inputs.STATUS_CODE: AttributeSchema(PropertyType.STRING, "Returned status code."),
}
