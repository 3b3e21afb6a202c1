"""Stacks as clients read them: in lists, alone, and after their creation.

Pure functions of rows and the base URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.api.views.formats import format_status, format_time
from heat_convergence.api.views.links import make_link, stack_path_url, stack_url
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.stack_summaries import StackSummary

Json = Any


def format_stack_summary(
    stack: StackSummary, base_url: str, *, with_project: bool = False
) -> dict[str, Json]:
    """Return a stack as lists show it; ``with_project`` for administrators."""
    url = stack_path_url(base_url, stack.project_id, stack.name, stack.id)
    item = {
        "id": stack.id,
        "links": [make_link(url, "self")],
        "stack_name": stack.name,
        "description": "",
        "stack_status": format_status(stack.action, stack.status),
        "stack_status_reason": stack.status_reason,
        "creation_time": format_time(stack.created_at),
        "updated_time": format_time(stack.updated_at),
        "deletion_time": format_time(stack.deleted_at),
        "stack_owner": stack.username,
        "parent": stack.owner_id,
        "stack_user_project_id": None,
        "tags": list(stack.tags) or None,
    }
    if with_project:
        item["project"] = stack.project_id
    return item


def format_created_stack(stack: Stack, base_url: str) -> dict[str, Json]:
    """Return the response to a create."""
    return {"stack": {"id": stack.id, "links": [make_link(stack_url(base_url, stack), "self")]}}


def format_stack(
    stack: Stack, base_url: str, *, description: str, parameters: Mapping[str, str]
) -> dict[str, Json]:
    """Return a stack without status and outputs, which a preview does not have."""
    described = description or "No description"
    return {
        "id": stack.id,
        "links": [make_link(stack_url(base_url, stack), "self")],
        "stack_name": stack.name,
        "creation_time": format_time(stack.created_at),
        "updated_time": format_time(stack.updated_at),
        "deletion_time": format_time(stack.deleted_at),
        "notification_topics": [],
        "parameters": dict(parameters),
        "description": described,
        "template_description": described,
        "capabilities": [],
        "disable_rollback": stack.disable_rollback,
        "timeout_mins": stack.timeout_mins,
        "stack_owner": stack.username,
        "parent": stack.owner_id,
        "stack_user_project_id": None,
        "tags": list(stack.tags),
    }


def format_stack_status(stack: Stack) -> dict[str, Json]:
    """Return the status of a stack."""
    return {
        "stack_status": format_status(stack.action, stack.status),
        "stack_status_reason": stack.status_reason,
    }
