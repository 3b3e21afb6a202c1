"""Stored plans: lists, one plan, and its deletion.

Called by the root controller. Executes nothing.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_stack,
    may_read_secrets,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import plans as view
from heat_convergence.common.errors import EntityNotFound, InvalidRequestValue
from heat_convergence.convergence.plans.stored_plan import PlannedEffect, StoredPlan
from heat_convergence.db.plans.repository import SqlPlanRepository, list_headers

_SUMMARY = "summary"


class PlansController(Controller):
    """The handlers of plans that are stored already."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def index(
        self, request: ApiRequest, stack_name: str = "", stack_id: str = ""
    ) -> webob.Response:
        """List the plans of a stack or of all stacks of the project, without resources."""
        QueryParams(request.GET).reject_unknown(set())
        with self.database.read() as conn:
            project_id = request.project_id
            if stack_id:
                project_id = get_stack(conn, request, stack_name, stack_id).project_id
            found = list_headers(conn, project_id, stack_id or None)
        now = self.services.clock()
        plans = [view.format_plan_header(each, now, request.base_url) for each in found]
        return json_response({"plans": plans})

    def show(
        self, request: ApiRequest, plan_id: str, stack_name: str = "", stack_id: str = ""
    ) -> webob.Response:
        """Show a plan: its summary, quotas and resources."""
        query = QueryParams(request.GET)
        query.reject_unknown({"detail", "change"})
        changes, summary_only = _parse_changes(query), _parse_detail(query)
        with self.database.read() as conn:
            plan = load_plan(conn, request, plan_id, stack_name, stack_id)
        now, shows_secrets = self.services.clock(), may_read_secrets(request, self._enforcer)
        if summary_only:
            return json_response({"plan": view.format_plan_header(plan, now, request.base_url)})
        shown = view.format_plan(plan, now, request.base_url, changes, shows_secrets=shows_secrets)
        return json_response({"plan": shown})

    def delete(
        self, request: ApiRequest, plan_id: str, stack_name: str = "", stack_id: str = ""
    ) -> webob.Response:
        """Delete a plan; nothing else changes."""
        with self.database.read() as conn:
            load_plan(conn, request, plan_id, stack_name, stack_id)
        run_in_transaction(self.services, lambda tx: tx.plans.delete(plan_id))
        return webob.Response(status=204)


def load_plan(
    conn: Any, request: ApiRequest, plan_id: str, stack_name: str, stack_id: str
) -> StoredPlan:
    """Return a plan of the caller's project.

    Args:
        conn: the connection.
        request: the request.
        plan_id: the plan.
        stack_name: that of the path; empty for a path without a stack.
        stack_id: as ``stack_name``.

    Raises:
        EntityNotFound: the caller has no such plan or stack, or the plan is of another stack.
    """
    if stack_id:
        get_stack(conn, request, stack_name, stack_id)
    plan = SqlPlanRepository(conn).get(plan_id)
    # RULE 12: a plan of another project does not exist for the caller, but for the cloud's
    # administrator in the path of its stack.
    if plan is None or not _is_in_path(request, plan, stack_id):
        raise EntityNotFound("Plan", plan_id)
    return plan


def _is_in_path(request: ApiRequest, plan: StoredPlan, stack_id: str) -> bool:
    """Return whether the plan is of the stack in the path, else of the project there."""
    return plan.stack_id == stack_id if stack_id else plan.project_id == request.project_id


def _parse_changes(query: QueryParams) -> frozenset[str]:
    names = frozenset(query.values("change"))
    unknown = sorted(names - set(PlannedEffect))
    if unknown:
        known = ", ".join(PlannedEffect)
        raise InvalidRequestValue(f'"change" must be one of {known}, not "{unknown[0]}".')
    return names


def _parse_detail(query: QueryParams) -> bool:
    """Return whether only the summary is requested."""
    detail = query.last("detail")
    if detail not in (None, _SUMMARY):
        raise InvalidRequestValue(f'"detail" must be "{_SUMMARY}", not "{detail}".')
    return detail == _SUMMARY
