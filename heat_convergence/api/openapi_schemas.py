"""JSON Schemas of requests and responses, by the names in the routes table.

Read by ``openapi`` alone; a table.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.api import (
    openapi_drift,
    openapi_plans,
    openapi_progress,
    openapi_quarantine,
    openapi_service,
)
from heat_convergence.api.openapi_fields import ANY as _ANY
from heat_convergence.api.openapi_fields import COUNT as _COUNT
from heat_convergence.api.openapi_fields import FLAG as _FLAG
from heat_convergence.api.openapi_fields import JSON_FLAG as _JSON_FLAG
from heat_convergence.api.openapi_fields import MAP as _MAP
from heat_convergence.api.openapi_fields import MAYBE as _MAYBE
from heat_convergence.api.openapi_fields import MAYBE_COUNT as _MAYBE_COUNT
from heat_convergence.api.openapi_fields import TEXT as _TEXT
from heat_convergence.api.openapi_fields import Schema
from heat_convergence.api.openapi_fields import list_of as _list
from heat_convergence.api.openapi_fields import object_with as _object
from heat_convergence.api.openapi_fields import texts as _words
from heat_convergence.api.requests.actions import ACTIONS

_LINKS = _list(_object(href=_TEXT, rel=_TEXT))
_DIRECTION: Schema = {"type": "string", "enum": ["asc", "desc"]}

ERROR_ENVELOPE: Schema = _object(
    code={"type": "integer"},
    title=_TEXT,
    explanation=_TEXT,
    error=_object({"message": _TEXT, **openapi_plans.ERROR_FIELDS}, type=_TEXT, traceback=_MAYBE),
)

_EVENT_QUERY: Mapping[str, Schema] = {
    "limit": _COUNT,
    "nested_depth": _COUNT,
    "sort_dir": _DIRECTION,
    "sort_keys": _list(_TEXT),
    **_words("marker", "resource_status", "resource_action", "resource_name", "resource_type"),
}
QUERIES: Mapping[str, Mapping[str, Schema]] = {
    "validate": {"show_nested": _FLAG, "ignore_errors": _TEXT},
    "resource_types": {**_words("support_status", "name", "version"), "with_description": _FLAG},
    "resource_schema": {"with_description": _TEXT},  # clients send it; it changes nothing
    "generate_template": {"template_type": _TEXT},
    "functions": {"with_condition_func": _FLAG},
    "delete": {"skip": _list(_TEXT), "quarantine": _FLAG},
    "show": {"resolve_outputs": _FLAG},
    "preview": {"detail": {"type": "string", "enum": ["plan"]}},
    "preview_update": {"show_nested": _FLAG, "detail": {"type": "string", "enum": ["plan"]}},
    "resource": {
        "with_attr": _list(_TEXT),
        "detail": {"type": "string", "enum": ["definition"]},
    },
    "resources": {
        "nested_depth": _COUNT,
        "with_detail": _FLAG,
        **_words("type", "status", "name", "action", "id", "physical_resource_id"),
    },
    **openapi_drift.QUERIES,
    **openapi_progress.QUERIES,
    **openapi_quarantine.QUERIES,
    **openapi_service.QUERIES,
    **openapi_plans.QUERIES,
    "stack_events": {**_EVENT_QUERY, "wait": _COUNT},
    "events": _EVENT_QUERY,
    "software_configs": {"limit": _COUNT, "marker": _TEXT, "global_tenant": _FLAG},
    "software_deployments": {"server_id": _TEXT},
    "stacks": {
        "limit": _COUNT,
        "sort_dir": _DIRECTION,
        "sort_keys": _list(_TEXT),
        **dict.fromkeys(
            ("show_deleted", "show_nested", "show_hidden", "with_count", "global_tenant"), _FLAG
        ),
        "timeout_mins": _COUNT,
        "wait": _COUNT,
        **_words(
            "changed_since",
            "marker",
            "tags",
            "tags_any",
            "not_tags",
            "not_tags_any",
            "id",
            "status",
            "name",
            "action",
            "tenant",
            "username",
            "owner_id",
            "stack_name",
            "stack_action",
            "stack_status",
            "stack_status_reason",
            "disable_rollback",
            "stack_owner",
            "parent",
            "stack_user_project_id",
        ),
    },
}

_TEMPLATE_FIELDS: dict[str, Schema] = {
    "template": {"type": ["object", "string", "null"]},
    "template_url": _MAYBE,
    "environment": {"type": ["object", "string", "null"]},
    "environment_files": {"type": ["array", "null"], "items": _TEXT},
    "parameters": {"type": ["object", "null"]},
    "files": {"type": ["object", "null"], "additionalProperties": _TEXT},
    "files_container": _MAYBE,
}
_STACK_FIELDS: dict[str, Schema] = {
    **_TEMPLATE_FIELDS,
    "timeout_mins": {"type": ["integer", "string", "null"]},
    "disable_rollback": _JSON_FLAG,
    "tags": _MAYBE,
}

_MAYBE_MAP: Schema = {"type": ["object", "null"]}
_PORTS: Schema = {"type": ["array", "null"], "items": _object(name={**_TEXT, "minLength": 1})}
_DEPLOYMENT_FIELDS: dict[str, Schema] = {
    "input_values": _MAYBE_MAP,
    "action": _MAYBE,
    "status": _MAYBE,
    "status_reason": _MAYBE,
}

BODIES: Mapping[str, Schema] = {
    **openapi_drift.BODIES,
    "software_config": _object(
        {
            "name": _MAYBE,
            "group": _MAYBE,
            "config": _ANY,
            "inputs": _PORTS,
            "outputs": _PORTS,
            "options": _MAYBE_MAP,
        }
    ),
    "software_deployment": _object(
        {**_DEPLOYMENT_FIELDS, "stack_user_project_id": _MAYBE},
        config_id=_TEXT,
        server_id={**_TEXT, "minLength": 1},
    ),
    "deployment_update": _object(
        {**_DEPLOYMENT_FIELDS, "config_id": _MAYBE, "output_values": _MAYBE_MAP}
    ),
    "template": _object(_TEMPLATE_FIELDS),
    **openapi_service.BODIES,
    "create": _object(
        {**_STACK_FIELDS, "adopt_stack_data": {"type": ["object", "string", "null"]}},
        stack_name=_TEXT,
    ),
    "update": _object({**_STACK_FIELDS, "converge": _JSON_FLAG, "stack_name": _ANY}),
    "patch": _object(
        {
            **_STACK_FIELDS,
            "converge": _JSON_FLAG,
            "stack_name": _ANY,
            "clear_parameters": _list(_TEXT),
        }
    ),
    "plan": _object(
        {
            **_STACK_FIELDS,
            "converge": _JSON_FLAG,
            "stack_name": _ANY,
            "clear_parameters": _list(_TEXT),
            **openapi_plans.BODY_FIELDS,
        }
    ),
    "action": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"enum": list(ACTIONS)},
    },
    "signal": _MAP,
    "snapshot": _object({"name": _MAYBE}),
    "mark_unhealthy": {
        **_object({"resource_status_reason": _MAYBE}, mark_unhealthy=_JSON_FLAG),
        "additionalProperties": False,
    },
}

_STACK_ITEM = _object(
    {"project": _TEXT},
    id=_TEXT,
    links=_LINKS,
    stack_name=_TEXT,
    description=_TEXT,
    stack_status=_TEXT,
    stack_status_reason=_TEXT,
    creation_time=_MAYBE,
    updated_time=_MAYBE,
    deletion_time=_MAYBE,
    stack_owner=_MAYBE,
    parent=_MAYBE,
    stack_user_project_id=_MAYBE,
    tags={"type": ["array", "null"], "items": _TEXT},
)
_SHOWN_STACK: dict[str, Schema] = {
    "id": _TEXT,
    "links": _LINKS,
    "stack_name": _TEXT,
    "creation_time": _MAYBE,
    "updated_time": _MAYBE,
    "deletion_time": _MAYBE,
    "notification_topics": _list(_ANY),
    "parameters": _MAP,
    "description": _TEXT,
    "template_description": _TEXT,
    "capabilities": _list(_ANY),
    "disable_rollback": {"type": "boolean"},
    "timeout_mins": _MAYBE_COUNT,
    "stack_owner": _MAYBE,
    "parent": _MAYBE,
    "stack_user_project_id": _MAYBE,
    "tags": _list(_TEXT),
}
_OUTPUT = _object({"output_error": _TEXT}, output_key=_TEXT, description=_TEXT, output_value=_ANY)
_RESOURCE: dict[str, Schema] = {
    "links": _LINKS,
    "resource_name": _TEXT,
    "logical_resource_id": _TEXT,
    "physical_resource_id": _TEXT,
    "resource_type": _TEXT,
    "resource_status": _TEXT,
    "resource_status_reason": _TEXT,
    "creation_time": _MAYBE,
    "updated_time": _MAYBE,
    "required_by": _list(_TEXT),
    "drift_status": openapi_drift.DRIFT_STATUS,
    "observed_at": _MAYBE,
}
_EVENT: dict[str, Schema] = {
    "id": _TEXT,
    "links": _LINKS,
    "event_time": _MAYBE,
    "resource_name": _TEXT,
    "logical_resource_id": _TEXT,
    "resource_status": _TEXT,
    "resource_status_reason": _TEXT,
    "physical_resource_id": _MAYBE,
}
_SNAPSHOT = _object(
    id=_TEXT,
    name=_MAYBE,
    action=_MAYBE,
    status=_TEXT,
    status_reason=_MAYBE,
    data={"type": ["object", "null"]},
    creation_time=_MAYBE,
)
_REVISION = _object(revision=_TEXT)
_RAW_LIST = _list(_MAP)

_CONFIG_ITEM: dict[str, Schema] = {
    "id": _TEXT,
    "name": _TEXT,
    "group": _TEXT,
    "creation_time": _MAYBE,
}
_CONFIG = _object(**_CONFIG_ITEM, config=_ANY, inputs=_RAW_LIST, outputs=_RAW_LIST, options=_MAP)
_DEPLOYMENT = _object(
    {"updated_time": _TEXT},
    id=_TEXT,
    server_id=_TEXT,
    config_id=_TEXT,
    input_values=_MAP,
    output_values={"type": ["object", "null"]},
    action=_TEXT,
    status=_TEXT,
    status_reason=_TEXT,
    creation_time=_MAYBE,
)

RESPONSES: Mapping[str, Schema] = {
    "software_configs": _object(
        software_configs=_list(_object({"project": _TEXT}, **_CONFIG_ITEM))
    ),
    "software_config": _object(software_config=_CONFIG),
    "software_deployments": _object(software_deployments=_list(_DEPLOYMENT)),
    "software_deployment": _object(software_deployment=_DEPLOYMENT),
    "deployment_metadata": _object(metadata=_list(_CONFIG)),
    "map": _MAP,
    "null": {"type": "null"},
    "validate": _object(
        {"ParameterGroups": _list(_ANY), "NestedParameters": _MAP},
        Description=_TEXT,
        Parameters=_MAP,
        Environment=_MAP,
    ),
    "resource_types": _object(resource_types=_list(_ANY)),
    "resource_schema": _object(
        resource_type=_TEXT, properties=_MAP, attributes=_MAP, support_status=_MAP
    ),
    "template_versions": _object(
        template_versions=_list(_object(version=_TEXT, type=_TEXT, aliases=_list(_TEXT)))
    ),
    "template_functions": _object(
        template_functions=_list(_object(functions=_TEXT, description=_TEXT))
    ),
    "stack_list": _object(
        {"links": _LINKS, "count": _COUNT, "changes_marker": _TEXT}, stacks=_list(_STACK_ITEM)
    ),
    "stack_detail": _object(stacks=_list(_STACK_ITEM)),
    "stack_create": _object(stack=_object(id=_TEXT, links=_LINKS)),
    "stack_preview": _object(
        {"plan": _RAW_LIST}, stack=_object(**_SHOWN_STACK, resources=_RAW_LIST)
    ),
    "stack_show": _object(
        stack=_object(
            {"outputs": _list(_OUTPUT)},
            **_SHOWN_STACK,
            stack_status=_TEXT,
            stack_status_reason=_TEXT,
            drift_status=openapi_drift.DRIFT_STATUS,
        )
    ),
    **openapi_drift.RESPONSES,
    **openapi_progress.RESPONSES,
    **openapi_quarantine.RESPONSES,
    **openapi_service.RESPONSES,
    **openapi_plans.RESPONSES,
    "update_preview": _object(
        {"plan": _RAW_LIST},
        resource_changes=_object(
            unchanged=_RAW_LIST,
            updated=_RAW_LIST,
            replaced=_RAW_LIST,
            added=_RAW_LIST,
            deleted=_RAW_LIST,
        ),
    ),
    "environment": _object(
        parameters=_MAP,
        resource_registry=_MAP,
        parameter_defaults=_MAP,
        event_sinks=_list(_ANY),
        encrypted_param_names=_list(_TEXT),
    ),
    "output_list": _object(outputs=_list(_object(output_key=_TEXT, description=_TEXT))),
    "output_show": _object(output=_OUTPUT),
    "resource_list": _object(
        resources=_list(
            _object(
                {"parent_resource": _TEXT, "description": _TEXT, "attributes": _MAP}, **_RESOURCE
            )
        )
    ),
    "resource_show": _object(
        resource=_object(
            {"parent_resource": _TEXT},
            **_RESOURCE,
            description=_TEXT,
            attributes=_MAP,
            waiting=openapi_progress.WAITING,
        )
    ),
    "abandon": _object(
        name=_TEXT,
        id=_TEXT,
        action=_TEXT,
        status=_TEXT,
        environment=_MAP,
        files=_MAP,
        template=_MAP,
        resources=_MAP,
        project_id=_TEXT,
        stack_user_project_id=_MAYBE,
        tags=_list(_TEXT),
    ),
    "snapshot": _SNAPSHOT,
    "snapshot_show": _object(snapshot=_SNAPSHOT),
    "snapshots": _object(snapshots=_list(_SNAPSHOT)),
    "metadata": _object(metadata=_MAP),
    "event_list": _object(events=_list(_object(**_EVENT))),
    "event_show": _object(event=_object(**_EVENT, resource_type=_TEXT, resource_properties=_MAP)),
    "build_info": _object(api=_REVISION, engine=_REVISION),
    "services": _object(services=_list(_MAP)),
}
