"""Resources of a stack and of its tree; one resource, its metadata.

Called by the root controller.  Reads only; a list costs the same few statements
whatever its length, and is sent while it is encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller, named_stack
from heat_convergence.api.debugging import shown_definition
from heat_convergence.api.inside import read_inside
from heat_convergence.api.requests.listing import ResourceListing, resource_listing
from heat_convergence.api.requests.words import MalformedValue, Query
from heat_convergence.api.values import Viewer, as_input
from heat_convergence.api.views import resources as view
from heat_convergence.api.views import software as software_view
from heat_convergence.api.waiting import told_rows
from heat_convergence.api.wire import ApiRequest, json_answer, streamed_list
from heat_convergence.common import errors
from heat_convergence.convergence.model import Stack
from heat_convergence.db import goals, software
from heat_convergence.db.reads import resources, stacks
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.db.resources import inputs as rows_by_name
from heat_convergence.resources.views import RowInputs, input_view
from heat_convergence.template.definition import contents_of, value_of
from heat_convergence.template.evaluate import finish
from heat_convergence.template.uses import references

Json = Any


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows of a list and what stands around them."""

    known: Mapping[str, Stack]
    nested: Mapping[tuple[str, str], Stack]
    rows: Sequence[ResourceRow]
    chosen: frozenset[str] | None


class ResourcesController(Controller):
    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        query = Query(request.GET)
        asked = resource_listing(query, self.options.max_nested_stack_depth)
        found = self._read(request, stack_name, stack_id, asked)
        return streamed_list("resources", self._items(found, asked, request.base_url))

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        query = Query(request.GET)
        extra, detail = query.all("with_attr"), query.one("detail")
        if detail not in (None, "definition"):
            raise MalformedValue(f'"detail" must be "definition", not "{detail}".')
        texts: Mapping[str, str] = {}
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            (row,) = told_rows(conn, {stack.id: stack}, [_named(conn, stack, resource_name)])
            users = resources.required_by(conn, stack.id, row.name)
            nested = stacks.children(conn, [stack.id]).get((stack.id, row.name))
            inside: Mapping[str, Json] = {}
            if extra and nested is not None:
                inside = read_inside(conn, self.given, row, nested, extra)
            if detail is not None:
                texts = goals.get_contents(conn, contents_of(row.definition))
        shown = view.item(row, stack, request.base_url, required_by=users, nested=nested)
        if detail is not None:
            shown["definition"] = shown_definition(row.definition, texts)
        told = self._detail(row, stack, extra)
        told["attributes"] |= {
            name: value for name, value in inside.items() if told["attributes"].get(name) is None
        }
        return json_answer({"resource": shown | told})

    def metadata(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        with self.database.read() as conn:
            stack = named_stack(conn, request, stack_name, stack_id)
            row = _named(conn, stack, resource_name)
            texts = goals.get_contents(conn, contents_of(row.definition, ["metadata"]))
            metadata = value_of(row.definition, "metadata", texts)
            rows = rows_by_name(conn, stack.id, references(metadata, self.given.functions))
        given = self.given
        inputs = RowInputs(rows, stack, given.registry, given.clock())
        where = f"resources.{row.name}.metadata"
        shown = finish(
            metadata, inputs, limits=given.limits, functions=given.functions, where=where
        )
        kind = given.registry.find(row.implementation)
        if kind is not None:
            viewed = input_view(as_input(row), stack, given.clock())
            shown = kind.metadata_of(viewed, shown or {})
            if kind.lists_deployments(viewed):
                shown = {**shown, "deployments": self._deployed(stack, row)}
        return json_answer({"metadata": shown or {}})

    def _deployed(self, stack: Stack, row: ResourceRow) -> list[dict[str, Json]]:
        """The stack's project's, whoever asks: a server's agent is of another."""
        if row.physical_id is None:
            return []
        with self.database.read() as conn:
            found = software.metadata(conn, stack.project_id, row.physical_id)
        return [software_view.config(config) for config in found]

    def _read(
        self, request: ApiRequest, name: str, stack_id: str, asked: ResourceListing
    ) -> _Found:
        with self.database.read() as conn:
            stack = named_stack(conn, request, name, stack_id)
            known = {stack.id: stack}
            if asked.depth:
                known |= {s.id: s for s, _ in stacks.tree(conn, stack.id, asked.depth)}
            nested = stacks.children(conn, known.keys())
            rows = resources.listing(conn, known.keys(), detailed=asked.detailed)
            rows = told_rows(conn, known, rows)
            chosen = None
            if asked.which is not None:
                chosen = resources.matching_ids(conn, known.keys(), asked.which)
        return _Found(known, nested, rows, chosen)

    def _items(
        self, found: _Found, asked: ResourceListing, base_url: str
    ) -> Iterator[dict[str, Json]]:
        users = view.required_by(found.rows)
        for row in found.rows:
            if found.chosen is not None and row.id not in found.chosen:
                continue
            stack = found.known[row.stack_id]
            place = (row.stack_id, row.name)
            item = view.item(
                row, stack, base_url,
                required_by=users.get(place, ()), nested=found.nested.get(place),
            )
            yield item | self._detail(row, stack, ()) if asked.detailed else item

    def _detail(self, row: ResourceRow, stack: Stack, extra: Sequence[str]) -> dict[str, Json]:
        viewer = Viewer(stack, self.given.registry, self.given.clock())
        return {
            "description": row.definition.get("description", ""),
            "attributes": viewer.attributes(row, extra),
        }


def _named(conn: Any, stack: Stack, resource_name: str) -> ResourceRow:
    row = resources.by_name(conn, stack.id, resource_name)
    if row is None:
        raise errors.ResourceNotFound(resource_name, stack.name)
    return row
