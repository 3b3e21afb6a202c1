"""Names, quotas and states that a request is checked against before its template.

Called by the controllers that write and preview.  Raises what validation.md says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from heat_convergence.api.context import Caller
from heat_convergence.api.services import ApiOptions
from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads import stacks
from heat_convergence.db.reads.stacks import StackFilter
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition

_MAX_NAME = 255
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,254}")


def check_new_stack(conn: Any, stack: Stack, caller: Caller, options: ApiOptions) -> None:
    """``StackExists`` or ``RequestLimitExceeded``; a cloud's administrator has no
    quota.  The unique key on names has the last word when the rows are written."""
    mine = StackFilter(stack.project_id, matches={"name": [stack.name]})
    if stacks.count(conn, mine):
        raise errors.StackExists(stack.name)
    most = options.max_stacks_per_tenant
    if most < 0 or caller.is_cloud_admin:
        return
    if stacks.count(conn, StackFilter(stack.project_id)) >= most:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: You have reached the maximum stacks per project, {most}."
            " Please delete some stacks."
        )


def max_snapshots(caller: Caller, options: ApiOptions) -> int | None:
    """How many snapshots a stack may have; None: any number."""
    most = options.max_snapshots_per_stack
    return None if most < 0 or caller.is_cloud_admin else most


def check_software_quota(number: int, most: int, what: str, caller: Caller) -> None:
    """``number`` of them the project has already; negative ``most``: no limit."""
    if 0 <= most <= number and not caller.is_cloud_admin:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: You have reached the maximum {what} per project, {most}."
            f" Please delete some {what}."
        )


def check_stack_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise errors.StackValidationFailed(
            f'Invalid stack name "{name}": it begins with a letter and has at most 255 letters,'
            ' digits, "_", "." and "-".'
        )


def check_resource_count(number: int, options: ApiOptions) -> None:
    most = options.max_resources_per_stack
    if 0 <= most < number:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: Maximum resources per stack exceeded:"
            f" {number}, {most} are allowed."
        )


def check_name_lengths(definitions: Mapping[str, ResourceDefinition]) -> None:
    """Names and types must fit where they are stored."""
    for name, definition in definitions.items():
        if len(name) > _MAX_NAME:
            raise errors.StackValidationFailed(
                f"A resource name has at most {_MAX_NAME} characters.",
                path=f"resources.{name[:20]}...",
            )
        if len(definition.type) > _MAX_NAME:
            raise errors.StackValidationFailed(
                f"A resource type has at most {_MAX_NAME} characters.",
                path=f"resources.{name}.type",
            )


def check_updatable(stack: Stack) -> None:
    if stack.action in (Action.SUSPEND, Action.DELETE):
        raise errors.NotSupported(
            f"Updating a stack in state {stack.action}_{stack.status} is not supported."
        )
