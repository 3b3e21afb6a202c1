"""Drift: the resources of a stack, or of a project, that others have changed, and its policy.

Called by the root controller.  Reads what the watch has recorded and stores what users set; asks
no other service.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_stack,
    get_undeleted_stack,
    may_read_secrets,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.drift import parse_confirmation, parse_control
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import drift as view
from heat_convergence.api.views.links import make_link, project_url
from heat_convergence.common.errors import EntityNotFound, InvalidRequestValue
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift import reads
from heat_convergence.db.reads import stacks
from heat_convergence.stacks.reads.unread_policies import REASON, list_unread

_SHOWN = frozenset(DriftStatus) - {DriftStatus.IN_SYNC, DriftStatus.NOT_CHECKED}


class DriftController(Controller):
    """The handlers of drift."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def show(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the drift of a stack and of the stacks below a root stack."""
        query = QueryParams(request.GET)
        query.reject_unknown({"status"})
        statuses = _parse_statuses(query)
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            counts = reads.count_by_status(conn, stack)
            entries = reads.list_by_tree(conn, stack, statuses)
            unread = list_unread(conn, stack, self.services.registry)
        shown = view.format_stack_drift(stack, counts, unread=len(unread))
        shows_secrets = may_read_secrets(request, self._enforcer)
        resources = [view.format_entry(each, shows_secrets=shows_secrets) for each in entries]
        if DriftStatus.UNKNOWN in statuses:
            resources += [view.format_unread(each, REASON) for each in unread]
        return json_response({"drift": {**shown, "resources": resources}})

    def show_policy(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the drift policy of a stack, and whether its repairs are paused."""
        stack = self._get_stack(request, stack_name, stack_id)
        control = self.services.store.watch.get_control(stack.id)
        return json_response({"drift_policy": view.format_control(control)})

    def update_policy(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Set the drift policy of a stack, pause its repairs, or let them go on."""
        stack = self._get_stack(request, stack_name, stack_id)
        values = parse_control(request.require_json_object())
        control = retry_transaction(
            partial(self.services.store.watch.change_control, stack.id, **values),
            wait=self.services.wait,
            tries=self.options.transaction_tries,
        )
        return json_response({"drift_policy": view.format_control(control)})

    def list_repairs(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """List the repairs that the service has started for resources of a stack's tree."""
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            names = self._names_of_tree(conn, stack)
        found = self.services.store.repairs.list_repairs(names)
        repairs = [view.format_repair(each, names[each.stack_id]) for each in found]
        return json_response({"repairs": repairs})

    def resume_repairs(
        self, request: ApiRequest, stack_name: str, stack_id: str
    ) -> webob.Response:
        """Forget the tries of a stack's tree, so that suspended repairs go on."""
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            names = self._names_of_tree(conn, stack)
        services = self.services
        resume = partial(
            services.store.repairs.resume, stack.project_id, list(names), services.clock()
        )
        retry_transaction(resume, wait=services.wait, tries=self.options.transaction_tries)
        return webob.Response(status=204)

    def list_breakers(self, request: ApiRequest) -> webob.Response:
        """List the suspected mass losses of a project."""
        found = self.services.store.watch.list_breakers(request.project_id)
        return json_response({"breakers": [view.format_breaker(each) for each in found]})

    def confirm_breakers(self, request: ApiRequest) -> webob.Response:
        """Confirm losses of a project, so that policies apply to what is missing."""
        ids = parse_confirmation(request.require_json_object())
        watch = self.services.store.watch
        confirm = partial(watch.confirm_breakers, request.project_id, ids)
        tries = self.options.transaction_tries
        found = retry_transaction(confirm, wait=self.services.wait, tries=tries)
        if found < len(ids):
            raise EntityNotFound("Breaker", ", ".join(sorted(ids)))
        return self.list_breakers(request)

    def _names_of_tree(self, conn: Any, stack: Stack) -> dict[str, str]:
        """Return the names of the stack and of those below it, by id."""
        tree = stacks.get_tree(conn, stack.id, self.options.max_nested_stack_depth)
        return {stack.id: stack.name, **{each.id: each.name for each, _depth in tree}}

    def _get_stack(self, request: ApiRequest, stack_name: str, stack_id: str) -> Stack:
        with self.database.read() as conn:
            return get_undeleted_stack(conn, request, stack_name, stack_id)

    def index(self, request: ApiRequest) -> webob.Response:
        """List the drifted resources of a project, a page at a time."""
        query = QueryParams(request.GET)
        query.reject_unknown({"status", "limit", "marker"})
        page = reads.DriftPage(
            _parse_statuses(query), query.non_negative_int("limit"), query.last("marker")
        )
        with self.database.read() as conn:
            entries, marker = reads.list_by_project(conn, request.project_id, page)
        shows_secrets = may_read_secrets(request, self._enforcer)
        resources = [
            {
                "resource_id": each.observation.resource_id,
                **view.format_entry(each, shows_secrets=shows_secrets),
            }
            for each in entries
        ]
        body: dict[str, Any] = {"resources": resources}
        if marker is not None:
            body["links"] = [make_link(_next_url(request, marker), "next")]
        return json_response(body)


def _next_url(request: ApiRequest, marker: str) -> str:
    """Return the same query for the page after the marker."""
    kept = [(name, value) for name, value in request.GET.items() if name != "marker"]
    query = urlencode([*kept, ("marker", marker)])
    return f"{project_url(request.base_url, request.project_id)}/drift?{query}"


def _parse_statuses(query: QueryParams) -> frozenset[DriftStatus]:
    """Return the statuses to show: those requested, else all that differ from the template.

    Raises:
        InvalidRequestValue: A status is not known.
    """
    names = query.values("status")
    unknown = sorted(set(names) - set(DriftStatus))
    if unknown:
        known = ", ".join(DriftStatus)
        raise InvalidRequestValue(f'"status" must be one of {known}, not "{unknown[0]}".')
    return frozenset(DriftStatus(name) for name in names) or _SHOWN
