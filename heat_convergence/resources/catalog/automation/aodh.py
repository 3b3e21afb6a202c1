"""REST resource and specs of Aodh's resource types."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.missing_sdk_resources import AlarmResource
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    TypeSpec,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.aodh.alarms import (
    AodhAlarm,
    CompositeAlarm,
    ThresholdAlarm,
)

TESTED_RELEASE = "Aodh 23"
REST_RESOURCES = by_entity(
    make_rest_resource(
        "Aodh", "alarm", "alarm", AlarmResource, id_key="alarm_id", name_query=None
    ),
)

_spec = partial(make_spec, "Aodh", REST_RESOURCES, test_environment=TESTED_RELEASE)
_QUEUES = omit_arguments("alarm_queues", "ok_queues", "insufficient_data_queues")
# The names of a map's keys, so that those without a value are not sent.
_TIME_CONSTRAINTS = rename_arguments(
    **{f"time_constraints.{key}": key for key in ("description", "timezone")}
)
_QUERY = rename_arguments(**{f"query.{key}": key for key in ("field", "op", "type", "value")})
_GNOCCHI = (
    "aggregation_method",
    "comparison_operator",
    "evaluation_periods",
    "granularity",
    "threshold",
)


def _alarm(name: str, alarm_type: str, *rule: str, **renamed: ArgumentMapping) -> TypeSpec:
    """Return the spec of an alarm type.

    Args:
        name: The name of the type without its prefix.
        alarm_type: Aodh's name of the type.
        *rule: The properties that are part of the alarm's rule.
        **renamed: Properties of the rule that have another name there.
    """
    key = f"{alarm_type}_rule"
    in_rule = {each: ArgumentMapping(f"{key}.{each}") for each in rule} | {
        each: ArgumentMapping(f"{key}.{mapping.argument}", mapping.entity)
        for each, mapping in renamed.items()
    }
    return _spec(
        name,
        "alarm",
        fixed_arguments={"type": alarm_type},
        arguments={**_QUEUES, **_TIME_CONSTRAINTS, **in_rule},
        kept_when_unset=frozenset(in_rule),
    )


_EVENT = _alarm("EventAlarm", "event", "event_type", "query")

_THRESHOLD = _alarm(
    "Alarm",
    "threshold",
    *("comparison_operator", "evaluation_periods", "meter_name", "period"),
    *("query", "statistic", "threshold"),
)

TYPE_SPECS = (
    replace(
        _THRESHOLD,
        arguments={**_THRESHOLD.arguments, **_QUERY, **omit_arguments("matching_metadata")},
    ),
    _alarm(
        "GnocchiResourcesAlarm",
        "gnocchi_resources_threshold",
        *_GNOCCHI,
        *("metric", "resource_id", "resource_type"),
    ),
    _alarm(
        "GnocchiAggregationByMetricsAlarm",
        "gnocchi_aggregation_by_metrics_threshold",
        *_GNOCCHI,
        "metrics",
    ),
    _alarm(
        "GnocchiAggregationByResourcesAlarm",
        "gnocchi_aggregation_by_resources_threshold",
        *_GNOCCHI,
        *("metric", "query", "resource_type"),
    ),
    replace(_EVENT, arguments={**_EVENT.arguments, **_QUERY}),
    _spec(
        "CompositeAlarm",
        "alarm",
        fixed_arguments={"type": "composite"},
        arguments={**_QUEUES, **_TIME_CONSTRAINTS, **omit_arguments("composite_rule")},
    ),
    _alarm(
        "LBMemberHealthAlarm",
        "loadbalancer_member_health",
        "autoscaling_group_id",
        pool=ArgumentMapping("pool_id", "octavia.pool"),
        stack=ArgumentMapping("stack_id"),
    ),
    _alarm("PrometheusAlarm", "prometheus", "comparison_operator", "query", "threshold"),
)

AODH = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {spec.name: AodhAlarm for spec in TYPE_SPECS}
    | {"OS::Aodh::CompositeAlarm": CompositeAlarm, "OS::Aodh::Alarm": ThresholdAlarm},
)
