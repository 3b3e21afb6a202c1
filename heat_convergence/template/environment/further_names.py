"""Names of types that stand for others: those of Heat's own environment, and hidden types.

Called by ``resource_registry`` for a type that no entry names, and by plans. Decides the names
alone; an entry of a user or the operator takes precedence.

Source: docs/reference/events-and-states.rst, "resource_registry forms".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FURTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "OS::Ceilometer::Alarm": "OS::Aodh::Alarm",
        "OS::Ceilometer::CombinationAlarm": "OS::Aodh::CombinationAlarm",
        "OS::Ceilometer::GnocchiAggregationByMetricsAlarm": (
            "OS::Aodh::GnocchiAggregationByMetricsAlarm"
        ),
        "OS::Ceilometer::GnocchiAggregationByResourcesAlarm": (
            "OS::Aodh::GnocchiAggregationByResourcesAlarm"
        ),
        "OS::Ceilometer::GnocchiResourcesAlarm": "OS::Aodh::GnocchiResourcesAlarm",
        "OS::Metering::Alarm": "OS::Aodh::Alarm",
    }
)
# Hidden types that are implemented by another: an update to that one replaces nothing.
_SUCCESSORS: Mapping[str, str] = MappingProxyType(
    {
        "OS::Heat::SoftwareDeployments": "OS::Heat::SoftwareDeploymentGroup",
        "OS::Heat::StructuredDeployments": "OS::Heat::StructuredDeploymentGroup",
        "OS::Magnum::BayModel": "OS::Magnum::ClusterTemplate",
    }
)
_FORMER_PREFIX, _PREFIX = "OS::Quantum", "OS::Neutron"


def find_further_name(type_name: str) -> str | None:
    """Return the type that a former name stands for; None if it is no former name."""
    if type_name.startswith(_FORMER_PREFIX):
        return _PREFIX + type_name.removeprefix(_FORMER_PREFIX)
    return FURTHER_NAMES.get(type_name)


def is_same_type(one: str, other: str) -> bool:
    """Return whether two names of types have the same objects behind them."""
    return _SUCCESSORS.get(one, one) == _SUCCESSORS.get(other, other)
