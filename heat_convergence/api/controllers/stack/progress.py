"""The progress of a stack: what its unfinished resources wait for, and its first failure.

Called by the root controller.  Reads only; the number of statements does not depend on the
number of resources.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, get_stack
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.views import progress as view
from heat_convergence.db.reads import stacks, waiting
from heat_convergence.stacks.reads.waiting import WaitingReader, without_worker

_DEFAULT_LIMIT = 100
_MAX_LIMIT = 1000


class ProgressController(Controller):
    """The handler of progress."""

    def show(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show what a stack and its nested stacks wait for, and to administrators the workers."""
        query = QueryParams(request.GET)
        query.reject_unknown({"limit"})
        requested = query.non_negative_int("limit")
        limit = _DEFAULT_LIMIT if requested is None else min(requested, _MAX_LIMIT)
        services = self.services
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            levels = self.options.max_nested_stack_depth
            tree = {each.id: each for each, _depth in stacks.get_tree(conn, stack.id, levels)}
            counts = waiting.count_jobs(conn, tree.keys())
            reader = WaitingReader(
                conn, stack.project_id, services.clock(), services.settings.retry_limit
            )
            explained = reader.explain_stacks(list(tree), limit)
        if not request.caller.is_cloud_admin:
            explained = [without_worker(each) for each in explained]
        return json_response({"progress": view.format_progress(stack, tree, counts, explained)})
