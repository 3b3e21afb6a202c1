"""The quarantine of a project: resources that could not be deleted with their stacks.

Called by the root controller. Asks no other service: observers delete what is quarantined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import webob

from heat_convergence.api.controllers.base import Controller, run_in_transaction
from heat_convergence.api.http import ApiRequest, empty_response, json_response
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.views.links import make_link, project_url
from heat_convergence.api.views.quarantine import format_quarantined
from heat_convergence.convergence.lifecycle.quarantine.user_requests import (
    dismiss_quarantined,
    retry_quarantined,
)
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.quarantine.entry import QuarantineEntry

_Change = Callable[[Transaction, str, Collection[str], datetime], None]


class QuarantineController(Controller):
    """The handlers of the quarantine."""

    def index(self, request: ApiRequest) -> webob.Response:
        """List the resources in quarantine of a project, a page at a time."""
        query = QueryParams(request.GET)
        query.reject_unknown({"limit", "marker"})
        limit = query.non_negative_int("limit")
        with self.services.store.read() as tx:
            entries = tx.quarantine.list_by_project(
                request.project_id, limit, query.last("marker")
            )
            blockers = _find_blockers(tx, entries)
        body: dict[str, Any] = {
            "quarantine": [format_quarantined(each, blockers) for each in entries]
        }
        if limit and len(entries) == limit:
            url = project_url(request.base_url, request.project_id)
            page = urlencode({"limit": limit, "marker": entries[-1].resource_id})
            body["links"] = [make_link(f"{url}/quarantine?{page}", "next")]
        return json_response(body)

    def retry(self, request: ApiRequest, quarantined_id: str) -> webob.Response:
        """Have the deletion of a resource tried again at once."""
        self._change(request, quarantined_id, retry_quarantined)
        with self.services.store.read() as tx:
            entries = tx.quarantine.get([quarantined_id])
            blockers = _find_blockers(tx, entries)
        shown = [format_quarantined(each, blockers) for each in entries]
        return json_response({"quarantined": shown[0] if shown else None})

    def dismiss(self, request: ApiRequest, quarantined_id: str) -> webob.Response:
        """Remove a resource from quarantine, whatever is left of it."""
        self._change(request, quarantined_id, dismiss_quarantined)
        return empty_response()

    def _change(self, request: ApiRequest, quarantined_id: str, change: _Change) -> None:
        now = self.services.clock()
        ids, project_id = [quarantined_id], request.project_id
        run_in_transaction(self.services, lambda tx: change(tx, project_id, ids, now))


def _find_blockers(tx: Transaction, entries: Collection[QuarantineEntry]) -> frozenset[str]:
    awaited = {key for each in entries for key in each.waits_for}
    return tx.quarantine.find_blockers({each.root_id for each in entries}, awaited)
