"""``OS::Heat::AutoScalingGroup``: members of one definition, as many as load asks for.

Decides the members' names, which of them go first, and how a changed definition is
rolled out.  How many there are is told by properties and by scaling policies
(``nesting.scaling_notification``).  Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.common.errors import InvalidTemplateAttribute, StackValidationFailed
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.resource import ADOPTED_STACK, Resource
from heat_convergence.resources.builtin.nested.group_type import (
    REFS,
    REFS_MAP,
    GroupType,
    build_template_text,
    current_members,
    with_placeholders,
)
from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_order,
)
from heat_convergence.resources.nested.nested_type import (
    COOLDOWN_END_KEY,
    MEMBER_ATTRIBUTE_PREFIX,
    SCALING_KEY,
    AttributePath,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedTypeSchema,
    ScalableGroupType,
    normalize_attribute_path,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.scaling_adjustment import ScalingBounds
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.template.expression import is_known
from heat_convergence.template.parameters.constraints import Range

Json = Any
OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE, SIZE_ATTRIBUTE = (
    "outputs",
    "outputs_list",
    "current_size",
)
_NAMED, _ROLLING = "named", "rolling"  # in data: how many names were given; a roll-out's size
_NAME_LENGTH = 12
_SAMPLE = "member"


def _integer(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.INTEGER, description=description, **more)


class AutoScalingGroup(GroupType, ScalableGroupType):
    name = "OS::Heat::AutoScalingGroup"
    group_attributes = frozenset(
        {REFS, REFS_MAP, OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE, SIZE_ATTRIBUTE}
    )
    attributes_by_member = frozenset({OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE})
    schema = NestedTypeSchema(
        description="Resources of one definition, whose number policies change.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "resource": PropertySchema(
                type=PropertyType.MAP,
                description="What each member is, written as in a template.",
                required=True,
                update_allowed=True,
            ),
            "max_size": _integer(
                "How many members there may be.",
                required=True,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "min_size": _integer(
                "How many members there are at least.",
                required=True,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "cooldown": _integer(
                "How many seconds after one scaling the next may begin.", update_allowed=True
            ),
            "desired_capacity": _integer(
                "How many members there are after a create or an update.", update_allowed=True
            ),
            "rolling_updates": PropertySchema(
                type=PropertyType.MAP,
                description="How members change when their definition does.",
                default={"min_in_service": 0, "max_batch_size": 1, "pause_time": 0},
                update_allowed=True,
                schema={
                    "min_in_service": _integer(
                        "Members that stay as they are meanwhile.",
                        default=0,
                        constraints=(Range(min=0),),
                    ),
                    "max_batch_size": _integer(
                        "How many members change at once, at most.",
                        default=1,
                        constraints=(Range(min=1),),
                    ),
                    "pause_time": PropertySchema(
                        type=PropertyType.NUMBER,
                        description="Seconds to wait between two batches.",
                        default=0,
                        constraints=(Range(min=0),),
                    ),
                },
            ),
        },
        attributes={
            OUTPUTS_ATTRIBUTE: AttributeSchema(
                PropertyType.MAP,
                "One attribute of all members, by their names.",
                support_status=SupportStatus(version="2014.2"),
            ),
            OUTPUTS_LIST_ATTRIBUTE: AttributeSchema(
                PropertyType.LIST,
                "One attribute of all members, the oldest first.",
                support_status=SupportStatus(version="2014.2"),
            ),
            SIZE_ATTRIBUTE: AttributeSchema(
                PropertyType.INTEGER,
                "How many members there are.",
                support_status=SupportStatus(version="2015.1"),
            ),
            REFS: AttributeSchema(
                PropertyType.LIST,
                "The members' reference ids, the oldest first.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            REFS_MAP: AttributeSchema(
                PropertyType.MAP,
                "The members' reference ids by their names.",
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
    )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        least, most = properties.get("min_size"), properties.get("max_size")
        desired = properties.get("desired_capacity")
        if least is not None and most is not None and least > most:
            raise StackValidationFailed(
                f"min_size {least} is more than max_size {most}", path="min_size"
            )
        above = desired is not None and most is not None and desired > most
        if above or (desired is not None and least is not None and desired < least):
            raise StackValidationFailed(
                f"desired_capacity {desired} is not between min_size {least} and max_size {most}",
                path="desired_capacity",
            )

    # -- the stack behind it

    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        definition = dict(ask.properties["resource"])
        adopted = _adopted(ask)
        if adopted:
            return NestedStackSource(build_template_text(dict.fromkeys(adopted, definition)))
        old = _in_order(current_members(ask), ask.load_members())
        final = _wanted_size(ask, old)
        names = _Names(ask)
        pace = RollingUpdatePolicy.from_policy(ask.properties.get("rolling_updates") or {})
        outdated = [name for name in old.present if old.present[name] != definition]
        data = {key: ask.data[key] for key in (COOLDOWN_END_KEY,) if key in ask.data}
        if not outdated or ask.requested_size is not None:
            members = _resized(old.present, definition, final, names)
            return NestedStackSource(
                build_template_text(members), data={**data, _NAMED: names.given}
            )
        target = ask.data.get(_ROLLING) or max(old.working, 1)
        pace.check_timeout(target, ask.timeout_s)
        members = roll_by_order(old.present, definition, target, pace, names.next)
        more = len(members) != final or any(each != definition for each in members.values())
        if more:
            data[_ROLLING] = target
        return NestedStackSource(
            build_template_text(members),
            data={**data, _NAMED: names.given},
            has_next_step=more,
            pause_s=pace.pause_s,
        )

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        definition = ask.properties.get("resource")
        if not isinstance(definition, Mapping) or not isinstance(definition.get("type"), str):
            return None
        return NestedStackSource(
            build_template_text({_SAMPLE: with_placeholders(dict(definition))})
        )

    def final_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        if not is_known({**ask.properties, "resource": None}):
            return None
        definition = with_placeholders(dict(ask.properties["resource"]))
        old = _in_order(current_members(ask), ask.load_members())
        present = dict.fromkeys(old.present, definition)
        members = _resized(present, definition, _wanted_size(ask, old), _Names(ask))
        return NestedStackSource(build_template_text(members))

    def member_count(self, ask: NestedStackRequest) -> int:
        given = ask.properties
        found = given.get("desired_capacity") or given.get("min_size")
        return found if isinstance(found, int) else 1

    # -- scaling

    def scaling_bounds(self, properties: Mapping[str, Json]) -> ScalingBounds:
        return ScalingBounds(
            int(properties["min_size"]),
            int(properties["max_size"]),
            float(properties.get("cooldown") or 0),
        )

    def data_after_completion(
        self, data: Mapping[str, Json], now: datetime
    ) -> Mapping[str, Json] | None:
        """The time to cool down begins when the scaling is over."""
        scaling = data.get(SCALING_KEY)
        if scaling is None:
            return None
        until = now + timedelta(seconds=scaling["cooldown_s"])
        kept = {key: item for key, item in data.items() if key != SCALING_KEY}
        return {**kept, COOLDOWN_END_KEY: {until.isoformat(): scaling["why"]}}

    def shown_metadata(
        self, context: ResourceContext, given: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        return {
            **given,
            COOLDOWN_END_KEY: context.data.get(COOLDOWN_END_KEY) or {},
            "scaling_in_progress": SCALING_KEY in context.data,
        }

    # -- attributes

    def order_members(self, behind: NestedStackView, names: Sequence[str]) -> list[str]:
        """The oldest first, without those that have failed."""
        rows = behind.load_inputs(names).rows
        found = [rows[name] for name in names if name in rows]
        working = [row for row in found if row.status is not Status.FAILED]
        return [row.name for row in sorted(working, key=lambda row: (row.created_at, row.name))]

    def resolve_member_name(self, part: str, names: Sequence[str]) -> str:
        """N counts members as they are ordered."""
        at = int(part) if part.isdecimal() else len(names)
        return names[at] if at < len(names) else ""

    def group_attribute_values(
        self, behind: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        return {SIZE_ATTRIBUTE: len(names)}

    def _value(self, behind: NestedStackView, names: Sequence[str], read: AttributePath) -> Json:
        name, *path = read
        if name == OUTPUTS_ATTRIBUTE:
            return {each: behind.member_value(each, path) for each in names} if path else None
        if name == OUTPUTS_LIST_ATTRIBUTE:
            return [behind.member_value(each, path) for each in names] if path else None
        return super()._value(behind, names, read)

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Which member is the N-th is known when they are there: all may be."""
        inner = (
            path
            for name, *path in reads
            if name in self.attributes_by_member or name.startswith(MEMBER_ATTRIBUTE_PREFIX)
        )
        below = {normalize_attribute_path(path[0], path[1:]) for path in inner if path} - {None}
        return {each: {read for read in below if read} for each in members} if below else {}

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Raises ``InvalidTemplateAttribute`` for what can't be read."""
        if name in self.attributes_by_member and not path:
            raise InvalidTemplateAttribute(
                f'The attribute "{name}" of {self.name} takes the name of another'
            )


