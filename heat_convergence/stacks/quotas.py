"""Quotas, names and states that a request is checked against.

Called by the controllers that write and preview, and by the builder of root stacks.
Raises the errors that Heat's clients expect; must not write anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.reads import stacks
from heat_convergence.stacks.services import StackOptions
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition

_MAX_NAME = 255
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,254}")


def check_new_stack(conn: Any, stack: Stack, options: StackOptions, *, unlimited: bool) -> None:
    """Check the name and the number of stacks of the new stack's project.

    The unique key on names and ``check_stack_count`` have the last word when the rows are
    written.

    Args:
        conn: a connection to read from.
        stack: the stack to create.
        options: the limits.
        unlimited: whether the project's quota is waived, as for a cloud administrator.

    Raises:
        StackExists: a stack of the project has the name.
        RequestLimitExceeded: the project has as many stacks as it may have.
    """
    count, name_exists = stacks.count_roots(conn, stack.project_id, stack.name)
    if name_exists:
        raise errors.StackExists(stack.name)
    limit = options.max_stacks_per_tenant
    if 0 <= limit <= count and not unlimited:
        raise _too_many_stacks(limit)


def check_stack_count(
    tx: Transaction, project_id: str, options: StackOptions, *, unlimited: bool
) -> None:
    """Check the number of stacks of a project that the transaction has added one to.

    Exact however many requests are at work: each waits for the others' transactions.

    Args:
        tx: the transaction, which takes no further lock.
        project_id: the project.
        options: the limits.
        unlimited: whether the project's quota is waived.

    Raises:
        RequestLimitExceeded: the project has more stacks than it may have.
    """
    limit = options.max_stacks_per_tenant
    if limit < 0 or unlimited:
        return
    tx.stacks.lock_quotas(project_id)
    if tx.stacks.count_roots(project_id) > limit:
        raise _too_many_stacks(limit)


def check_tree_size(tx: Transaction, parent: Resource, limit: int, growth: int) -> None:
    """Check the number of resources of a tree that the transaction has added some to.

    Exact however many stacks of the tree grow: each waits for the others' transactions, and
    counts what they have committed.

    Args:
        tx: the transaction, which takes no further lock.
        parent: the resource of the nested stack that the transaction has written.
        limit: of a whole tree; negative for no limit.
        growth: number of resources that the nested stack has more than before. One that does
            not grow may be in a tree that is larger than a limit that was lowered.

    Raises:
        RequestLimitExceeded: the tree has more resources than it may have.
    """
    if limit < 0 or growth <= 0:
        return
    tx.stacks.lock_quotas(parent.identity.project_id)
    count = tx.tree.count_resources(parent.identity.root_id)
    if count > limit:
        raise errors.RequestLimitExceeded(
            f"Maximum resources per stack exceeded: {count}, {limit} are allowed",
            path=f"resources.{parent.name}",
        )


def check_updated_tree(tx: Transaction, started: StartedTraversal, options: StackOptions) -> None:
    """Check the number of resources of a tree of which a request has changed a stack.

    The request's templates do not tell it: signals have scaled groups, and the stack may be
    nested. Nested stacks count with the resources that they have: those that the update lets
    shrink do so later, in jobs that may fail.

    Args:
        tx: the transaction, which takes no further lock.
        started: the traversal that it has started.
        options: the limits.

    Raises:
        RequestLimitExceeded: the stack has grown, and the tree has more resources than it may
            have.
    """
    if options.max_resources_per_stack < 0 or started.growth <= 0:
        return
    tx.stacks.lock_quotas(started.stack.project_id)
    check_resource_count(tx.tree.count_resources(started.stack.tree_id), options)


def _too_many_stacks(limit: int) -> errors.RequestLimitExceeded:
    return errors.RequestLimitExceeded(
        f"Request limit exceeded: You have reached the maximum stacks per project, {limit}."
        " Please delete some stacks."
    )


def max_snapshots(options: StackOptions, *, unlimited: bool) -> int | None:
    """Return how many snapshots a stack may have, None for any number."""
    limit = options.max_snapshots_per_stack
    return None if limit < 0 or unlimited else limit


def check_software_quota(count: int, limit: int, noun: str, *, unlimited: bool) -> None:
    """Check the number of software configs or deployments that a project has already.

    Args:
        count: how many there are.
        limit: how many there may be; negative for no limit.
        noun: the plural for the message.
        unlimited: whether the project's quota is waived.

    Raises:
        RequestLimitExceeded: there may not be another one.
    """
    if 0 <= limit <= count and not unlimited:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: You have reached the maximum {noun} per project, {limit}."
            f" Please delete some {noun}."
        )


def check_stack_name(name: str) -> None:
    """Raise ``StackValidationFailed`` for a name that no stack may have."""
    if not _NAME.fullmatch(name):
        raise errors.StackValidationFailed(
            f'Invalid stack name {name} must contain only alphanumeric or "_-." characters,'
            " must start with alpha and must be 255 characters or less."
        )


def check_resource_count(count: int, options: StackOptions) -> None:
    """Raise ``RequestLimitExceeded`` for more resources than a tree of stacks may have."""
    limit = options.max_resources_per_stack
    if 0 <= limit < count:
        raise errors.RequestLimitExceeded(
            f"Request limit exceeded: Maximum resources per stack exceeded:"
            f" {count}, {limit} are allowed."
        )


def check_name_lengths(definitions: Mapping[str, ResourceDefinition]) -> None:
    """Raise ``StackValidationFailed`` for names and types too long for their columns."""
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
    """Raise ``NotSupported`` for a stack whose last action forbids updates."""
    if stack.action is Action.SUSPEND:
        raise errors.NotSupported("Updating a stack when it is suspended is not supported.")
    if stack.action is Action.DELETE:
        raise errors.NotSupported(
            f"Updating a stack in state {stack.action}_{stack.status} is not supported."
        )
