"""``OS::Heat::AutoScalingGroup``: members of one definition, whose number policies change.

Decides the members' names, the order of their removal, and how a changed definition is rolled
out. Properties and scaling policies (``stacks.group_scaling``) decide their number.

Source: docs/reference/resource-groups.rst.
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
from heat_convergence.resources.protocol.scaling_adjustment import GroupCompletion, ScalingBounds
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    SupportStatus,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.template.expression import is_known
from heat_convergence.template.parameters.constraints import Range

Json = Any
OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE, SIZE_ATTRIBUTE = (
    "outputs",
    "outputs_list",
    "current_size",
)
# Keys of data: the number of names assigned so far; the size of a rolling update.
_NAMED, _ROLLING = "named", "rolling"
_NAME_LENGTH = 12
_SAMPLE = "member"


def _integer(description: str, **more: Any) -> PropertySchema:
    return PropertySchema(type=PropertyType.INTEGER, description=description, **more)


class AutoScalingGroup(GroupType, ScalableGroupType):
    """A group whose size scaling policies change."""

    name = "OS::Heat::AutoScalingGroup"
    group_attributes = frozenset(
        {REFS, REFS_MAP, OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE, SIZE_ATTRIBUTE}
    )
    attributes_by_member = frozenset({OUTPUTS_ATTRIBUTE, OUTPUTS_LIST_ATTRIBUTE})
    schema = NestedTypeSchema(
        description="An autoscaling group that can scale arbitrary resources.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "resource": PropertySchema(
                type=PropertyType.MAP,
                description="Resource definition for the members, in HOT format.",
                required=True,
                update_allowed=True,
            ),
            "max_size": _integer(
                "Maximum number of members in the group.",
                required=True,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "min_size": _integer(
                "Minimum number of members in the group.",
                required=True,
                update_allowed=True,
                constraints=(Range(min=0),),
            ),
            "cooldown": _integer("Cooldown period, in seconds.", update_allowed=True),
            "desired_capacity": _integer(
                "Desired number of members after a create or an update.", update_allowed=True
            ),
            "rolling_updates": PropertySchema(
                type=PropertyType.MAP,
                description="Policy for rolling updates of the members.",
                default={"min_in_service": 0, "max_batch_size": 1, "pause_time": 0},
                update_allowed=True,
                schema={
                    "min_in_service": _integer(
                        "Minimum number of members in service during an update.",
                        default=0,
                        constraints=(Range(min=0),),
                    ),
                    "max_batch_size": _integer(
                        "Maximum number of members in a batch.",
                        default=1,
                        constraints=(Range(min=1),),
                    ),
                    "pause_time": PropertySchema(
                        type=PropertyType.NUMBER,
                        description="Seconds to wait between batches.",
                        default=0,
                        constraints=(Range(min=0),),
                    ),
                },
            ),
        },
        attributes={
            OUTPUTS_ATTRIBUTE: AttributeSchema(
                PropertyType.MAP,
                "Map of member names to the specified attribute of each.",
                support_status=SupportStatus(version="2014.2"),
            ),
            OUTPUTS_LIST_ATTRIBUTE: AttributeSchema(
                PropertyType.LIST,
                "List of the specified attribute of each member, the oldest first.",
                support_status=SupportStatus(version="2014.2"),
            ),
            SIZE_ATTRIBUTE: AttributeSchema(
                PropertyType.INTEGER,
                "Current number of members.",
                support_status=SupportStatus(version="2015.1"),
            ),
            REFS: AttributeSchema(
                PropertyType.LIST,
                "Reference IDs of the members, the oldest first.",
                support_status=SupportStatus(version="7.0.0"),
            ),
            REFS_MAP: AttributeSchema(
                PropertyType.MAP,
                "Map of member names to their reference IDs.",
                support_status=SupportStatus(version="7.0.0"),
            ),
        },
    )

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the sizes.

        Raises:
            StackValidationFailed: They contradict each other.
        """
        least, most = properties.get("min_size"), properties.get("max_size")
        desired = properties.get("desired_capacity")
        if least is not None and most is not None and least > most:
            raise StackValidationFailed(
                f"min_size {least} is more than max_size {most}", path="min_size"
            )
        too_many = desired is not None and most is not None and desired > most
        if too_many or (desired is not None and least is not None and desired < least):
            raise StackValidationFailed(
                f"desired_capacity {desired} is not between min_size {least} and max_size {most}",
                path="desired_capacity",
            )

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template of the next batch, or of the requested size."""
        definition = dict(request.properties["resource"])
        adopted = _adopted(request)
        if adopted:
            return NestedStackSource(build_template_text(dict.fromkeys(adopted, definition)))
        old = _in_order(current_members(request), request.load_members())
        final = _desired_size(request, old)
        names = _Names(request)
        policy = RollingUpdatePolicy.from_policy(request.properties.get("rolling_updates") or {})
        outdated = [name for name in old.present if old.present[name] != definition]
        data = {key: request.data[key] for key in (COOLDOWN_END_KEY,) if key in request.data}
        if not outdated or request.requested_size is not None:
            members = _resized(old.present, definition, final, names)
            return NestedStackSource(
                build_template_text(members), data={**data, _NAMED: names.assigned}
            )
        target = request.data.get(_ROLLING) or max(old.working, 1)
        policy.check_timeout(target, request.timeout_s)
        members = roll_by_order(old.present, definition, target, policy, names.next)
        more = len(members) != final or any(each != definition for each in members.values())
        if more:
            data[_ROLLING] = target
        return NestedStackSource(
            build_template_text(members),
            data={**data, _NAMED: names.assigned},
            has_next_step=more,
            pause_s=policy.pause_s,
        )

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return a template with one member, if its type is known."""
        definition = request.properties.get("resource")
        if not isinstance(definition, Mapping) or not isinstance(definition.get("type"), str):
            return None
        return NestedStackSource(
            build_template_text({_SAMPLE: with_placeholders(dict(definition))})
        )

    def final_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template after the last batch, if all properties are known."""
        if not is_known({**request.properties, "resource": None}):
            return None
        definition = with_placeholders(dict(request.properties["resource"]))
        old = _in_order(current_members(request), request.load_members())
        present = dict.fromkeys(old.present, definition)
        members = _resized(present, definition, _desired_size(request, old), _Names(request))
        return NestedStackSource(build_template_text(members))

    def member_count(self, request: NestedStackRequest) -> int:
        """Return the number of members, 1 while it is not known."""
        found = request.properties.get("desired_capacity") or request.properties.get("min_size")
        return found if isinstance(found, int) else 1

    def scaling_bounds(self, properties: Mapping[str, Json]) -> ScalingBounds:
        """Return the bounds that the properties set."""
        return ScalingBounds(
            int(properties["min_size"]),
            int(properties["max_size"]),
            float(properties.get("cooldown") or 0),
        )

    def data_after_completion(self, completion: GroupCompletion) -> Mapping[str, Json] | None:
        """Return the data after an action.

        A cooldown starts when the group was created, updated or scaled; none ends earlier
        thereby.
        """
        scaling = completion.data.get(SCALING_KEY)
        if scaling is not None:
            cooldown_s, why = scaling["cooldown_s"], scaling["why"]
        elif completion.converged:
            cooldown_s = self.scaling_bounds(completion.properties).cooldown_s
            why = f"ExactCapacity : {completion.count_members()}"
        else:
            return None
        until = completion.now + timedelta(seconds=cooldown_s)
        ends = completion.data.get(COOLDOWN_END_KEY) or {}
        later = any(datetime.fromisoformat(end) > until for end in ends)
        kept = {key: item for key, item in completion.data.items() if key != SCALING_KEY}
        return kept if later else {**kept, COOLDOWN_END_KEY: {until.isoformat(): why}}

    def shown_metadata(
        self, context: ResourceContext, metadata: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the metadata with the state of scaling and cooldown."""
        return {
            **metadata,
            COOLDOWN_END_KEY: context.data.get(COOLDOWN_END_KEY) or {},
            "scaling_in_progress": SCALING_KEY in context.data,
        }

    def order_members(self, nested_stack: NestedStackView, names: Sequence[str]) -> list[str]:
        """Return the members, the oldest first, without those that have failed."""
        rows = nested_stack.load_inputs(names).rows
        found = [rows[name] for name in names if name in rows]
        working = [row for row in found if row.status is not Status.FAILED]
        return [row.name for row in sorted(working, key=lambda row: (row.created_at, row.name))]

    def resolve_member_name(self, part: str, names: Sequence[str]) -> str:
        """Return the member at a position in ``order_members``, or no name."""
        at = int(part) if part.isdecimal() else len(names)
        return names[at] if at < len(names) else ""

    def group_attribute_values(
        self, nested_stack: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        """Return the current size."""
        return {SIZE_ATTRIBUTE: len(names)}

    def _value(
        self, nested_stack: NestedStackView, names: Sequence[str], read: AttributePath
    ) -> Json:
        name, *path = read
        if name == OUTPUTS_ATTRIBUTE:
            return (
                {each: nested_stack.member_value(each, path) for each in names} if path else None
            )
        if name == OUTPUTS_LIST_ATTRIBUTE:
            return [nested_stack.member_value(each, path) for each in names] if path else None
        return super()._value(nested_stack, names, read)

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Return the paths for every member, because positions are not known yet."""
        inner = (
            path
            for name, *path in reads
            if name in self.attributes_by_member or name.startswith(MEMBER_ATTRIBUTE_PREFIX)
        )
        paths = {normalize_attribute_path(path[0], path[1:]) for path in inner if path} - {None}
        return {each: {read for read in paths if read} for each in members} if paths else {}

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Check the path of an attribute that a template reads.

        Raises:
            InvalidTemplateAttribute: An attribute by member is read without the name of an
                attribute.
        """
        if name in self.attributes_by_member and not path:
            raise InvalidTemplateAttribute(
                f'The attribute "{name}" of {self.name} takes the name of another'
            )


class _Members:
    """Definitions in order of removal, failed members first, then the oldest.

    ``working`` is the number of members that have not failed.
    """

    def __init__(self, present: Mapping[str, Json], working: int) -> None:
        """Keep the ordered definitions and the number of working members."""
        self.present = present
        self.working = working


def _adopted(request: NestedStackRequest) -> list[str]:
    """Return the names of members of a group that is being adopted.

    They keep their names, because others would be created under new names.
    """
    document = request.data.get(ADOPTED_STACK)
    if request.load_template() is not None or not isinstance(document, Mapping):
        return []
    return sorted(document.get("resources") or {})


def _in_order(definitions: Mapping[str, Json], rows: Sequence[Resource]) -> _Members:
    known = {row.name: row for row in rows}
    failed = {name for name, row in known.items() if row.state.status is Status.FAILED}

    def place(name: str) -> tuple[Any, ...]:
        """Return the sort key of a member."""
        at = known[name].identity.created_at.timestamp() if name in known else float("inf")
        return (name not in failed, at, name)

    names = sorted(definitions, key=place)
    present = {name: definitions[name] for name in names}
    return _Members(present, len(definitions.keys() - failed))


def _desired_size(request: NestedStackRequest, old: _Members) -> int:
    properties = request.properties
    if request.requested_size is not None:
        found = request.requested_size
    elif request.load_template() is None:
        found = properties.get("desired_capacity") or properties["min_size"]
    else:
        desired = properties.get("desired_capacity")
        found = request.data.get(_ROLLING) or old.working if desired is None else desired
    return int(min(max(found, properties["min_size"]), properties["max_size"]))


def _resized(
    old: Mapping[str, Json], definition: Json, size: int, names: _Names
) -> dict[str, Json]:
    kept = dict(list(old.items())[max(len(old) - size, 0) :])
    added = [names.next() for _ in range(size - len(kept))]
    return {**kept, **dict.fromkeys(added, definition)}


class _Names:
    """Names of new members.

    They are unique, and the same again for a step that is repeated after a crash.
    """

    def __init__(self, request: NestedStackRequest) -> None:
        """Continue after the names that the group's data counts."""
        self.assigned = int(request.data.get(_NAMED) or 0)
        self._seed = request.random_seed

    def next(self) -> str:
        """Return another name."""
        digest = hashlib.sha256(f"{self._seed} {self.assigned}".encode()).digest()
        self.assigned += 1
        return base64.b32encode(digest).decode("ascii").lower()[:_NAME_LENGTH]
