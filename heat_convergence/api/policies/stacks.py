"""Rules of stacks and of the actions on them.

Registered through ``rules``; a table, and nothing else.
Source: heat-facts/policies.json.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import (
    ALLOW_EVERYBODY,
    DENY_EVERYBODY,
    MEMBER,
    READER,
    READER_OR_STACK_USER,
    Rule,
    defaults,
)

_RULES = (
    Rule("actions:action", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("actions:snapshot", MEMBER,
         method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("actions:suspend", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("actions:resume", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("actions:check", READER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("actions:cancel_update", MEMBER,
         method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("actions:cancel_without_rollback", MEMBER,
         method="POST", path="/stacks/{stack_name}/{stack_id}/actions"),
    Rule("stacks:abandon", MEMBER,
         method="DELETE", path="/stacks/{stack_name}/{stack_id}/abandon"),
    Rule("stacks:create", MEMBER, method="POST", path="/stacks"),
    Rule("stacks:delete", MEMBER, method="DELETE", path="/stacks/{stack_name}/{stack_id}"),
    Rule("stacks:detail", READER, method="GET", path="/stacks"),
    Rule("stacks:export", MEMBER, method="GET", path="/stacks/{stack_name}/{stack_id}/export"),
    Rule("stacks:generate_template", MEMBER,
         method="GET", path="/stacks/{stack_name}/{stack_id}/template"),
    Rule("stacks:index", READER, method="GET", path="/stacks"),
    Rule("stacks:list_resource_types", READER, method="GET", path="/resource_types"),
    Rule("stacks:list_template_versions", READER, method="GET", path="/template_versions"),
    Rule("stacks:list_template_functions", READER,
         method="GET", path="/template_versions/{template_version}/functions"),
    Rule("stacks:lookup", READER_OR_STACK_USER, ALLOW_EVERYBODY,
         method="GET", path="/stacks/{stack_identity}"),
    Rule("stacks:preview", READER, method="POST", path="/stacks/preview"),
    Rule("stacks:resource_schema", READER, method="GET", path="/resource_types/{type_name}"),
    Rule("stacks:show", READER, method="GET", path="/stacks/{stack_identity}"),
    Rule("stacks:template", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/template"),
    Rule("stacks:environment", READER,
         method="GET", path="/stacks/{stack_name}/{stack_id}/environment"),
    Rule("stacks:files", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/files"),
    Rule("stacks:update", MEMBER, method="PUT", path="/stacks/{stack_name}/{stack_id}"),
    Rule("stacks:update_patch", MEMBER, method="PATCH", path="/stacks/{stack_name}/{stack_id}"),
    Rule("stacks:update_no_change", "rule:stacks:update_patch", None,
         method="PATCH", path="/stacks/{stack_name}/{stack_id}"),
    Rule("stacks:preview_update", MEMBER,
         method="PUT", path="/stacks/{stack_name}/{stack_id}/preview"),
    Rule("stacks:preview_update_patch", MEMBER,
         method="PATCH", path="/stacks/{stack_name}/{stack_id}/preview"),
    Rule("stacks:validate_template", MEMBER, method="POST", path="/validate"),
    Rule("stacks:snapshot", MEMBER,
         method="POST", path="/stacks/{stack_name}/{stack_id}/snapshots"),
    Rule("stacks:show_snapshot", READER,
         method="GET", path="/stacks/{stack_name}/{stack_id}/snapshots/{snapshot_id}"),
    Rule("stacks:delete_snapshot", MEMBER,
         method="DELETE", path="/stacks/{stack_name}/{stack_id}/snapshots/{snapshot_id}"),
    Rule("stacks:list_snapshots", READER,
         method="GET", path="/stacks/{stack_name}/{stack_id}/snapshots"),
    Rule("stacks:restore_snapshot", MEMBER,
         method="POST", path="/stacks/{stack_name}/{stack_id}/snapshots/{snapshot_id}/restore"),
    Rule("stacks:list_outputs", READER,
         method="GET", path="/stacks/{stack_name}/{stack_id}/outputs"),
    Rule("stacks:show_output", READER,
         method="GET", path="/stacks/{stack_name}/{stack_id}/outputs/{output_key}"),
)

# Asked beside the rule of the route, when a request is not for one project alone.
_GLOBAL = (
    policy.RuleDefault("stacks:global_index", DENY_EVERYBODY),
)


def list_rules() -> list[policy.RuleDefault]:
    return [*defaults(_RULES), *_GLOBAL]
