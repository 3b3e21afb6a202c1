"""The base of groups whose members have generated names and one definition.

Decides the templates of the nested stack: which members are created, changed and removed, and how
a changed definition is rolled out. A type decides the definition, the number of members and the
limits of a rolling update.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.convergence.model.action import Status
from heat_convergence.resources.builtin.nested.group_type import (
    GroupType,
    build_template_text,
    current_members,
)
from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_order,
)
from heat_convergence.resources.builtin.nested.scaled_members import (
    NAME_COUNT,
    MemberNames,
    OrderedMembers,
    adopted_names,
    order_members,
    resize_members,
)
from heat_convergence.resources.nested.nested_type import (
    COOLDOWN_END_KEY,
    SCALING_KEY,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    ScalableGroupType,
)
from heat_convergence.resources.protocol.scaling_adjustment import GroupCompletion
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
_UTC = "+00:00"
ROLLING_SIZE = "rolling"  # key of a group's data: the size of a rolling update under way


class OrderedGroupType(GroupType):
    """A group whose members have generated names and leave in order of their age."""

    @abstractmethod
    def member_definition(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return the definition of new members."""

    @abstractmethod
    def final_size(self, request: NestedStackRequest, working: int) -> int:
        """Return the number of members at the end.

        Args:
            request: The request.
            working: The number of members that have not failed; that of the rolling update while
                one is under way.
        """

    @abstractmethod
    def rolling_policy(self, request: NestedStackRequest) -> RollingUpdatePolicy | None:
        """Return how existing members get a changed definition; None if they keep theirs."""

    def recorded_data(self, request: NestedStackRequest) -> dict[str, Json]:
        """Return what the type records of the group, beside what this class records."""
        return {}

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template of the next batch, or of the requested size."""
        definition = self.member_definition(request)
        data = self._base_data(request)
        adopted = adopted_names(request)
        if adopted:
            text = build_template_text(dict.fromkeys(adopted, definition))
            return NestedStackSource(text, data=data)
        old = order_members(current_members(request), request.load_members())
        final, names = self._final_size(request, old), MemberNames(request)
        outdated = any(each != definition for each in old.present.values())
        rolls = outdated and request.requested_size is None
        policy = self.rolling_policy(request) if rolls else None
        if policy is None:
            members = resize_members(old.present, definition, final, names)
            return NestedStackSource(
                build_template_text(members), data={**data, NAME_COUNT: names.assigned}
            )
        target = request.data.get(ROLLING_SIZE) or max(old.working, 1)
        policy.check_timeout(target, request.timeout_s)
        members = roll_by_order(old.present, definition, target, policy, names.next)
        more = len(members) != final or any(each != definition for each in members.values())
        if more:
            data[ROLLING_SIZE] = target
        return NestedStackSource(
            build_template_text(members),
            data={**data, NAME_COUNT: names.assigned},
            has_next_step=more,
            pause_s=policy.pause_s,
        )

    def resized_text(self, request: NestedStackRequest, definition: Json) -> str:
        """Return the template after the last batch, with this definition of all members."""
        old = order_members(current_members(request), request.load_members())
        size = self._final_size(request, old)
        present = dict.fromkeys(old.present, definition)
        return build_template_text(resize_members(present, definition, size, MemberNames(request)))

    def _final_size(self, request: NestedStackRequest, old: OrderedMembers) -> int:
        return self.final_size(request, request.data.get(ROLLING_SIZE) or old.working)

    def _base_data(self, request: NestedStackRequest) -> dict[str, Json]:
        kept = {key: request.data[key] for key in (COOLDOWN_END_KEY,) if key in request.data}
        return {**kept, **self.recorded_data(request)}

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


class CooldownGroupType(OrderedGroupType, ScalableGroupType):
    """A group whose size scaling policies change, with a cooldown after each change."""

    def final_size(self, request: NestedStackRequest, working: int) -> int:
        """Return the requested, desired or current size within the bounds."""
        bounds, desired = self.scaling_bounds(request.properties), self.desired_size(request)
        if request.requested_size is not None:
            found = request.requested_size
        elif request.load_template() is None:
            found = desired or bounds.min_size
        else:
            found = working if desired is None else desired
        return int(min(max(found, bounds.min_size), bounds.max_size))

    @abstractmethod
    def desired_size(self, request: NestedStackRequest) -> int | None:
        """Return the size that the properties ask for."""

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
        """Return the metadata with the state of scaling and cooldown; times have no zone."""
        ends = context.data.get(COOLDOWN_END_KEY) or {}
        return {
            **metadata,
            COOLDOWN_END_KEY: {until.removesuffix(_UTC): why for until, why in ends.items()},
            "scaling_in_progress": SCALING_KEY in context.data,
        }
