"""Events of a stack, of its tree, of one resource; one event.

Called by the root controller.  Reads only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import webob

from heat_convergence.api.change_wait import MAX_WAIT_S, WAIT_KEY, ChangeWait, ChangeWatch
from heat_convergence.api.controllers.base import Controller, get_stack
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.list_queries import parse_event_list_query
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import events as view
from heat_convergence.common import errors
from heat_convergence.db.reads import events, stacks


class EventsController(Controller):
    """The handlers of events."""

    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self.watch = ChangeWatch(self._find_newest)

    def _find_newest(self, stack_ids: Collection[str]) -> Mapping[str, str]:
        with self.database.read() as conn:
            return events.find_newest_ids(conn, stack_ids)

    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """List the events of a stack, and of its tree with ``nested_depth``.

        With ``wait`` an empty list is answered when there are events, or after so many seconds.
        """
        query = QueryParams(request.GET)
        at = parse_event_list_query(query)
        depth = query.non_negative_int("nested_depth") or 0
        wait_s = min(query.non_negative_int("wait") or 0, MAX_WAIT_S)
        newest: dict[str, str] = {}
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            known, root = {stack.id: stack}, None
            if depth > 0:
                root = stacks.get_root(conn, stack)
                levels = min(depth, self.options.max_nested_stack_depth)
                known |= {s.id: s for s, _level in stacks.get_tree(conn, stack.id, levels)}
            if wait_s:  # read first, so that the watch notices what the list does not have
                ids = events.find_newest_ids(conn, known.keys())
                newest = {each: ids.get(each, "") for each in known}
            found = events.list_page(conn, known.keys(), at)
        wait: ChangeWait | None = request.environ.get(WAIT_KEY)
        if wait_s and not found and wait is not None:
            wait.hold(self.watch, newest, wait_s)
        base_url = request.base_url
        items = [
            view.format_event(event, known[event.stack_id], base_url, root) for event in found
        ]
        return json_response({"events": items})

    def resource_index(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        """List the events of a resource."""
        at = parse_event_list_query(QueryParams(request.GET), resource_name)
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            found = events.list_page(conn, [stack.id], at)
        if not found:
            raise errors.HTTPNotFound(f"No events found for resource {resource_name}")
        items = [view.format_event(event, stack, request.base_url) for event in found]
        return json_response({"events": items})

    def show(
        self,
        request: ApiRequest,
        stack_name: str,
        stack_id: str,
        resource_name: str,
        event_id: str,
    ) -> webob.Response:
        """Show an event."""
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            event = events.get(conn, stack.id, event_id)
        if event is None or event.resource_name != resource_name:
            raise errors.HTTPNotFound(f"No event {event_id} found")
        return json_response({"event": view.format_event_detail(event, stack, request.base_url)})
