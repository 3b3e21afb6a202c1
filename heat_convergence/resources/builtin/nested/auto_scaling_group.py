"""``OS::Heat::AutoScalingGroup``: members of one definition, as many as load asks for.

Decides the members' names, which of them go first, and how a changed definition is
rolled out.  How many there are is told by properties and by scaling policies
(``nesting.scaling``).  Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.common.errors import InvalidTemplateAttribute, StackValidationFailed
from heat_convergence.convergence.model import ADOPTED, Resource, Status
from heat_convergence.resources.adjustment import Bounds
from heat_convergence.resources.builtin.nested.batches import Pace, roll
from heat_convergence.resources.builtin.nested.members import (
    REFS,
    REFS_MAP,
    Group,
    current_members,
    sampled,
    template_text,
)
from heat_convergence.resources.nesting.kinds import (
    INNER,
    Ask,
    Behind,
    ChildSource,
    NestedSchema,
    Read,
    normal,
)
from heat_convergence.resources.nesting.scaling import COOLDOWN_END, SCALING, Scalable
from heat_convergence.resources.plugin import View
from heat_convergence.resources.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.template.constraints import Range
from heat_convergence.template.expression import is_known

Json = Any
OUTPUTS, OUTPUTS_LIST, SIZE = "outputs", "outputs_list", "current_size"
_NAMED, _ROLLING = "named", "rolling"  # in data: how many names were given; a roll-out's size
_NAME_LENGTH = 12
_SAMPLE = "member"


def _integer(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.INTEGER, description=description, **more)


class AutoScalingGroup(Group, Scalable):
    name = "OS::Heat::AutoScalingGroup"
    whole = frozenset({REFS, REFS_MAP, OUTPUTS, OUTPUTS_LIST, SIZE})
    by_name = frozenset({OUTPUTS, OUTPUTS_LIST})
    schema = NestedSchema(
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
            OUTPUTS: AttributeSchema(
                PropertyType.MAP,
                "One attribute of all members, by their names.",
                support_status=SupportStatus(version="2014.2"),
            ),
            OUTPUTS_LIST: AttributeSchema(
                PropertyType.LIST,
                "One attribute of all members, the oldest first.",
                support_status=SupportStatus(version="2014.2"),
            ),
            SIZE: AttributeSchema(
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
                f"desired_capacity {desired} is not between min_size {least}"
                f" and max_size {most}",
                path="desired_capacity",
            )

    # -- the stack behind it

    def source(self, ask: Ask) -> ChildSource:
        definition = dict(ask.properties["resource"])
        adopted = _adopted(ask)
        if adopted:
            return ChildSource(template_text(dict.fromkeys(adopted, definition)))
        old = _in_order(current_members(ask), ask.members())
        final = _wanted_size(ask, old)
        names = _Names(ask)
        pace = Pace.of(ask.properties.get("rolling_updates") or {})
        outdated = [name for name in old.present if old.present[name] != definition]
        data = {key: ask.data[key] for key in (COOLDOWN_END,) if key in ask.data}
        if not outdated or ask.size is not None:
            members = _resized(old.present, definition, final, names)
            return ChildSource(template_text(members), data={**data, _NAMED: names.given})
        target = ask.data.get(_ROLLING) or max(old.working, 1)
        pace.check(target, ask.timeout_s)
        members = roll(old.present, definition, target, pace, names.next)
        more = len(members) != final or any(each != definition for each in members.values())
        if more:
            data[_ROLLING] = target
        return ChildSource(
            template_text(members),
            data={**data, _NAMED: names.given},
            more=more,
            pause_s=pace.pause_s,
        )

    def sample(self, ask: Ask) -> ChildSource | None:
        definition = ask.properties.get("resource")
        if not isinstance(definition, Mapping) or not isinstance(definition.get("type"), str):
            return None
        return ChildSource(template_text({_SAMPLE: sampled(dict(definition))}))

    def final(self, ask: Ask) -> ChildSource | None:
        if not is_known({**ask.properties, "resource": None}):
            return None
        definition = sampled(dict(ask.properties["resource"]))
        old = _in_order(current_members(ask), ask.members())
        present = dict.fromkeys(old.present, definition)
        members = _resized(present, definition, _wanted_size(ask, old), _Names(ask))
        return ChildSource(template_text(members))

    def size(self, ask: Ask) -> int:
        given = ask.properties
        found = given.get("desired_capacity") or given.get("min_size")
        return found if isinstance(found, int) else 1

    # -- scaling

    def bounds(self, properties: Mapping[str, Json]) -> Bounds:
        return Bounds(
            int(properties["min_size"]),
            int(properties["max_size"]),
            float(properties.get("cooldown") or 0),
        )

    def ended(self, data: Mapping[str, Json], now: datetime) -> Mapping[str, Json] | None:
        """The time to cool down begins when the scaling is over."""
        scaling = data.get(SCALING)
        if scaling is None:
            return None
        until = now + timedelta(seconds=scaling["cooldown_s"])
        kept = {key: item for key, item in data.items() if key != SCALING}
        return {**kept, COOLDOWN_END: {until.isoformat(): scaling["why"]}}

    def metadata_of(self, view: View, given: Mapping[str, Json]) -> Mapping[str, Json]:
        return {
            **given,
            COOLDOWN_END: view.data.get(COOLDOWN_END) or {},
            "scaling_in_progress": SCALING in view.data,
        }

    # -- attributes

    def ordered(self, behind: Behind, names: Sequence[str]) -> list[str]:
        """The oldest first, without those that have failed."""
        rows = behind.inputs(names).rows
        found = [rows[name] for name in names if name in rows]
        working = [row for row in found if row.status is not Status.FAILED]
        return [row.name for row in sorted(working, key=lambda row: (row.created_at, row.name))]

    def member_named(self, part: str, names: Sequence[str]) -> str:
        """N counts members as they are ordered."""
        at = int(part) if part.isdecimal() else len(names)
        return names[at] if at < len(names) else ""

    def facts(self, behind: Behind, names: Sequence[str]) -> dict[str, Json]:
        return {SIZE: len(names)}

    def _value(self, behind: Behind, names: Sequence[str], read: Read) -> Json:
        name, *path = read
        if name == OUTPUTS:
            return {each: behind.inner(each, path) for each in names} if path else None
        if name == OUTPUTS_LIST:
            return [behind.inner(each, path) for each in names] if path else None
        return super()._value(behind, names, read)

    def passes_on(
        self, reads: Collection[Read], members: Collection[str]
    ) -> dict[str, set[Read]]:
        """Which member is the N-th is known when they are there: all may be."""
        inner = (
            path
            for name, *path in reads
            if name in self.by_name or name.startswith(INNER)
        )
        below = {normal(path[0], path[1:]) for path in inner if path} - {None}
        return {each: {read for read in below if read} for each in members} if below else {}

    def check_read(self, name: str, path: Sequence[Json]) -> None:
        """Raises ``InvalidTemplateAttribute`` for what can't be read."""
        if name in self.by_name and not path:
            raise InvalidTemplateAttribute(
                f'The attribute "{name}" of {self.name} takes the name of another'
            )


class _Members:
    """Definitions in the order in which members go: those that failed, then the oldest;
    ``working`` is how many have not failed."""

    def __init__(self, present: Mapping[str, Json], working: int) -> None:
        self.present = present
        self.working = working


def _adopted(ask: Ask) -> list[str]:
    """Names of members that come with a group which is handed over: they keep them,
    for under others they would be made anew."""
    document = ask.data.get(ADOPTED)
    if ask.current() is not None or not isinstance(document, Mapping):
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


def _wanted_size(ask: Ask, old: _Members) -> int:
    given = ask.properties
    if ask.size is not None:
        found = ask.size
    elif ask.current() is None:
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

    def __init__(self, ask: Ask) -> None:
        self.given = int(ask.data.get(_NAMED) or 0)
        self._seed = ask.seed

    def next(self) -> str:
        digest = hashlib.sha256(f"{self._seed} {self.given}".encode()).digest()
        self.given += 1
        return base64.b32encode(digest).decode("ascii").lower()[:_NAME_LENGTH]
