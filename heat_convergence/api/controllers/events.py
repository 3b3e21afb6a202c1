"""Events of a stack, of its tree, of one resource; one event.

Called by the root controller.  Reads only.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, named_stack
from heat_convergence.api.requests.listing import event_page
from heat_convergence.api.requests.words import Query
from heat_convergence.api.views import events as view
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.db.reads import events, stacks


class EventsController(Controller):
    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        query = Query(request.GET)
        at = event_page(query)
        depth = query.whole("nested_depth") or 0
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            known, root = {stack.id: stack}, None
            if depth > 0:
                root = stacks.root_of(conn, stack)
                levels = min(depth, self.options.max_nested_stack_depth)
                known |= {s.id: s for s, _level in stacks.tree(conn, stack.id, levels)}
            found = events.page(conn, known.keys(), at)
        base_url = request.base_url
        items = [view.item(event, known[event.stack_id], base_url, root) for event in found]
        return json_answer({"events": items})

    def of_resource(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        at = event_page(Query(request.GET), resource_name)
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            found = events.page(conn, [stack.id], at)
        if not found:
            raise errors.EntityNotFound("Event", resource_name)
        items = [view.item(event, stack, request.base_url) for event in found]
        return json_answer({"events": items})

    def show(
        self,
        request: ApiRequest,
        stack_name: str,
        stack_id: str,
        resource_name: str,
        event_id: str,
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            event = events.get(conn, stack.id, event_id)
        if event is None or event.resource_name != resource_name:
            raise errors.EntityNotFound("Event", event_id)
        return json_answer({"event": view.shown(event, stack, request.base_url)})
