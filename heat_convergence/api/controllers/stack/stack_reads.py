"""Stacks: lists, one stack, and the texts that it was made of.

Called by the root controller.  Reads only; the number of statements does not depend on
the number of resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import webob

from heat_convergence.api.controllers.base import Controller, get_stack
from heat_convergence.api.controllers.stack.stack_changes import StackChanges
from heat_convergence.api.controllers.stack.stack_lists import join_encoded, list_encoded
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.list_queries import parse_stack_list_query
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.stack_changes import parse_changes_query
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import stacks as view
from heat_convergence.api.views.links import make_link, stacks_url
from heat_convergence.common.failures import RowsContradict
from heat_convergence.common.stored_values import require_readable
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift import reads as drift_reads
from heat_convergence.db.reads import stacks
from heat_convergence.db.reads.stacks import StackFilter
from heat_convergence.db.reads.tree_templates import find_tree_templates
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.repositories.incarnations import SqlIncarnationRepository
from heat_convergence.db.statements import contents
from heat_convergence.stacks.reads import goal_view
from heat_convergence.stacks.reads.goal_view import OutputResolver
from heat_convergence.template.parameters.hidden_parameters import hidden_parameters_of_texts

Json = Any


class StackReadsController(Controller):
    """The handlers that show stacks."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        self._changes = StackChanges(services)

    def index(self, request: ApiRequest) -> webob.Response:
        """List stacks a page at a time, or with ``changed_since`` those that have changed."""
        parameters = QueryParams(request.GET)
        query = parse_stack_list_query(
            parameters, request.project_id, self.options.hidden_stack_tags
        )
        if query.all_projects:
            self._enforcer.enforce(request, "stacks:global_index")
        changes = parse_changes_query(parameters, self.services.clock())
        if changes is not None:
            changed = self._changes.find(request, query, changes)
            return json_response(
                {
                    "stacks": join_encoded(changed.stacks),
                    "has_changed": changed.has_changed,
                    "changes_marker": str(changed.marker),
                }
            )
        with self.database.read() as conn:
            found = list_encoded(conn, request, query.filters, query.page)
            count = stacks.count(conn, query.filters) if query.with_count else None
        body: dict[str, Json] = {"stacks": join_encoded(found)}
        if query.page.limit and len(found) == query.page.limit:
            body["links"] = [make_link(_next_url(request, found[-1].id), "next")]
        if count is not None:
            body["count"] = count
        return json_response(body)

    def detail(self, request: ApiRequest) -> webob.Response:
        """List the stacks of a project."""
        hidden = self.options.hidden_stack_tags
        selection = StackFilter(request.project_id, not_tags_any=hidden)
        with self.database.read() as conn:
            found = list_encoded(conn, request, selection)
        return json_response({"stacks": join_encoded(found)})

    def show(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show a stack with its outputs."""
        resolve = QueryParams(request.GET).boolean("resolve_outputs", default=True)
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            resolve = resolve and stack.deleted_at is None
            try:
                goal, rows = self._load(conn, stack, with_inputs=resolve)
            except RowsContradict as error:  # RULE 11: the rest of the stack can be shown
                return json_response({"stack": self._shown_without_goal(request, stack, error)})
            drift_counts = drift_reads.count_by_status(conn, stack)
        shown = self._shown(request, stack, goal)
        shown["drift_status"] = str(drift_reads.summarize(drift_counts))
        if resolve:
            reader = OutputResolver(stack, rows, self.services)
            shown["outputs"] = reader.resolve_all(goal_view.output_definitions(goal))
        return json_response({"stack": shown})

    def _load(
        self, conn: Any, stack: Stack, *, with_inputs: bool
    ) -> tuple[Goal, Mapping[str, InputResource]]:
        """Return the goal of a stack, and the resources that its outputs read."""
        goal = SqlGoalRepository(conn).get_with_parameters(stack.goal_id)
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        require_readable(goal.outputs)
        if not with_inputs:
            return goal, {}
        names = goal_view.resources_read_by_outputs(goal, self.services.functions)
        return goal, SqlIncarnationRepository(conn).get_inputs(stack.id, names)

    def template(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the template of a stack."""
        with self.database.read() as conn:
            goal = self._goal(conn, request, stack_name, stack_id)
            text = contents.get_contents(conn, [goal.template_hash])[goal.template_hash]
        return json_response(goal_view.parse_stored_template(text, self.services.limits))

    def environment(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the environment of a stack, hidden parameters masked."""
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            goal = self._goal(conn, request, stack_name, stack_id)
            texts: list[str] = []
            if goal.environment.get("parameter_defaults"):
                files = contents.get_contents(conn, set(goal.files.values()))
                texts = [*find_tree_templates(conn, stack.tree_id), *files.values()]
        hidden = hidden_parameters_of_texts(texts, self.services.limits)
        return json_response(goal_view.format_environment(goal, hidden))

    def files(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """Show the files of a stack."""
        with self.database.read() as conn:
            goal = self._goal(conn, request, stack_name, stack_id)
            texts = contents.get_contents(conn, set(goal.files.values()))
        return json_response({name: texts[key] for name, key in sorted(goal.files.items())})

    @staticmethod
    def _shown(request: ApiRequest, stack: Stack, goal: Goal) -> dict[str, Json]:
        shown = view.format_stack(
            stack,
            request.base_url,
            description=goal.description,
            parameters=goal.parameters,
        )
        return shown | view.format_stack_status(stack)

    @staticmethod
    def _shown_without_goal(
        request: ApiRequest, stack: Stack, error: RowsContradict
    ) -> dict[str, Json]:
        stack = replace(stack, status_reason=str(error))
        shown = view.format_stack(stack, request.base_url, description="", parameters={})
        return shown | view.format_stack_status(stack)

    @staticmethod
    def _goal(conn: Any, request: ApiRequest, name: str, stack_id: str) -> Goal:
        stack = get_stack(conn, request, name, stack_id)
        goal = SqlGoalRepository(conn).get(stack.goal_id)
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        return goal


def _next_url(request: ApiRequest, last_id: str) -> str:
    """Return the same query with the marker moved."""
    kept = [(name, value) for name, value in request.GET.items() if name != "marker"]
    query = urlencode([*kept, ("marker", last_id)])
    return f"{stacks_url(request.base_url, request.project_id)}?{query}"
