"""``OS::Heat::ResourceGroup``: a number of members that differ by their index alone.

Decides the members' names and definitions, and how they change in batches.
Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any

from heat_convergence.common.errors import InvalidTemplateAttribute
from heat_convergence.convergence.model.resource import ADOPTED_STACK
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
DEFAULT_INDEX_VAR = "%index%"
_MOST_GAPS = 10_000  # numbers that a document leaves out


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
    description="Seconds to wait between two batches.",
    default=0,
    constraints=(Range(min=0),),
)
_BATCH = _integer("How many members change at once, at most.", 1, 1)


class ResourceGroup(GroupType):
    name = "OS::Heat::ResourceGroup"
    group_attributes = frozenset({REFS, REFS_MAP, ATTRIBUTES, REMOVED_ATTRIBUTE})
    schema = NestedTypeSchema(
        description="A number of resources of one definition, numbered from 0.",
        support_status=SupportStatus(version="2014.1"),
        accepts_any_attribute=True,
        properties={
            "count": PropertySchema(
                type=PropertyType.INTEGER,
                description="How many members there are.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "index_var": _text(
                "What stands for the member's number in strings of its properties.",
                default=DEFAULT_INDEX_VAR,
                constraints=(Length(min=3),),
                support_status=SupportStatus(version="2014.2"),
            ),
            "resource_def": _map(
                "What each member is.",
                required=True,
                update_allowed=True,
                schema={
                    "type": _text("The members' type.", required=True),
                    "properties": _map("The members' properties."),
                    "metadata": _map(
                        "The members' metadata.", support_status=SupportStatus(version="5.0.0")
                    ),
                },
            ),
            "removal_policies": PropertySchema(
                type=PropertyType.LIST,
                description="Which members are to go, whatever the count.",
                default=[],
                update_allowed=True,
                support_status=SupportStatus(version="2015.1"),
                item=_map(
                    "A list of members.",
                    schema={
                        "resource_list": PropertySchema(
                            type=PropertyType.LIST,
                            description="Names or reference ids of members.",
                            default=[],
                        )
                    },
                ),
            ),
            "removal_policies_mode": _text(
                "Whether removals add to earlier ones or take their place.",
                default="append",
                update_allowed=True,
                constraints=(AllowedValues(("append", "update")),),
                support_status=SupportStatus(version="10.0.0"),
            ),
        },
        attributes={
            REFS: AttributeSchema(PropertyType.LIST, "The members' reference ids, by number."),
            REFS_MAP: AttributeSchema(
                PropertyType.MAP,
                "The members' reference ids by their names.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            ATTRIBUTES: AttributeSchema(
                PropertyType.MAP,
                "One attribute of all members, by their names.",
                support_status=SupportStatus(version="2014.2"),
            ),
            REMOVED_ATTRIBUTE: AttributeSchema(
                PropertyType.LIST,
                "The names of members that were removed.",
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
        update_policy={
            "rolling_update": _map(
                "How members change when their definition does.",
                support_status=SupportStatus(version="5.0.0"),
                schema={
                    "min_in_service": _integer("Members that stay as they are meanwhile.", 0, 0),
                    "max_batch_size": _BATCH,
                    "pause_time": _PAUSE,
                },
            ),
            "batch_create": _map(
                "How members are made at first.",
                support_status=SupportStatus(version="5.0.0"),
                schema={"max_batch_size": _BATCH, "pause_time": _PAUSE},
            ),
        },
    )

    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        old = current_members(ask)
        removed = _removed(ask, old)
        target = list(islice(_names(removed), int(ask.properties.get("count") or 0)))
        members, more, pace = self._members(ask, old, target, removed)
        return NestedStackSource(
            build_template_text(members),
            data={"removed": removed, "making": more and _is_made(ask)},
            has_next_step=more,
            pause_s=pace.pause_s,
        )

    def _members(
        self,
        ask: NestedStackRequest,
        old: Mapping[str, Json],
        target: Sequence[str],
        removed: Sequence[str],
    ) -> tuple[dict[str, Json], bool, RollingUpdatePolicy]:
        def new(name: str) -> Json:
            return member_definition(ask.properties, name)

        policy = ask.update_policy
        making = _is_made(ask)
        section = policy.get("batch_create" if making else "rolling_update")
        if ADOPTED_STACK in ask.data and ask.load_template() is None:
            section = None  # all of them are there, and are taken over at once
        kept = {name: item for name, item in old.items() if name not in removed}
        changed = any(kept[name] != new(name) for name in kept)
        if section is None or not (making or changed):
            return {name: new(name) for name in target}, False, RollingUpdatePolicy()
        pace = RollingUpdatePolicy.from_policy(section)
        pace.check_timeout(len(target), ask.timeout_s)
        if making:
            size = min(len(kept) + pace.batch_size, len(target))
            return {name: new(name) for name in target[:size]}, size < len(target), pace

        def name_of(at: int) -> str:
            return next(islice(_names(removed), at, None))

        members, more = roll_by_name(kept, new, target, name_of, pace)
        return members, more, pace

    def data_after_adoption(self, document: Mapping[str, Json]) -> Mapping[str, Json]:
        return {"removed": _told(document)}

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        if ask.properties.get("count") == 0:
            return None
        definition = member_definition(ask.properties, "0")
        if not isinstance(definition["type"], str):
            return None
        return NestedStackSource(build_template_text({"0": with_placeholders(definition)}))

    def final_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        if not is_known({**ask.properties, "resource_def": None}):
            return None
        return self.source(
            replace(ask, properties=with_placeholders(ask.properties), update_policy={})
        )

    def member_count(self, ask: NestedStackRequest) -> int:
        number = ask.properties.get("count")
        return number if isinstance(number, int) else 1

    def order_members(self, behind: NestedStackView, names: Sequence[str]) -> list[str]:
        return sorted(names, key=lambda name: (len(name), name))

    def group_attribute_values(
        self, behind: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        return {REMOVED_ATTRIBUTE: list(behind.owner_resource.data.get("removed") or ())}

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Raises ``InvalidTemplateAttribute`` for what can't be read."""
        if name == ATTRIBUTES and not path:
            raise InvalidTemplateAttribute(
                f'The attribute "{ATTRIBUTES}" of {self.name} takes the name of another'
            )