class _Members:
    """Definitions in the order in which members go: those that failed, then the oldest;
    ``track`` is how many have not failed."""

    def __init__(self, present: Mapping[str, Json], working: int) -> None:
        self.present = present
        self.working = working


def _adopted(ask: NestedStackRequest) -> list[str]:
    """Names of members that come with a group which is handed over: they keep them,
    for under others they would be made anew."""
    document = ask.data.get(ADOPTED_STACK)
    if ask.load_template() is not None or not isinstance(document, Mapping):
        return []
    return sorted(document.get("resources") or {})


def _in_order(definitions: Mapping[str, Json], rows: Sequence[Resource]) -> _Members:
    known = {row.name: row for row in rows}
    failed = {name for name, row in known.items() if row.status is Status.FAILED}

    def place(name: str) -> tuple[Any, ...]:
        at = known[name].created_at.timestamp() if name in known else float("inf")
        return (name not in failed, at, name)

    names = sorted(definitions, key=place)
    present = {name: definitions[name] for name in names}
    return _Members(present, len(definitions.keys() - failed))


def _wanted_size(ask: NestedStackRequest, old: _Members) -> int:
    given = ask.properties
    if ask.requested_size is not None:
        found = ask.requested_size
    elif ask.load_template() is None:
        found = given.get("desired_capacity") or given["min_size"]
    else:
        desired = given.get("desired_capacity")
        found = ask.data.get(_ROLLING) or old.working if desired is None else desired
    return int(min(max(found, given["min_size"]), given["max_size"]))


def _resized(
    old: Mapping[str, Json], definition: Json, size: int, names: _Names
) -> dict[str, Json]:
    kept = dict(list(old.items())[max(len(old) - size, 0) :])
    added = [names.next() for _ in range(size - len(kept))]
    return {**kept, **dict.fromkeys(added, definition)}


class _Names:
    """New members' names: never one twice, and the same when asked again for the same
    step after a crash."""

    def __init__(self, ask: NestedStackRequest) -> None:
        self.given = int(ask.data.get(_NAMED) or 0)
        self._seed = ask.random_seed

    def next(self) -> str:
        digest = hashlib.sha256(f"{self._seed} {self.given}".encode()).digest()
        self.given += 1
        return base64.b32encode(digest).decode("ascii").lower()[:_NAME_LENGTH]
