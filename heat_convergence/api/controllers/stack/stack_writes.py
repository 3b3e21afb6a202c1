"""The writes of stacks: create, update, patch and delete.

Called by the root controller.  Decides the order of checks and what an update keeps of
the earlier goal; answers as soon as the first jobs are handed to the bus.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    new_traversal_context,
    run_in_transaction,
    send_started,
)
from heat_convergence.api.controllers.new_stacks import NewStack, NewStackStorage
from heat_convergence.api.http import ApiRequest, empty_response, json_response, status_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.adopt_stack_data import merge_adopt_stack_data
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.stack_body import BodyPurpose, StackBody, parse_stack_body
from heat_convergence.api.services import ApiOptions, ApiServices
from heat_convergence.api.trust_delegation import (
    delegation_for_new_stack,
    renew_delegation,
    renew_delegation_if_possible,
)
from heat_convergence.api.views import stacks as view
from heat_convergence.api.views.links import stack_url
from heat_convergence.convergence.lifecycle import stack_actions, traversal
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.planning.goal_part import GoalPartOutdated
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.reads import resources
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import StackBuilder, StorableGoal
from heat_convergence.stacks.source.template_source import (
    StoredGoal,
    TemplateSource,
    TemplateSourceReader,
)

LOG = logging.getLogger(__name__)


class StackWritesController(Controller):
    """The handlers that create, change and delete stacks."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._builder = StackBuilder(services)
        self._new_stacks = NewStackStorage(services)

    def create(self, request: ApiRequest) -> webob.Response:
        """Create a stack, or adopt the resources of an abandoned one."""
        new = self._prepare_new(request)
        stack = new.stack
        self.services.lifecycle.before_operation(stack, stack.action)
        with delegation_for_new_stack(self.services, request, stack):
            started = self._new_stacks.store(new)
        send_started(self.services, started)
        response = json_response(view.format_created_stack(stack, request.base_url), 201)
        response.location = stack_url(request.base_url, stack)
        return response

    def _prepare_new(self, request: ApiRequest) -> NewStack:
        body = parse_stack_body(request.take_json_object(), BodyPurpose.CREATE)
        enabled = self.options.enable_stack_adopt
        body, adopted = merge_adopt_stack_data(body, self.services.limits, enabled=enabled)
        stack = stack_from_body(request, body, self.services)
        if adopted is not None:
            stack = replace(stack, action=Action.ADOPT)
        source = self._builder.sources.from_request(body, section_error=None)
        unlimited = request.caller.is_cloud_admin
        with self.database.read() as conn:
            quotas.check_new_stack(conn, stack, self.options, unlimited=unlimited)
        prepared = self._builder.prepare_new(
            source, stack, self._enforcer.type_forbidden_for(request)
        )
        return NewStack(stack, prepared.storable, unlimited, adopted)

    def update(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Replace the goal of a stack."""
        return self._change(request, stack_name, stack_id, BodyPurpose.UPDATE)

    def patch(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Change parts of the goal of a stack."""
        return self._change(request, stack_name, stack_id, BodyPurpose.PATCH)

    def delete(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Delete a stack; ``skip`` names resources to leave alone.

        ``quarantine`` says whether what cannot be deleted is quarantined.
        """
        query = QueryParams(request.GET)
        skip = query.values("skip")
        quarantines = query.boolean("quarantine", default=self.options.quarantine_on_delete)
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
        self.services.lifecycle.before_operation(stack, Action.DELETE)
        renew_delegation_if_possible(self.services, request, stack)
        context = self.traversal_context()
        started = run_in_transaction(
            self.services,
            lambda tx: stack_actions.delete_stack(
                tx, stack.id, skip, context, quarantines=quarantines
            ),
        )
        send_started(self.services, started)
        return empty_response()

    def _change(
        self, request: ApiRequest, name: str, stack_id: str, purpose: BodyPurpose
    ) -> webob.Response:
        stack, update = self._prepare_change(request, name, stack_id, purpose)
        self.services.lifecycle.before_operation(stack, Action.UPDATE)
        renew_delegation(self.services, request, stack)
        try:
            started = self._start(update)
        except GoalPartOutdated as outdated:
            LOG.info(
                "update evaluated as a whole: stack=%(stack)s reason=%(reason)s",
                {"stack": stack.id, "reason": outdated},
            )
            started = self._start(update.whole())
        send_started(self.services, started)
        return status_response(request, 202)

    def _start(self, update: StackUpdate) -> StartedTraversal:
        return run_in_transaction(
            self.services, lambda tx: start_update(tx, self.services, update)
        )

    def _prepare_change(
        self, request: ApiRequest, name: str, stack_id: str, purpose: BodyPurpose
    ) -> tuple[Stack, StackUpdate]:
        """Return the stack as it is, and the update that the request asks for."""
        body = parse_stack_body(request.take_json_object(), purpose)
        if purpose is BodyPurpose.PATCH:
            rule = "stacks:update_no_change" if body.is_empty_patch else "stacks:update_patch"
            self._enforcer.enforce(request, rule)
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, name, stack_id)
            replaced_goal = load_replaced_goal(self._builder, conn, stack, purpose)
        quotas.check_updatable(stack)
        source = source_of_update(self._builder.sources, body, purpose, replaced_goal)
        values = stack_values_of_update(body, purpose)
        state_source = update_state_source(body, self.options)
        updated = replace(with_new_timeout(stack, values), goal_id=self.services.ids())
        base = UpdateBase(
            replaced_goal, lambda names: list_rows(self.services, stack, names), state_source
        )

        def prepare(base: UpdateBase) -> StorableGoal:
            forbidden = self._enforcer.type_forbidden_for(request)
            return self._builder.prepare_update(source, updated, forbidden, base).storable

        storable = prepare(replace(base, stored_stack=stack))
        prepare_whole = partial(prepare, base) if storable.part is not None else None
        return stack, StackUpdate(stack.id, storable, values, state_source, prepare_whole)


@dataclass(frozen=True, slots=True)
class StackUpdate:
    """An update that is ready to start.

    Attributes:
        values: columns of the stack that it sets beside the goal.
        prepare_whole: evaluates the whole goal, where ``storable`` has a part of it.
    """

    stack_id: str
    storable: StorableGoal
    values: Mapping[str, Any]
    state_source: StateSource
    prepare_whole: Callable[[], StorableGoal] | None = None

    def whole(self) -> StackUpdate:
        """Return the update with all resources of its goal."""
        if self.prepare_whole is None:
            return self
        return replace(self, storable=self.prepare_whole(), prepare_whole=None)


def start_update(tx: Transaction, services: ApiServices, update: StackUpdate) -> StartedTraversal:
    """Start the traversal of an update."""
    started = traversal.start_traversal(
        tx,
        traversal.TraversalRequest(
            stack_id=update.stack_id,
            action=Action.UPDATE,
            goal=update.storable.goal,
            desired_resources=update.storable.desired_resources,
            stack_values=update.values,
            state_source=update.state_source,
            part=update.storable.part,
            contents=update.storable.contents,
        ),
        new_traversal_context(services),
    )
    quotas.check_updated_tree(tx, started, services.options)
    return started


def update_state_source(body: StackBody, options: ApiOptions) -> StateSource:
    """Return whether an update observes what it leaves as it is."""
    observe = body.converge or options.observe_on_update
    return StateSource.OBSERVED if observe else StateSource.RECORDED


def stack_from_body(request: ApiRequest, body: StackBody, services: ApiServices) -> Stack:
    """Return the root stack that a body describes; it is stored nowhere yet."""
    return Stack(
        id=services.ids(),
        name=body.name,
        project_id=request.project_id,
        version=1,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        status_reason="",
        goal_id=services.ids(),
        created_at=services.clock(),
        username=request.caller.user_name,
        disable_rollback=True if body.disable_rollback is None else body.disable_rollback,
        timeout_mins=body.timeout_mins,
        tags=body.tags or (),
    )


def load_replaced_goal(
    builder: StackBuilder, conn: Any, stack: Stack, purpose: BodyPurpose
) -> StoredGoal | None:
    """Return the goal that an update replaces; only a PATCH needs its files."""
    if purpose is BodyPurpose.PATCH:
        return builder.load_goal(conn, stack)
    return builder.load_goal_without_files(conn, stack)


def list_rows(
    services: ApiServices, stack: Stack, names: Collection[str] | None
) -> Sequence[Resource]:
    """Return the rows of the stack's resources, or of some names, as planning takes them."""
    with services.database.read() as conn:
        return resources.list_planned(conn, stack.id, names)


def source_of_update(
    sources: TemplateSourceReader,
    body: StackBody,
    purpose: BodyPurpose,
    replaced_goal: StoredGoal | None,
) -> TemplateSource:
    """Return the source that an update or a PATCH leads to."""
    if purpose is BodyPurpose.PATCH and replaced_goal is not None:
        return sources.from_patch_request(body, replaced_goal)
    return sources.from_update_request(body)


def stack_values_of_update(body: StackBody, purpose: BodyPurpose) -> dict[str, Any]:
    """Return what an update sets beside the goal.

    Absent fields stay as they are, but a PUT without tags removes them.
    """
    values: dict[str, Any] = {}
    if body.timeout_mins is not None:
        values["timeout_mins"] = body.timeout_mins
    if body.disable_rollback is not None:
        values["disable_rollback"] = body.disable_rollback
    if body.tags is not None or purpose is BodyPurpose.UPDATE:
        values["tags"] = body.tags or ()
    return values


def with_new_timeout(stack: Stack, values: Mapping[str, Any]) -> Stack:
    """Return the stack with the timeout that an update sets, which its goal must fit in."""
    return replace(stack, timeout_mins=values.get("timeout_mins", stack.timeout_mins))
