"""The timeline of a traversal: what has happened to each resource when, and why.

Called by the root controller.  Reads only.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, get_stack
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.views.timelines.document import format_timeline
from heat_convergence.api.views.timelines.trace import format_trace
from heat_convergence.common import errors
from heat_convergence.stacks.reads.timeline_estimate import estimate_remaining
from heat_convergence.stacks.reads.timelines import TimelineReader
from heat_convergence.stacks.reads.waiting import WaitingReader

_DEFAULT_LIMIT = 1000
_MAX_LIMIT = 10_000
_WAITING_SHOWN = 20
_FORMATS = ("json", "chrome")


class TimelineController(Controller):
    """The handler of timelines."""

    def show(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the newest traversal, or the one that the query names."""
        query = QueryParams(request.GET)
        query.reject_unknown({"version", "nested_depth", "limit", "format"})
        shown_as = query.last("format") or "json"
        if shown_as not in _FORMATS:
            raise errors.HTTPBadRequest(f'"format" must be one of {", ".join(_FORMATS)}.')
        requested = query.non_negative_int("limit")
        limit = _DEFAULT_LIMIT if requested is None else min(requested, _MAX_LIMIT)
        depth = min(
            query.non_negative_int("nested_depth") or 0, self.options.max_nested_stack_depth
        )
        version, now = query.non_negative_int("version"), self.services.clock()
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            found = TimelineReader(conn, now, depth).read(stack, version)
            if shown_as == "chrome":
                return json_response(format_trace(stack, found.timeline))
            estimate = estimate_remaining(conn, stack.project_id, found)
            retry_limit = self.services.settings.retry_limit
            reader = WaitingReader(conn, stack.project_id, now, retry_limit)
            waiting = [] if estimate is None else reader.explain_stacks([stack.id], _WAITING_SHOWN)
        shown = format_timeline(stack, found, limit, estimate, waiting)
        return json_response({"timeline": shown})
