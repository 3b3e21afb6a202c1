"""Rules of stacks and of the actions on them.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import (
    ALLOW_EVERYBODY,
    DENY_EVERYBODY,
    MEMBER,
    READER,
    READER_OR_STACK_USER,
    PolicyRule,
    rule_defaults,
)

_RULES = (
    PolicyRule(
        "actions:action", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"
    ),
    PolicyRule(
        "actions:snapshot", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"
    ),
    PolicyRule(
        "actions:suspend", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"
    ),
    PolicyRule(
        "actions:resume", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"
    ),
    PolicyRule(
        "actions:check", READER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"
    ),
    PolicyRule(
        "actions:repair", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/actions"
    ),
    PolicyRule(
        "actions:cancel_update",
        MEMBER,
        method="POST",
        path="/stacks/{stack_name}/{stack_id}/actions",
    ),
    PolicyRule(
        "actions:cancel_without_rollback",
        MEMBER,
        method="POST",
        path="/stacks/{stack_name}/{stack_id}/actions",
    ),
    PolicyRule(
        "stacks:abandon", MEMBER, method="DELETE", path="/stacks/{stack_name}/{stack_id}/abandon"
    ),
    PolicyRule("stacks:create", MEMBER, method="POST", path="/stacks"),
    PolicyRule("stacks:delete", MEMBER, method="DELETE", path="/stacks/{stack_name}/{stack_id}"),
    PolicyRule("stacks:detail", READER, method="GET", path="/stacks"),
    PolicyRule(
        "stacks:export", MEMBER, method="GET", path="/stacks/{stack_name}/{stack_id}/export"
    ),
    PolicyRule(
        "stacks:generate_template",
        MEMBER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/template",
    ),
    PolicyRule("stacks:index", READER, method="GET", path="/stacks"),
    PolicyRule("stacks:list_resource_types", READER, method="GET", path="/resource_types"),
    PolicyRule("stacks:list_template_versions", READER, method="GET", path="/template_versions"),
    PolicyRule(
        "stacks:list_template_functions",
        READER,
        method="GET",
        path="/template_versions/{template_version}/functions",
    ),
    PolicyRule(
        "stacks:lookup",
        READER_OR_STACK_USER,
        ALLOW_EVERYBODY,
        method="GET",
        path="/stacks/{stack_identity}",
    ),
    PolicyRule("stacks:preview", READER, method="POST", path="/stacks/preview"),
    PolicyRule("stacks:resource_schema", READER, method="GET", path="/resource_types/{type_name}"),
    PolicyRule("stacks:show", READER, method="GET", path="/stacks/{stack_identity}"),
    PolicyRule(
        "stacks:template", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/template"
    ),
    PolicyRule(
        "stacks:environment",
        READER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/environment",
    ),
    PolicyRule("stacks:files", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/files"),
    PolicyRule("stacks:update", MEMBER, method="PUT", path="/stacks/{stack_name}/{stack_id}"),
    PolicyRule(
        "stacks:update_patch", MEMBER, method="PATCH", path="/stacks/{stack_name}/{stack_id}"
    ),
    PolicyRule(
        "stacks:update_no_change",
        "rule:stacks:update_patch",
        None,
        method="PATCH",
        path="/stacks/{stack_name}/{stack_id}",
    ),
    PolicyRule(
        "stacks:preview_update",
        MEMBER,
        method="PUT",
        path="/stacks/{stack_name}/{stack_id}/preview",
    ),
    PolicyRule(
        "stacks:preview_update_patch",
        MEMBER,
        method="PATCH",
        path="/stacks/{stack_name}/{stack_id}/preview",
    ),
    PolicyRule("stacks:validate_template", MEMBER, method="POST", path="/validate"),
    PolicyRule("stacks:lint_template", MEMBER, method="POST", path="/lint"),
    PolicyRule("stacks:template_schema", READER, method="GET", path="/template_schema"),
    PolicyRule(
        "stacks:snapshot", MEMBER, method="POST", path="/stacks/{stack_name}/{stack_id}/snapshots"
    ),
    PolicyRule(
        "stacks:show_snapshot",
        READER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/snapshots/{snapshot_id}",
    ),
    PolicyRule(
        "stacks:delete_snapshot",
        MEMBER,
        method="DELETE",
        path="/stacks/{stack_name}/{stack_id}/snapshots/{snapshot_id}",
    ),
    PolicyRule(
        "stacks:list_snapshots",
        READER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/snapshots",
    ),
    PolicyRule(
        "stacks:restore_snapshot",
        MEMBER,
        method="POST",
        path="/stacks/{stack_name}/{stack_id}/snapshots/{snapshot_id}/restore",
    ),
    PolicyRule(
        "stacks:list_outputs", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/outputs"
    ),
    PolicyRule(
        "stacks:show_output",
        READER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/outputs/{output_key}",
    ),
    PolicyRule(
        "stacks:show_progress",
        READER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/progress",
    ),
    PolicyRule(
        "stacks:show_timeline",
        READER,
        method="GET",
        path="/stacks/{stack_name}/{stack_id}/timeline",
    ),
)

# Asked beside the rule of the route, when a request is not for one project alone.
_GLOBAL = (policy.RuleDefault("stacks:global_index", DENY_EVERYBODY),)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return [*rule_defaults(_RULES), *_GLOBAL]
