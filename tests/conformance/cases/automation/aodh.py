"""Conformance cases of Aodh's types."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.octavia import POOL_PREREQUISITES

ACTIONS = ("alarm", "ok", "insufficient_data")
# Changes of the properties that all alarms have.
COMMON_CHANGES: list[dict[str, Any]] = [
    {
        "description": "d",
        "enabled": False,
        "repeat_actions": False,
        "severity": "critical",
        **{f"{each}_actions": [f"http://hook.invalid/{each}"] for each in ACTIONS},
        **{f"{each}_queues": [f"hc-{each}"] for each in ACTIONS},
    },
    {"alarm_actions": None, "description": None},
]
GNOCCHI_CHANGE = {
    "threshold": 2.5,
    "comparison_operator": "gt",
    "evaluation_periods": 3,
    "granularity": 60,
    "aggregation_method": "max",
}
OFFICE_HOURS = {"name": "office hours", "start": "0 8 * * *", "duration": 3600}


def _case(
    name: str, *prerequisites: Any, changes: dict[str, Any] | None = None, **fields: Any
) -> ConformanceCase:
    all_changes = [*COMMON_CHANGES, *([changes] if changes else [])]
    return ConformanceCase(f"OS::Aodh::{name}", prerequisites, changes=all_changes, **fields)


# Gnocchi judges the rules of these alarms, and is in no test cloud.
_gnocchi_case = partial(_case, runs_on=SupportedCloud.EMULATION_ONLY)


def _rule(threshold: float) -> dict[str, Any]:
    """Return a rule of a composite alarm."""
    return {
        "type": "gnocchi_resources_threshold",
        "metric": "cpu",
        "resource_id": "a",
        "resource_type": "instance",
        "threshold": threshold,
        "comparison_operator": "gt",
        "evaluation_periods": 1,
        "granularity": 60,
        "aggregation_method": "mean",
    }


CASES = [
    _gnocchi_case(
        "Alarm",
        properties={"meter_name": "cpu_util", "threshold": 1, "matching_metadata": {"a": "b"}},
        changes={
            **{key: GNOCCHI_CHANGE[key] for key in ("threshold", "comparison_operator")},
            "evaluation_periods": 3,
            "matching_metadata": {"a": "c"},
            "period": 60,
            "query": [{"field": "resource_id", "op": "eq", "value": "1"}],
            "statistic": "max",
        },
    ),
    _gnocchi_case(
        "GnocchiResourcesAlarm",
        properties={
            "metric": "cpu",
            "resource_id": "{uuid}",
            "resource_type": "instance",
            "threshold": 1,
        },
        changes={
            "metric": "memory",
            "resource_id": "another",
            "resource_type": "volume",
            **GNOCCHI_CHANGE,
        },
    ),
    _gnocchi_case(
        "GnocchiAggregationByMetricsAlarm",
        properties={
            "metrics": ["{uuid}"],
            "threshold": 1,
            "time_constraints": [OFFICE_HOURS],
        },
        changes={"metrics": ["another"], **GNOCCHI_CHANGE},
    ),
    _gnocchi_case(
        "GnocchiAggregationByResourcesAlarm",
        properties={
            "metric": "cpu",
            "query": '{"=": {"server_group": "a"}}',
            "resource_type": "instance",
            "threshold": 1,
        },
        changes={
            "metric": "memory",
            "query": '{"=": {"server_group": "b"}}',
            "resource_type": "volume",
            **GNOCCHI_CHANGE,
        },
    ),
    _case(
        "EventAlarm",
        properties={"query": [{"field": "traits.id", "op": "eq", "value": "1"}]},
        changes={
            "event_type": "compute.instance.*",
            "query": [{"field": "traits.name", "value": "a"}],
        },
    ),
    _case(
        "CompositeAlarm",
        properties={"composite_rule": {"operator": "or", "rules": [_rule(1.0), _rule(2.0)]}},
        changes={"composite_rule": {"operator": "and", "rules": [_rule(1.0), _rule(3.0)]}},
    ),
    _case(
        "LBMemberHealthAlarm",
        *POOL_PREREQUISITES,
        properties={"pool": {"get": "pool"}, "stack": "{uuid}", "autoscaling_group_id": "a"},
        changes={"autoscaling_group_id": "b", "pool": "{uuid}"},
    ),
    _case(
        "PrometheusAlarm",
        properties={"query": "up", "threshold": 1},
        changes={"query": "down", "threshold": 2, "comparison_operator": "gt"},
    ),
]
