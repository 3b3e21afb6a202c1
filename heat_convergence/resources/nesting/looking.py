"""How the stacks behind resources look: ``traversal.Insight`` for the observer.

Reads rows of the database only, inside the transaction in which it matters; a
stack that is still at work costs one statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import RowsContradict
from heat_convergence.convergence.failing import Sighting
from heat_convergence.convergence.model import (
    Action,
    Desired,
    Goal,
    Input,
    Observed,
    Resource,
    Stack,
    Status,
    Verb,
)
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.wanted import NESTED
from heat_convergence.resources.nesting.kinds import Behind, NestedType
from heat_convergence.resources.nesting.parsed import Parsed
from heat_convergence.resources.nesting.wanting import READS
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import RowInputs
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.outputs import OutputDefinition
from heat_convergence.template.uses import references

OVERTAKEN = "another request came over the nested stack's "  # and what was to be done
_MEMBER_FAILED = re.compile(r"Resource \w+ failed: (\w+): (resources\..*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Looker:
    """``convergence.traversal.Insight``."""

    registry: Registry
    clock: Clock
    limits: Limits = DEFAULT
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    parsed: Parsed = field(default_factory=Parsed)

    def __call__(self, tx: Transaction, rows: Sequence[Resource]) -> Mapping[str, Sighting]:
        kinds = {row.id: self.registry.find(row.implementation) for row in rows}
        nested = [row for row in rows if isinstance(kinds[row.id], NestedType)]
        stacks = tx.get_stacks({row.physical_id for row in nested if row.physical_id})
        behind = {row.id: stacks.get(row.physical_id or "") for row in nested}
        ended = {key: stack for key, stack in behind.items() if stack and not stack.in_progress}
        whole = {row.id: row for row in tx.get_resources(ended)}
        living = [stack for stack in ended.values() if stack.deleted_at is None]
        goals = tx.lean_goals({stack.goal_id for stack in living})
        found = {}
        for row in nested:
            kind = kinds[row.id]
            if row.id in whole and isinstance(kind, NestedType):
                stack = ended[row.id]
                goal = goals.get(stack.goal_id)
                found[row.id] = self._ended(tx, whole[row.id], stack, goal, kind)
            else:
                found[row.id] = _unended(row, behind[row.id])
        return found

    def _ended(
        self, tx: Transaction, row: Resource, stack: Stack, goal: Goal | None, kind: NestedType
    ) -> Sighting:
        if stack.deleted_at is not None:
            return _gone(row)
        told = None
        failed = row.desired is Desired.ABSENT or stack.status is Status.FAILED
        if not failed or row.job is None:
            if goal is None:
                error = RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
                return Sighting(Observed.FAILED, failure(row.name, str(error)))
            behind = self._behind(tx, row, stack, goal)
            told = behind.hidden(kind.read(behind, _reads(row)))
        data = kind.ended(row.data, self.clock())
        reason = stack.status_reason if failed else _overtaken(row, stack)
        if reason:
            reason = failure(row.name, reason)
            return Sighting(
                Observed.FAILED, reason, attributes=told, data=data, final=True
            )
        converging = row.job in (Verb.CONVERGE, Verb.ADOPT)  # other verbs take one step
        progress = (row.data.get("steps") or {}) if converging else {}
        return Sighting(
            Observed.BUSY if progress.get("more") else Observed.READY,
            "state changed",
            attributes=told,
            data=data,
            more=bool(progress.get("more")),
            again_s=progress.get("pause_s", 0.0),
        )

    def _behind(self, tx: Transaction, row: Resource, stack: Stack, goal: Goal) -> Behind:
        known: dict[str, Input] = {}
        asked: set[str] = set()
        for name, data in goal.outputs.items():
            asked |= references(OutputDefinition.load(name, data).value)
        asked |= {
            read[0].split(".", 1)[1] for read in _reads(row) if read[0].startswith("resource.")
        }
        known.update(tx.inputs(stack.id, asked))

        def inputs(names: Collection[str]) -> RowInputs:
            missing = set(names) - asked
            if missing:
                known.update(tx.inputs(stack.id, missing))
                asked.update(missing)
            return RowInputs(known, stack, self.registry, self.clock())

        def names() -> Sequence[str]:
            template = self.parsed.template(goal.template_hash, tx.get_contents)
            return template.resource_names

        return Behind(stack, goal, row, inputs, names, self.limits, self.functions)


def _overtaken(row: Resource, stack: Stack) -> str:
    """What is wrong with a stack that is well, but not what the row waits for: a user's
    request about it came over that."""
    if row.job is None:
        return ""
    if row.job in (Verb.CONVERGE, Verb.ADOPT):
        back = stack.action is Action.ROLLBACK  # to a goal, and not to this one
        wanted, right = str(row.action), stack.at_goal and not back
    else:
        wanted, right = str(row.job), stack.action == row.job
    return "" if right else f"{OVERTAKEN}{wanted}: it is {stack.action}_{stack.status}"


def _reads(row: Resource) -> list[tuple[str, ...]]:
    return [tuple(read) for read in (row.definition.get(NESTED) or {}).get(READS, ())]


def _unended(row: Resource, stack: Stack | None) -> Sighting:
    return _gone(row) if stack is None else Sighting(Observed.BUSY, again_s=None)


def _gone(row: Resource) -> Sighting:
    if row.desired is Desired.ABSENT:
        return Sighting(Observed.ABSENT, "state changed")
    reason = f"ResourceInError: resources.{row.name}: the nested stack is gone"
    return Sighting(Observed.FAILED, reason)


def failure(name: str, reason: str) -> str:
    """A nested stack's reason as its owner's: with the path from the owner down."""
    found = _MEMBER_FAILED.fullmatch(reason)
    if found is None:
        return f"ResourceInError: resources.{name}: {reason}"
    return f"{found[1]}: resources.{name}.{found[2]}"
