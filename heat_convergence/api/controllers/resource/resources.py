"""Resources of a stack and of its tree; one resource, and its metadata.

Called by the root controller.  Reads only; a list costs the same few statements whatever
its length, and is sent while it is encoded.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_stack,
    may_read_secrets,
    sender_of,
)
from heat_convergence.api.http import ApiRequest, json_response, stream_list_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.list_queries import ResourceListQuery, parse_resource_list_query
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import resources as view
from heat_convergence.api.views.definitions import format_definition
from heat_convergence.api.views.progress import format_waiting
from heat_convergence.common import errors
from heat_convergence.common.errors import InvalidRequestValue
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift import nested_stacks
from heat_convergence.db.reads import dependents, resources, stacks
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.db.repositories.incarnations import SqlIncarnationRepository
from heat_convergence.db.statements import contents
from heat_convergence.resources.protocol.resource_context import RowInputs, dependency_context
from heat_convergence.resources.protocol.software_config_store import format_config
from heat_convergence.resources.reference_scope import (
    Sender,
    list_server_configs,
    require_readable_metadata,
)
from heat_convergence.stacks.reads.breakpoint_status import with_resource_breakpoint_reasons
from heat_convergence.stacks.reads.nested_attributes import read_nested_attributes
from heat_convergence.stacks.reads.resource_attributes import (
    AttributeReader,
    LiveAttributeReader,
    input_from_row,
    live_read_limit,
)
from heat_convergence.stacks.reads.unread_policies import mark_unread
from heat_convergence.stacks.reads.waiting import (
    WaitingReader,
    WaitingResource,
    without_worker,
)
from heat_convergence.template.evaluation.evaluation import resolve_value
from heat_convergence.template.evaluation.references import referenced_resources
from heat_convergence.template.evaluation.resource_definition import (
    collect_definition_hashes,
    load_section,
)
from heat_convergence.template.text_redaction import mask_values

Json = Any
_SEARCHED_NAMES = 20  # The database compares each with the requirements of every resource.


@dataclass(frozen=True, slots=True)
class _ResourceList:
    """The rows of a list with their stacks."""

    known: Mapping[str, Stack]
    nested: Mapping[tuple[str, str], Stack]
    rows: Sequence[ResourceRow]
    chosen: Collection[str] | None
    users: Mapping[tuple[str, str], Sequence[str]]
    shows_secrets: bool


class ResourcesController(Controller):
    """The handlers that show resources."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def index(self, request: ApiRequest, stack_name: str, stack_id: str) -> webob.Response:
        """List the resources of a stack, and of its tree with ``nested_depth``."""
        query = parse_resource_list_query(
            QueryParams(request.GET), self.options.max_nested_stack_depth
        )
        found = self._read(request, stack_name, stack_id, query)
        return stream_list_response("resources", self._items(found, query, request.base_url))

    def show(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        """Show a resource; ``with_attr`` adds attributes, ``detail`` its definition."""
        query = QueryParams(request.GET)
        extra, detail = query.values("with_attr"), query.last("detail")
        if detail not in (None, "definition"):
            raise InvalidRequestValue(f'"detail" must be "definition", not "{detail}".')
        texts: Mapping[str, str] = {}
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            (row,) = with_resource_breakpoint_reasons(
                conn, {stack.id: stack}, [_named(conn, stack, resource_name)]
            )
            users = dependents.list_requiring(conn, stack.id, row.name)
            nested = stacks.list_children(conn, [stack.id]).get((stack.id, row.name))
            if nested is not None:
                drift = nested_stacks.read_of_resource(conn, row.id)
                row = replace(row, drift=drift or row.drift)
            (row,) = self._mark_unread([row], () if nested is None else {(stack.id, row.name)})
            waiting = self._explain(conn, request, stack, row)
            nested_attributes: Mapping[str, Json] = {}
            if extra and nested is not None and row.readable:
                nested_attributes = read_nested_attributes(conn, self.services, row, nested, extra)
            if detail is not None and row.readable:
                texts = contents.get_contents(conn, collect_definition_hashes(row.definition))
        shown = view.format_resource(
            row, stack, request.base_url, required_by=users, nested_stack=nested
        )
        shown["waiting"] = format_waiting(waiting)
        shows_secrets = may_read_secrets(request, self._enforcer)
        reader = self._attribute_reader(stack, shows_secrets=shows_secrets)
        if not row.readable:
            return json_response({"resource": shown | _detail(reader, row, ())})
        if detail is not None:
            shown["definition"] = format_definition(row.definition, texts)
        with live_read_limit():
            reader = replace(reader, live=LiveAttributeReader(stack, self.services))
            details = _detail(reader, row, extra)
        if not shows_secrets and row.definition.get("sensitive"):
            nested_attributes = mask_values(nested_attributes)
        details["attributes"] |= {
            name: value
            for name, value in nested_attributes.items()
            if details["attributes"].get(name) is None
        }
        return json_response({"resource": shown | details})

    def _explain(
        self, conn: Any, request: ApiRequest, stack: Stack, row: ResourceRow
    ) -> WaitingResource | None:
        """Return what an unfinished resource waits for; its worker for administrators alone."""
        now, retry_limit = self.services.clock(), self.services.settings.retry_limit
        reader = WaitingReader(conn, stack.project_id, now, retry_limit)
        explained = reader.explain_resource(stack, row.id)
        if explained is None or request.caller.is_cloud_admin:
            return explained
        return without_worker(explained)

    def metadata(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        """Show the metadata of a resource, as agents poll it."""
        with self.database.read() as conn:
            stack = get_stack(conn, request, stack_name, stack_id)
            row = _named(conn, stack, resource_name)
            require_readable_metadata(conn, sender_of(request), row)
            texts = contents.get_contents(
                conn, collect_definition_hashes(row.definition, ["metadata"])
            )
            metadata = load_section(row.definition, "metadata", texts)
            rows = SqlIncarnationRepository(conn).get_inputs(
                stack.id, referenced_resources(metadata, self.services.functions)
            )
        shown = self._resolve_metadata(stack, row, metadata, rows)
        if not may_read_secrets(request, self._enforcer) and self._is_sensitive(row):
            shown = mask_values(shown)
        return json_response({"metadata": shown})

    def _resolve_metadata(
        self, stack: Stack, row: ResourceRow, metadata: Any, rows: Mapping[str, InputResource]
    ) -> Mapping[str, Json]:
        services = self.services
        inputs = RowInputs(rows, stack, services.registry, services.clock())
        location = f"resources.{row.name}.metadata"
        shown = resolve_value(
            metadata,
            inputs,
            limits=services.limits,
            functions=services.functions,
            location=location,
        )
        resource_type = services.registry.find(row.implementation)
        if resource_type is not None:
            context = dependency_context(input_from_row(row), stack, services.clock())
            shown = resource_type.shown_metadata(context, shown or {})
            if resource_type.shows_deployments(context):
                shown = {**shown, "deployments": self._deployments(stack, row)}
        return shown or {}

    def _is_sensitive(self, row: ResourceRow) -> bool:
        """Return whether the metadata may have a secret, of the definition or of the type."""
        found = self.services.registry.find(row.implementation)
        has_secrets = found is None or found.has_secret_data(row.properties)
        return has_secrets or bool(row.definition.get("sensitive"))

    def _deployments(self, stack: Stack, row: ResourceRow) -> list[dict[str, Json]]:
        """Return the deployments on a server, which its agent reads from another project."""
        if row.physical_id is None:
            return []
        with self.database.read() as conn:
            found = list_server_configs(conn, Sender(stack.project_id), row.physical_id)
        return [format_config(config) for config in found]

    def _read(
        self, request: ApiRequest, name: str, stack_id: str, query: ResourceListQuery
    ) -> _ResourceList:
        with self.database.read() as conn:
            stack = get_stack(conn, request, name, stack_id)
            known = {stack.id: stack}
            if query.nested_depth:
                known |= {s.id: s for s, _ in stacks.get_tree(conn, stack.id, query.nested_depth)}
            nested = stacks.list_children(conn, known.keys())
            chosen, few = None, None
            if query.filters is not None:
                chosen = resources.find_matching(conn, known.keys(), query.filters)
                few = _few_names(chosen)
            rows = resources.list_by_stacks(
                conn, known.keys(), detailed=query.with_detail, names=few
            )
            rows = with_resource_breakpoint_reasons(conn, known, rows)
            if any((row.stack_id, row.name) in nested for row in rows):
                drifts = nested_stacks.read_by_parents(conn, known.keys())
                rows = [replace(row, drift=drifts.get(row.id, row.drift)) for row in rows]
            rows = self._mark_unread(rows, nested)
            if few is None:
                users = view.index_required_by(rows)
            else:
                users = dependents.list_requiring_any(conn, known.keys(), few)
        shows_secrets = may_read_secrets(request, self._enforcer)
        return _ResourceList(known, nested, rows, chosen, users, shows_secrets)

    def _items(
        self, found: _ResourceList, query: ResourceListQuery, base_url: str
    ) -> Iterator[dict[str, Json]]:
        for row in found.rows:
            if found.chosen is not None and row.id not in found.chosen:
                continue
            stack = found.known[row.stack_id]
            place = (row.stack_id, row.name)
            item = view.format_resource(
                row,
                stack,
                base_url,
                required_by=found.users.get(place, ()),
                nested_stack=found.nested.get(place),
            )
            if query.with_detail:
                reader = self._attribute_reader(stack, shows_secrets=found.shows_secrets)
                item |= _detail(reader, row, ())
            yield item

    def _mark_unread(
        self, rows: Sequence[ResourceRow], nested: Container[tuple[str, str]]
    ) -> list[ResourceRow]:
        return mark_unread(rows, self.services.registry, nested)

    def _attribute_reader(self, stack: Stack, *, shows_secrets: bool) -> AttributeReader:
        services = self.services
        return AttributeReader(
            stack, services.registry, services.clock(), shows_secrets, services.errors
        )


def _few_names(chosen: Mapping[str, str]) -> frozenset[str] | None:
    """Return the names of the chosen rows if they are worth a search of their own, else None.

    All incarnations of these names are read, since the shown one may not be a chosen one.
    """
    names = frozenset(chosen.values())
    return names if len(names) <= _SEARCHED_NAMES else None


def _detail(reader: AttributeReader, row: ResourceRow, extra: Sequence[str]) -> dict[str, Json]:
    if not row.readable:  # its status and its reason say so
        return {"description": "", "attributes": {}}
    return {
        "description": row.definition.get("description", ""),
        "attributes": reader.read_attributes(row, extra),
    }


def _named(conn: Any, stack: Stack, resource_name: str) -> ResourceRow:
    row = resources.get_by_name(conn, stack.id, resource_name)
    if row is None:
        raise errors.ResourceNotFound(resource_name, stack.name)
    return row
