"""The watch of declared resource types: bulk reads, and the comparison of properties.

Decides from the specification and its comparisons alone. It must not change a physical resource,
nor call the steps that do so when a resource is observed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.drift.comparison import (
    COMPARED,
    Comparison,
    PropertyComparison,
    is_equal,
)
from heat_convergence.convergence.drift.observation import PropertyDrift
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative_steps import DeclarativeSteps
from heat_convergence.resources.driver.id_lookup import is_uuid
from heat_convergence.resources.driver.ownership_marks import VALUE_SPECS
from heat_convergence.resources.driver.resource_client import IDS_PER_QUERY, RestResourceClient
from heat_convergence.resources.driver.rest_resources import BulkRead
from heat_convergence.resources.driver.single_reads import (
    MAX_SINGLE_READS,
    in_turns,
    read_alone,
)
from heat_convergence.resources.driver.type_spec import ArgumentMapping
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.protocol.watchable import ProjectList, Watchable

Json = Any
_NAME = "name"
_MISSING = object()


class DriftDetection(DeclarativeSteps, Watchable):
    """The reads and comparisons of a declared type."""

    @property
    def is_watched(self) -> bool:
        """True if lists show the type's objects, or if they are read one by one."""
        return self.spec.is_listed or self.spec.is_read_alone

    @property
    def watched_path(self) -> str:
        """The path of the list that shows the type's objects."""
        return self.spec.rest_resource.list_path_template

    @property
    def project_list(self) -> ProjectList | None:
        """The list of the type's objects; None if they are read one by one or by parent."""
        rest_resource = self.spec.rest_resource
        path = rest_resource.list_path_template
        if self.spec.is_read_alone or "%" in path:
            return None
        return ProjectList(rest_resource.service, path, tuple(sorted(rest_resource.list_query)))

    def read_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Read by one list call, or one for each parent of objects that are listed so."""
        if self.spec.is_read_alone:
            return read_alone(self.observe, contexts)
        groups: dict[tuple[str, ...], list[ResourceContext]] = {}
        for context in contexts:
            path = tuple(value for _, value in sorted(self._path_values(context).items()))
            groups.setdefault((self.cloud(context).cache_key, *path), []).append(context)
        results: dict[str, VerbResult] = {}
        for _, members in sorted(groups.items()):
            results.update(self._read_listed(members))
        return results

    def _read_listed(self, contexts: Sequence[ResourceContext]) -> dict[str, VerbResult]:
        client = self.client(contexts[0])
        bodies = _list_bodies(client, sorted({self._id(context) for context in contexts}))
        missing = [context for context in contexts if self._id(context) not in bodies]
        for context in in_turns(missing)[:MAX_SINGLE_READS]:
            # RULE 10: its absence from a list proves nothing.
            bodies[self._id(context)] = _read_body(client, self._id(context))
        return {
            context.resource_id: self._as_result(context, bodies[self._id(context)])
            for context in contexts
            if self._id(context) in bodies
        }

    def _as_result(self, context: ResourceContext, body: Mapping[str, Json] | None) -> VerbResult:
        if body is None or self._is_absent(body):
            return VerbResult(ObservedState.ABSENT, context.physical_id)
        state, reason = self.observed_state(context, body)
        level = self.ready_level(body) if state is ObservedState.READY else None
        return VerbResult(state, context.physical_id, {"show": body}, reason=reason, level=level)

    def _is_absent(self, body: Mapping[str, Json]) -> bool:
        status = self.spec.status_mapping
        return bool(status.body_key) and self._word(body) in status.absent

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the observed values of properties that are set and that the body shows."""
        body = (result.attributes or {}).get("show") or {}
        found = {}
        for name, rule in self._compared_properties(context):
            value = _value_at(body, rule.key or self._argument(name))
            if value is not _MISSING:
                found[name] = self.observed_value(name, value, rule)
        return found

    def compare(
        self, context: ResourceContext, values: Mapping[str, Json]
    ) -> tuple[PropertyDrift, ...]:
        """Return the properties whose observed values differ from the applied ones."""
        found = []
        for name, rule in self._compared_properties(context):
            if name not in values:
                continue
            try:
                applied = self.applied_value(context, name)
            except (EntityNotFound, PhysicalResourceNameAmbiguity):
                continue  # the name that was applied names nothing, or several objects, by now
            observed = values[name]
            if _is_name_of_id(applied, observed) or is_equal(rule.comparison, applied, observed):
                continue
            found.append(PropertyDrift(name, applied, observed))
        return tuple(found)

    def applied_value(self, context: ResourceContext, name: str) -> Json:
        """Return the value of a property as the service was called with it.

        Raises:
            EntityNotFound: The property names an object that does not exist.
        """
        value = context.properties[name]
        if name not in self._sendable or self._mapping(name).argument is None:
            return value
        arguments = self.argument_builder(context).build({name: value}, [name])
        return arguments.get(self._argument(name))

    def observed_value(self, name: str, value: Json, rule: PropertyComparison) -> Json:
        """Return the value of a property in the form that it is compared in."""
        if rule.item_key is None or not isinstance(value, list):
            return value
        return [item.get(rule.item_key) for item in value if isinstance(item, Mapping)]

    def _compared_properties(
        self, context: ResourceContext
    ) -> Iterable[tuple[str, PropertyComparison]]:
        """Yield the properties that are set and compared, with their rules."""
        builder = self.argument_builder(context)
        for name, value in sorted(context.properties.items()):
            rule = self.comparison_of(name, is_single=isinstance(value, str | int | float))
            if rule is None or rule.comparison not in COMPARED:
                continue
            if builder.is_set(name, value) and value not in ([], {}):
                yield name, rule

    def comparison_of(self, name: str, *, is_single: bool) -> PropertyComparison | None:
        """Return the rule of a property: the declared one, or that of single values.

        Args:
            name: The property.
            is_single: Whether its value is no list and no map.
        """
        rule = self.spec.comparisons.get(name)
        sent = name in self._sendable and name != VALUE_SPECS
        if rule is not None or not sent or self._mapping(name).argument is None or not is_single:
            return rule
        is_exact = name == _NAME
        return PropertyComparison(Comparison.EXACT if is_exact else Comparison.NORMALIZED)

    def _mapping(self, name: str) -> ArgumentMapping:
        return self.spec.arguments.get(name, ArgumentMapping(name))

    def _argument(self, name: str) -> str:
        return self._mapping(name).argument or name


def _list_bodies(
    client: RestResourceClient, ids: Sequence[str]
) -> dict[str, Mapping[str, Json] | None]:
    """Return id → body by one list call, of several pages if need be."""
    rest_resource = client.rest_resource
    if rest_resource.bulk_read is BulkRead.BY_IDS and len(ids) <= IDS_PER_QUERY:
        return dict(client.list_by_ids(ids))
    requested = set(ids)
    listed = {str(body.get(rest_resource.id_key)): body for body in client.list()}
    return {key: body for key, body in listed.items() if key in requested}


def _read_body(client: RestResourceClient, path_id: str) -> Mapping[str, Json] | None:
    try:
        return client.get(path_id)
    except ResourceGone:
        return None


def _value_at(body: Mapping[str, Json], path: str) -> Json:
    """Return the value at a path of keys with dots between, or ``_MISSING``."""
    if path in body:
        return body[path]
    value: Json = body
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return _MISSING
        value = value[key]
    return value


def _is_name_of_id(applied: Json, observed: Json) -> bool:
    """Return whether an id was applied and a name is shown, which cannot be compared."""
    texts = isinstance(applied, str) and isinstance(observed, str)
    return texts and is_uuid(applied) and bool(observed) and not is_uuid(observed)
