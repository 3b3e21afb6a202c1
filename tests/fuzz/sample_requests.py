"""Valid requests for every route of the table, from which mutations start.

A route that names a new schema needs a sample here; the tests fail otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from heat_convergence.api.openapi_schemas import QUERIES
from heat_convergence.api.requests.actions import ACTIONS
from heat_convergence.api.routes.route import Route
from heat_convergence.template.environment.drift_policies import DriftPolicy
from tests.fuzz.template_grammar import TemplateGrammar

Json = Any

TEMPLATE: Json = {
    "heat_template_version": "2018-08-31",
    "parameters": {
        "p": {"type": "string", "default": "x"},
        "hidden": {"type": "string", "default": "secret", "hidden": True},
    },
    "resources": {
        "r": {"type": "OS::Heat::RandomString"},
        "t": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "p"}}},
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "group": {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {
                "min_size": 1,
                "max_size": 3,
                "resource": {"type": "OS::Heat::RandomString"},
            },
        },
        "policy": {
            "type": "OS::Heat::ScalingPolicy",
            "properties": {
                "adjustment_type": "change_in_capacity",
                "auto_scaling_group_id": {"get_resource": "group"},
                "scaling_adjustment": 1,
            },
        },
    },
    "outputs": {"o": {"value": {"get_attr": ["r", "value"]}}, "q": {"value": 1}},
}
_RESOURCES = ("r", "t", "handle", "group", "policy", "absent")
_EXPORT: Json = {
    "name": "s", "id": "0", "action": "CREATE", "status": "COMPLETE", "template": TEMPLATE,
    "environment": {"parameters": {"p": "y"}}, "files": {"f": "x"}, "project_id": "p",
    "stack_user_project_id": None, "tags": ["a"], "resources": {
        "r": {"name": "r", "type": "OS::Heat::RandomString", "resource_id": "known",
              "resource_data": {"value": "abc"}, "status": "COMPLETE", "action": "CREATE"},
        "t": {"name": "t", "type": "OS::Heat::TestResource", "resource_id": "t-id",
              "resource_data": {"value": "x"}, "status": "COMPLETE", "action": "SUSPEND"},
    },
}  # fmt: skip


def _stack_fields(random: Random) -> dict[str, Json]:
    if random.random() < 0.5:
        made = TemplateGrammar(random).request()
    else:
        made = {
            "template": TEMPLATE,
            "environment": {"parameters": {"p": "y"}, "resource_registry": {"A::B": "f.yaml"}},
            "parameters": {"p": "z"},
            "files": {"f.yaml": "heat_template_version: 2018-08-31"},
        }
    options = {
        "timeout_mins": 5, "disable_rollback": False, "tags": "a,b", "environment_files": [],
        "template_url": "http://127.0.0.1/", "files_container": "box",
    }  # fmt: skip
    return made | {name: value for name, value in options.items() if random.random() < 0.1}


def _create(random: Random) -> Json:
    body = {"stack_name": random.choice(("new", "other", "s")), **_stack_fields(random)}
    if random.random() < 0.15:
        body["adopt_stack_data"] = _EXPORT
        del body["template"]
    return body


def _update(random: Random) -> Json:
    return _stack_fields(random) | ({"converge": True} if random.random() < 0.1 else {})


def _patch(random: Random) -> Json:
    kept = {name: v for name, v in _update(random).items() if random.random() < 0.6}
    return kept | ({"clear_parameters": ["p"]} if random.random() < 0.2 else {})


def _plan(random: Random) -> Json:
    """Return the body of a plan of one of the actions on a stack."""
    makers: tuple[Callable[[Random], Json], ...] = (
        _update,
        lambda random: {"action": "update", **_update(random)},
        lambda random: {"action": "patch", **_patch(random)},
        lambda random: {"action": "delete", "skip": random.choice((["t"], ["r", "absent"], None))},
        lambda random: {
            "action": "repair",
            "resources": random.choice((["t"], ["absent"], None)),
        },
        lambda random: {
            "action": "import",
            "import": {random.choice(("t", "absent")): random.choice(("1", "absent"))},
            **_patch(random),
            "existing": random.choice((True, False)),
        },
        lambda random: {"action": "rename", "rename": {"t": "r"}, **_update(random)},
        lambda random: {
            "action": "move",
            "move": {"t": random.choice(("t", "r"))},
            "target": {"stack": random.choice(("s", "absent", "other")), **_update(random)},
            **_update(random),
        },
    )
    return random.choice(makers)(random)


def _signal(random: Random) -> Json:
    return random.choice((
        {}, {"status": "SUCCESS", "reason": "r", "data": "d", "id": "1"}, {"unset_hook": "x"},
        {"unset_hook": "pre-update"}, {"current": 1, "alarm": "x"}, {"step": True},
        {"deploy_stdout": "x", "deploy_status_code": 0},
    ))  # fmt: skip


def _config(_random: Random) -> Json:
    return {
        "name": "c", "group": "script", "config": "echo", "options": {"a": 1},
        "inputs": [{"name": "i", "type": "String", "default": "x", "replace_on_change": True}],
        "outputs": [{"name": "o", "type": "Json", "error_output": "false"}],
    }  # fmt: skip


_BODIES: dict[str, Callable[[Random], Json]] = {
    "template": _stack_fields,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "plan": _plan,
    "action": lambda random: {random.choice(ACTIONS): None},
    "drift_policy": lambda random: {
        "policy": random.choice((*DriftPolicy, None)),
        "paused": random.choice((True, False)),
        "repair_window": random.choice(
            ("0 2 * * *", {"cron": "0 2 * * sun", "duration": 60}, None)
        ),
    },
    "lint": lambda random: {
        name: value
        for name, value in _stack_fields(random).items()
        if name in ("template", "environment", "parameters", "files")
    },
    "drift_breakers": lambda random: {"confirmed": random.choice(([], ["no-breaker"]))},
    "signal": _signal,
    "snapshot": lambda _random: {"name": "snap"},
    "mark_unhealthy": lambda random: {
        "mark_unhealthy": random.choice((True, "false")),
        "resource_status_reason": "why",
    },
    "software_config": _config,
    "software_deployment": lambda _random: {
        "config_id": "{config_id}", "server_id": "server", "action": "CREATE",
        "status": "IN_PROGRESS", "status_reason": "r", "input_values": {"a": 1},
        "stack_user_project_id": "p",
    },
    "deployment_update": lambda random: {
        "status": random.choice(("COMPLETE", "FAILED")), "output_values": {"o": 1},
        "action": "UPDATE", "config_id": "{config_id}", "status_reason": "r", "input_values": {},
    },
}  # fmt: skip
_QUERY_VALUES = (
    "true", "false", "0", "1", "2", "asc", "desc", "plan", "definition", "name", "stack_name",
    "a,b", "COMPLETE", "CREATE_COMPLETE", "r", "o", "99001", "hot", "cfn", "creation_time",
    "summary", "replace",
)  # fmt: skip


def sample_body(route: Route, random: Random) -> Json:
    """Return a valid body for the route; None if it takes none."""
    return _BODIES[route.body_schema](random) if route.body_schema else None


def sample_query(route: Route, random: Random) -> list[tuple[str, str]]:
    """Return names and values for the query of the route."""
    known = tuple(QUERIES[route.query_schema]) if route.query_schema else ()
    names = [name for name in known if random.random() < 2 / (len(known) + 1)]
    return [(name, random.choice(_QUERY_VALUES)) for name in names]


def path_values(existing: Mapping[str, str], random: Random) -> dict[str, str]:
    """Return a value for each variable part of the routes' paths.

    Args:
        existing: Ids of objects that exist, by the name of the variable part.
        random: Generator of the case.
    """
    return {
        "resource_name": random.choice(_RESOURCES),
        "output_key": random.choice(("o", "q", "absent")),
        "type_name": random.choice(("OS::Heat::Value", "OS::Nova::Server", "OS::Heat::None")),
        "template_version": random.choice(
            ("heat_template_version.2018-08-31", "AWSTemplateFormatVersion.2010-09-09")
        ),
        "server_id": "server",
        "event_id": "absent",
        "snapshot_id": "absent",
        "config_id": "absent",
        "deployment_id": "absent",
        "plan_id": "absent",
        "quarantined_id": "absent",
        "subpath": random.choice(("resources", "events", "actions", "environment", "files")),
        "arn": "arn:openstack:heat::p:stacks/s/{stack_id}".format(**existing),
        **existing,
    }


def sampled_schemas() -> frozenset[str]:
    """Return the names of the body schemas that have a sample."""
    return frozenset(_BODIES)