def member_definition(properties: Mapping[str, Json], name: str) -> dict[str, Json]:
    """A member's definition, its number put in; null properties are dropped."""
    definition = properties.get("resource_def")
    definition = definition if isinstance(definition, Mapping) else {}
    mark = properties.get("index_var")
    mark = mark if isinstance(mark, str) and mark else DEFAULT_INDEX_VAR
    given = definition.get("properties")
    found: dict[str, Json] = {"type": definition.get("type")}
    if isinstance(given, Mapping):
        numbered = {key: _numbered(value, mark, name) for key, value in given.items()}
        found["properties"] = {k: v for k, v in numbered.items() if v is not None}
    elif given is not None:
        found["properties"] = given  # as a whole not known yet
    if definition.get("metadata"):
        found["metadata"] = definition["metadata"]
    return found


def _numbered(value: Json, mark: str, name: str) -> Json:
    if isinstance(value, str):
        return value.replace(mark, name)
    if isinstance(value, Mapping):
        return {key: _numbered(item, mark, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(item, mark, name) for item in value]
    return value


def _is_made(ask: NestedStackRequest) -> bool:
    """Whether the group is being made, perhaps in batches."""
    return ask.load_template() is None or bool(ask.data.get("making"))


def _names(removed: Iterable[str]) -> Iterable[str]:
    gone = set(removed)
    return (name for name in map(str, count()) if name not in gone)


def _removed(ask: NestedStackRequest, old: Mapping[str, Json]) -> list[str]:
    """Names that are not used (again), sorted by number."""
    before = _handed(ask) or [str(name) for name in ask.data.get("removed") or ()]
    asked = [
        str(each)
        for policy in ask.properties.get("removal_policies") or ()
        for each in (policy.get("resource_list") or ())
    ]
    found = set()
    if asked:
        by_reference = _references(ask)
        known = {*old, *before}
        for each in asked:
            if each in known:
                found.add(each)
            elif each in by_reference:
                found.add(by_reference[each])
    if ask.properties.get("removal_policies_mode") != "update":
        found.update(before)
    return sorted(found, key=lambda name: (len(name), name))


def _handed(ask: NestedStackRequest) -> list[str]:
    """Of a group that is handed over."""
    document = ask.data.get(ADOPTED_STACK)
    if not isinstance(document, Mapping) or ask.load_template() is not None:
        return []
    return _told(document)


def _told(document: Mapping[str, Json]) -> list[str]:
    """What the document tells and, for it may be an old one that tells nothing, the
    numbers that its members leave out."""
    data = document.get("resource_data")
    told = data.get("removed") if isinstance(data, Mapping) else None
    there = {str(name) for name in document.get("resources") or ()}
    highest = max((int(name) for name in there if name.isdecimal()), default=-1)
    gaps = {*map(str, range(min(highest, len(there) + _MOST_GAPS)))} - there
    return sorted(gaps.union(map(str, told if isinstance(told, list) else ())))


def _references(ask: NestedStackRequest) -> dict[str, str]:
    """Reference id → member's name, as far as rows tell."""
    found = {}
    for row in ask.load_members():
        for reference in (row.physical_id, row.attributes.get(REFERENCE_ID_KEY)):
            if isinstance(reference, str):
                found[reference] = row.name
    return found
