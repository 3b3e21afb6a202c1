"""``OS::Heat::ResourceGroup``: a number of members that differ in their index alone.

Decides the members' names and definitions, and their batches.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any, ClassVar

from heat_convergence.common.errors import InvalidTemplateAttribute
from heat_convergence.convergence.model.resource import ADOPTED_STACK
from heat_convergence.resources.builtin.nested.group_members import (
    DEFAULT_INDEX_VAR,
    MemberTemplate,
    member_definition,
)
from heat_convergence.resources.builtin.nested.group_type import (
    ATTRIBUTES,
    REFS,
    REFS_MAP,
    GroupType,
    build_template_text,
    current_members,
    with_placeholders,
)
from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_name,
)
from heat_convergence.resources.nested.nested_type import (
    REFERENCE_ID_KEY,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedTypeSchema,
)
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.template.expression import is_known
from heat_convergence.template.parameters.constraints import AllowedValues, Length, Range

Json = Any
REMOVED_ATTRIBUTE = "removed_rsrc_list"
_MAX_GAPS = 10_000  # missing member numbers in an adopted stack's data


def _text(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.STRING, description=description, **more)


def _map(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.MAP, description=description, **more)


def _integer(description: str, default: int, least: int) -> PropertySchema:
    return PropertySchema(
        type=PropertyType.INTEGER,
        description=description,
        default=default,
        constraints=(Range(min=least),),
    )


_PAUSE = PropertySchema(
    type=PropertyType.NUMBER,
    description="Seconds to wait between batches.",
    default=0,
    constraints=(Range(min=0),),
)
_BATCH = _integer("Maximum number of members in a batch.", 1, 1)


class ResourceGroup(GroupType):
    """A group of identical members, numbered from 0."""

    name = "OS::Heat::ResourceGroup"
    generated_types: ClassVar[frozenset[str] | None] = frozenset()
    group_attributes = frozenset({REFS, REFS_MAP, ATTRIBUTES, REMOVED_ATTRIBUTE})
    schema = NestedTypeSchema(
        description="Creates one or more identically configured nested resources.",
        support_status=SupportStatus(version="2014.1"),
        accepts_any_attribute=True,
        properties={
            "count": PropertySchema(
                type=PropertyType.INTEGER,
                description="Number of members to create.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "index_var": _text(
                "Placeholder of the member's index in strings of its properties.",
                default=DEFAULT_INDEX_VAR,
                constraints=(Length(min=3),),
                support_status=SupportStatus(version="2014.2"),
            ),
            "resource_def": _map(
                "Definition of the members.",
                required=True,
                update_allowed=True,
                schema={
                    "type": _text("Type of the members.", required=True),
                    "properties": _map("Properties of the members."),
                    "metadata": _map(
                        "Metadata of the members.", support_status=SupportStatus(version="5.0.0")
                    ),
                },
            ),
            "removal_policies": PropertySchema(
                type=PropertyType.LIST,
                description="Policies for removal of members on update.",
                default=[],
                update_allowed=True,
                support_status=SupportStatus(version="2015.1"),
                item=_map(
                    "Policy for removal of members.",
                    schema={
                        "resource_list": PropertySchema(
                            type=PropertyType.LIST,
                            description="Names or reference IDs of the members to remove.",
                            default=[],
                        )
                    },
                ),
            ),
            "removal_policies_mode": _text(
                "Whether removals are appended to earlier ones or replace them.",
                default="append",
                update_allowed=True,
                constraints=(AllowedValues(("append", "update")),),
                support_status=SupportStatus(version="10.0.0"),
            ),
        },
        attributes={
            REFS: AttributeSchema(PropertyType.LIST, "Reference IDs of the members, in order."),
            REFS_MAP: AttributeSchema(
                PropertyType.MAP,
                "Map of member names to their reference IDs.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            ATTRIBUTES: AttributeSchema(
                PropertyType.MAP,
                "Map of member names to the specified attribute of each.",
                support_status=SupportStatus(version="2014.2"),
            ),
            REMOVED_ATTRIBUTE: AttributeSchema(
                PropertyType.LIST,
                "Names of the members that have been removed.",
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
        update_policy={
            "rolling_update": _map(
                "Batches of an update.",
                support_status=SupportStatus(version="5.0.0"),
                schema={
                    "min_in_service": _integer("Minimum number of members in service.", 0, 0),
                    "max_batch_size": _BATCH,
                    "pause_time": _PAUSE,
                },
            ),
            "batch_create": _map(
                "Batches of a create.",
                support_status=SupportStatus(version="5.0.0"),
                schema={"max_batch_size": _BATCH, "pause_time": _PAUSE},
            ),
        },
    )

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template of the next batch."""
        size = int(request.properties.get("count") or 0)
        MemberTemplate(request.properties).check_count(size)
        old = current_members(request)
        removed = _removed(request, old)
        target = list(islice(_names(removed), size))
        members, more, policy = self._members(request, old, target, removed)
        return NestedStackSource(
            build_template_text(members),
            data={"removed": removed, "making": more and _is_creating(request)},
            has_next_step=more,
            pause_s=policy.pause_s,
        )

    def _members(
        self,
        request: NestedStackRequest,
        old: Mapping[str, Json],
        target: Sequence[str],
        removed: Sequence[str],
    ) -> tuple[dict[str, Json], bool, RollingUpdatePolicy]:
        new = MemberTemplate(request.properties).definition
        creating = _is_creating(request)
        section = request.update_policy.get("batch_create" if creating else "rolling_update")
        if ADOPTED_STACK in request.data and request.load_template() is None:
            section = None  # all members exist, and are adopted at once
        kept = {name: item for name, item in old.items() if name not in removed}
        changed = any(kept[name] != new(name) for name in kept)
        if section is None or not (creating or changed):
            return {name: new(name) for name in target}, False, RollingUpdatePolicy()
        policy = RollingUpdatePolicy.from_policy(section)
        policy.check_timeout(len(target), request.timeout_s)
        if creating:
            size = min(len(kept) + policy.batch_size, len(target))
            return {name: new(name) for name in target[:size]}, size < len(target), policy

        def name_of(at: int) -> str:
            """Return the n-th name that may be used."""
            return next(islice(_names(removed), at, None))

        members, more = roll_by_name(kept, new, target, name_of, policy)
        return members, more, policy

    def data_after_adoption(self, document: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the data with the numbers that must not be used."""
        return {"removed": _document_removals(document)}

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return a template with one member, if its type is known."""
        if request.properties.get("count") == 0:
            return None
        definition = member_definition(request.properties, "0")
        if not isinstance(definition["type"], str):
            return None
        return NestedStackSource(build_template_text({"0": with_placeholders(definition)}))

    def final_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template after the last batch, if all properties are known."""
        if not is_known({**request.properties, "resource_def": None}):
            return None
        return self.source(
            replace(request, properties=with_placeholders(request.properties), update_policy={})
        )

    def member_count(self, request: NestedStackRequest) -> int:
        """Return the number of members, 1 while it is not known."""
        number = request.properties.get("count")
        return number if isinstance(number, int) else 1

    def order_members(self, nested_stack: NestedStackView, names: Sequence[str]) -> list[str]:
        """Return the names in order of their numbers."""
        return sorted(names, key=lambda name: (len(name), name))

    def group_attribute_values(
        self, nested_stack: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        """Return the names of removed members."""
        return {REMOVED_ATTRIBUTE: list(nested_stack.owner_resource.data.get("removed") or ())}

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Check the path of an attribute that a template reads.

        Raises:
            InvalidTemplateAttribute: ``attributes`` is read without the name of an attribute.
        """
        if name == ATTRIBUTES and not path:
            raise InvalidTemplateAttribute(
                f'The attribute "{ATTRIBUTES}" of {self.name} takes the name of another'
            )


def _is_creating(request: NestedStackRequest) -> bool:
    """Return whether the group is being created, perhaps in batches."""
    return request.load_template() is None or bool(request.data.get("making"))


def _names(removed: Iterable[str]) -> Iterable[str]:
    unused = set(removed)
    return (name for name in map(str, count()) if name not in unused)


def _removed(request: NestedStackRequest, old: Mapping[str, Json]) -> list[str]:
    """Return the names that must not be used (again), sorted by number."""
    before = _adopted_removals(request) or [
        str(name) for name in request.data.get("removed") or ()
    ]
    requested = [
        str(each)
        for policy in request.properties.get("removal_policies") or ()
        for each in (policy.get("resource_list") or ())
    ]
    found = set()
    if requested:
        by_reference = _references(request)
        known = {*old, *before}
        for each in requested:
            if each in known:
                found.add(each)
            elif each in by_reference:
                found.add(by_reference[each])
    if request.properties.get("removal_policies_mode") != "update":
        found.update(before)
    return sorted(found, key=lambda name: (len(name), name))


def _adopted_removals(request: NestedStackRequest) -> list[str]:
    """Return the removed names in the data of a group that is being adopted."""
    document = request.data.get(ADOPTED_STACK)
    if not isinstance(document, Mapping) or request.load_template() is not None:
        return []
    return _document_removals(document)


def _document_removals(document: Mapping[str, Json]) -> list[str]:
    """Return the removed names in an adopted stack's data.

    Data of older releases lacks them: the numbers that its members leave out count as removed.
    """
    data = document.get("resource_data")
    recorded = data.get("removed") if isinstance(data, Mapping) else None
    present = {str(name) for name in document.get("resources") or ()}
    highest = max((int(name) for name in present if name.isdecimal()), default=-1)
    gaps = {*map(str, range(min(highest, len(present) + _MAX_GAPS)))} - present
    return sorted(gaps.union(map(str, recorded if isinstance(recorded, list) else ())))


def _references(request: NestedStackRequest) -> dict[str, str]:
    """Return reference id → member's name, of members with rows."""
    found = {}
    for row in request.load_members():
        for reference in (row.physical.id, row.physical.attributes.get(REFERENCE_ID_KEY)):
            if isinstance(reference, str):
                found[reference] = row.name
    return found
