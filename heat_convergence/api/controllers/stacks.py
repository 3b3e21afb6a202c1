"""Stacks: lists, one stack, and the texts it was made of.

Called by the root controller.  Reads only; the number of statements does not
depend on the number of resources.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import webob

from heat_convergence.api import stored
from heat_convergence.api.controllers.base import Controller, named_stack
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.requests.listing import stack_listing
from heat_convergence.api.requests.words import Query
from heat_convergence.api.services import ApiServices
from heat_convergence.api.stored import OutputReader
from heat_convergence.api.views import stacks as view
from heat_convergence.api.views.links import link, stacks_url
from heat_convergence.api.waiting import told_stacks
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common.errors import RowsContradict
from heat_convergence.convergence.model import Goal, Stack
from heat_convergence.db import goals, resources
from heat_convergence.db.reads import stacks
from heat_convergence.db.reads.stacks import StackFilter

Json = Any


class StacksController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def index(self, request: ApiRequest) -> webob.Response:
        query = Query(request.GET)
        asked = stack_listing(query, request.project_id, self.options.hidden_stack_tags)
        if asked.everywhere:
            self._enforcer.check(request, "stacks:global_index")
        with self.database.read() as conn:
            found = told_stacks(conn, stacks.page(conn, asked.which, asked.at))
            count = stacks.count(conn, asked.which) if asked.count else None
        answer = self._list(request, found)
        if asked.at.limit and len(found) == asked.at.limit:
            answer["links"] = [link(_next_url(request, found[-1].id), "next")]
        if count is not None:
            answer["count"] = count
        return json_answer(answer)

    def detail(self, request: ApiRequest) -> webob.Response:
        hidden = self.options.hidden_stack_tags
        which = StackFilter(request.project_id, not_tags_any=hidden)
        with self.database.read() as conn:
            found = told_stacks(conn, stacks.page(conn, which))
        return json_answer(self._list(request, found))

    def show(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        resolve = Query(request.GET).boolean("resolve_outputs", default=True)
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            (stack,) = told_stacks(conn, [stack])
            goal = goals.shown(conn, stack.goal_id)
            if goal is None:
                raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
            resolve = resolve and stack.deleted_at is None
            names = stored.drawn_on(goal, self.given.functions) if resolve else ()
            rows = resources.inputs(conn, stack.id, names)
        shown = self._shown(request, stack, goal)
        if resolve:
            reader = OutputReader(stack, rows, self.given)
            shown["outputs"] = reader.all(goal)
        return json_answer({"stack": shown})

    def template(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        with self.database.read() as conn:
            goal = self._goal(conn, request, stack_name, stack_id)
            text = goals.get_contents(conn, [goal.template_hash])[goal.template_hash]
        return json_answer(stored.template_map(text, self.given.limits))

    def environment(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        with self.database.read() as conn:
            goal = self._goal(conn, request, stack_name, stack_id)
        return json_answer(stored.shown_environment(goal))

    def files(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        with self.database.read() as conn:
            goal = self._goal(conn, request, stack_name, stack_id)
            texts = goals.get_contents(conn, set(goal.files.values()))
        return json_answer({name: texts[key] for name, key in sorted(goal.files.items())})

    def _list(self, request: ApiRequest, found: list[Stack]) -> dict[str, Json]:
        admin = request.caller.is_cloud_admin
        base_url = request.base_url
        return {"stacks": [view.list_item(s, base_url, with_project=admin) for s in found]}

    @staticmethod
    def _shown(request: ApiRequest, stack: Stack, goal: Goal) -> dict[str, Json]:
        shown = view.shown(
            stack,
            request.base_url,
            description=goal.description,
            parameters=goal.parameters,
        )
        return shown | view.status(stack)

    @staticmethod
    def _goal(conn: Any, request: ApiRequest, name: str, stack_id: str) -> Goal:
        stack = named_stack(conn, request, name, stack_id)
        goal = goals.get(conn, stack.goal_id)
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        return goal


def _next_url(request: ApiRequest, last_id: str) -> str:
    """The same query with the marker moved."""
    kept = [(name, value) for name, value in request.GET.items() if name != "marker"]
    query = urlencode([*kept, ("marker", last_id)])
    return f"{stacks_url(request.base_url, request.project_id)}?{query}"
