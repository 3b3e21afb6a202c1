"""The routes of a stack's snapshots, outputs and actions."""

from __future__ import annotations

from heat_convergence.api.routes.route import STACK_PATH, Route

STACK_PART_ROUTES = [
    Route(
        "POST",
        STACK_PATH + "/snapshots",
        "snapshots.create",
        "stacks:snapshot",
        body_schema="snapshot",
        response_schema="snapshot",
    ),
    Route(
        "GET",
        STACK_PATH + "/snapshots",
        "snapshots.index",
        "stacks:list_snapshots",
        response_schema="snapshots",
    ),
    Route(
        "GET",
        STACK_PATH + "/snapshots/{snapshot_id}",
        "snapshots.show",
        "stacks:show_snapshot",
        response_schema="snapshot_show",
    ),
    Route(
        "DELETE",
        STACK_PATH + "/snapshots/{snapshot_id}",
        "snapshots.delete",
        "stacks:delete_snapshot",
        204,
        response_schema="empty",
    ),
    Route(
        "POST",
        STACK_PATH + "/snapshots/{snapshot_id}/restore",
        "snapshots.restore",
        "stacks:restore_snapshot",
        202,
        response_schema="text",
    ),
    Route(
        "GET",
        STACK_PATH + "/outputs",
        "outputs.index",
        "stacks:list_outputs",
        response_schema="output_list",
    ),
    Route(
        "GET",
        STACK_PATH + "/outputs/{output_key}",
        "outputs.show",
        "stacks:show_output",
        response_schema="output_show",
    ),
    Route(
        "GET",
        STACK_PATH + "/progress",
        "progress.show",
        "stacks:show_progress",
        query_schema="progress",
        response_schema="progress",
    ),
    Route(
        "GET",
        STACK_PATH + "/drift",
        "drift.show",
        "drift:show",
        query_schema="stack_drift",
        response_schema="stack_drift",
    ),
    Route(
        "GET",
        STACK_PATH + "/drift/policy",
        "drift.show_policy",
        "drift:show_policy",
        response_schema="drift_policy",
    ),
    Route(
        "PUT",
        STACK_PATH + "/drift/policy",
        "drift.update_policy",
        "drift:update_policy",
        body_schema="drift_policy",
        response_schema="drift_policy",
    ),
    Route(
        "GET",
        STACK_PATH + "/drift/repairs",
        "drift.list_repairs",
        "drift:list_repairs",
        response_schema="drift_repairs",
    ),
    Route(
        "DELETE",
        STACK_PATH + "/drift/repairs",
        "drift.resume_repairs",
        "drift:resume_repairs",
        204,
        response_schema="empty",
    ),
    Route(
        "POST",
        STACK_PATH + "/actions",
        "stack_actions.action",
        None,
        body_schema="action",
        response_schema="action",
    ),
]
