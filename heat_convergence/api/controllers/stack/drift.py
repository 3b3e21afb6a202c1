"""Drift: the resources of a stack, or of a project, that others have changed.

Called by the root controller.  Reads what the watch has recorded; asks no other service.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, get_stack, may_read_secrets
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import drift as view
from heat_convergence.common.errors import InvalidRequestValue
from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.db.drift import reads

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
        shown = view.format_stack_drift(stack, counts)
        shows_secrets = may_read_secrets(request, self._enforcer)
        resources = [view.format_entry(each, shows_secrets=shows_secrets) for each in entries]
        return json_response({"drift": {**shown, "resources": resources}})

    def index(self, request: ApiRequest) -> webob.Response:
        """List the drifted resources of a project, a page at a time."""
        query = QueryParams(request.GET)
        query.reject_unknown({"status", "limit", "marker"})
        page = reads.DriftPage(
            _parse_statuses(query), query.non_negative_int("limit"), query.last("marker")
        )
        with self.database.read() as conn:
            entries = reads.list_by_project(conn, request.project_id, page)
        shows_secrets = may_read_secrets(request, self._enforcer)
        return json_response(
            {
                "resources": [
                    {
                        "resource_id": each.observation.resource_id,
                        **view.format_entry(each, shows_secrets=shows_secrets),
                    }
                    for each in entries
                ]
            }
        )


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
