"""What an update would do, found out without touching the cloud.

Called by the previews.  Plans exactly as a traversal would and decides for each
resource as an engine would, with what is known now; a value that only the update
will tell counts as changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from heat_convergence.common.errors import TemplateOutputError
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.deciding import (
    Change,
    Step,
    step_before_properties,
    update_step,
)
from heat_convergence.convergence.incarnations import BARRED
from heat_convergence.convergence.model import Desired, Input, Resource, Stack
from heat_convergence.convergence.plan import plan_goal
from heat_convergence.convergence.wanted import Moment, Wanted
from heat_convergence.resources import properties as props
from heat_convergence.resources.plugin import ResourceType
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import RowInputs
from heat_convergence.template.definition import Definition
from heat_convergence.template.evaluate import advance
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.base import UNKNOWN, Function
from heat_convergence.template.limits import Limits

Json = Any


class Fate(StrEnum):
    """The five lists of a preview."""

    UNCHANGED = "unchanged"
    UPDATED = "updated"
    REPLACED = "replaced"
    ADDED = "added"
    DELETED = "deleted"


_FATES = {
    Step.NOTHING: Fate.UNCHANGED,
    Step.OBSERVE: Fate.UNCHANGED,
    Step.EXTERNAL: Fate.UNCHANGED,
    Step.ADOPT: Fate.ADDED,
    Step.UPDATE: Fate.UPDATED,
    Step.REFUSE: Fate.UPDATED,
    Step.REPLACE: Fate.REPLACED,
    Step.CREATE: Fate.ADDED,
    Step.FIND_OR_CREATE: Fate.ADDED,
}


_RESTRICTED = {Step.UPDATE: "update", Step.REPLACE: "replace"}
_FORBIDDEN = "; the update will fail: the environment restricts it"


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One resource's fate.  ``row`` is what is there now, ``after`` the properties
    wanted, with expressions where a value is not known yet; ``why`` is for people."""

    name: str
    fate: Fate
    row: Resource | None
    definition: Definition | None
    before: Mapping[str, Json]
    after: Mapping[str, Json]
    changed: frozenset[str] = frozenset()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Now:
    """What is there, and what foreseeing takes; ``later``: the template may hang on
    values that are not known yet."""

    stack: Stack
    rows: Sequence[Resource]
    registry: Registry
    now: datetime
    ids: IdFactory
    limits: Limits
    functions: Mapping[str, Function]
    later: bool = False


def foresee(
    now: Now, evaluated: EvaluatedTemplate, wanted: Mapping[str, Wanted]
) -> list[Foreseen]:
    """Every resource of the old and the new goal, in the order of the new graph."""
    at = Moment(now.stack.id, now.stack.name, now.stack.version + 1, now.now, now.ids)
    plan = plan_goal(now.rows, wanted, at)
    jobs = {
        row.name: row
        for row in (*plan.added, *plan.changed, *plan.rejobbed)
        if row.desired is Desired.PRESENT
    }
    present = {row.name: row for row in now.rows if row.desired is Desired.PRESENT}
    oracle = _Oracle(now, present)
    for name in evaluated.graph.order():
        kind = now.registry.get(wanted[name].implementation)
        oracle.tell(evaluated.definitions[name], jobs.get(name), kind)
    gone = [row for name, row in sorted(present.items()) if name not in wanted]
    return [*oracle.told.values(), *(deleted(row) for row in gone)]


class _Oracle:
    """Goes through the graph, requirements first; answers to expressions what will
    still be so then.  ``template.scopes.Inputs``."""

    def __init__(self, now: Now, present: Mapping[str, Resource]) -> None:
        self.told: dict[str, Foreseen] = {}
        self._now = now
        self._present = present
        inputs = {name: Input.of(row) for name, row in present.items()}
        self._inputs = RowInputs(inputs, now.stack, now.registry, now.now)

    def reference_id(self, resource: str) -> Json:
        if self._fate(resource) in (Fate.REPLACED, Fate.ADDED):
            return UNKNOWN
        return self._inputs.reference_id(resource)

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        if self._fate(resource) is not Fate.UNCHANGED:
            return UNKNOWN
        try:
            return self._inputs.attribute(resource, name, path)
        except TemplateOutputError:
            return UNKNOWN  # who reads it fails; a preview tells of fates, not of that

    def tell(self, definition: Definition, job: Resource | None, kind: ResourceType) -> None:
        """``job`` None where a traversal would leave the resource alone."""
        name = definition.name
        before = self._present.get(name)
        after = self._after(definition, kind)
        foreseen = Foreseen(
            name, Fate.UNCHANGED, before, definition,
            (before.properties or {}) if before else {}, after,
        )
        if job is not None:
            foreseen = self._changed(foreseen, job, kind)
        self.told[name] = foreseen

    def _fate(self, resource: str) -> Fate:
        found = self.told.get(resource)
        return Fate.ADDED if found is None else found.fate

    def _after(self, definition: Definition, kind: ResourceType) -> dict[str, Json]:
        given = self._now
        raw = advance(
            definition.properties,
            self,
            limits=given.limits,
            functions=given.functions,
            later=given.later,
        )
        if not isinstance(raw, Mapping):  # a whole map that is not known yet
            return {}
        known = props.known_properties(kind.schema, raw)
        return known | {name: raw[name] for name in raw if not is_known(raw[name])}

    def _changed(self, foreseen: Foreseen, job: Resource, kind: ResourceType) -> Foreseen:
        before = foreseen.row
        if before is None:
            return replace(foreseen, fate=Fate.ADDED)
        definition_type = job.type if foreseen.definition is None else foreseen.definition.type
        names = _differing(foreseen.before, foreseen.after)
        barred = BARRED in job.guards
        if job.id != before.id or barred:
            why = _why_new(before, definition_type) + (_FORBIDDEN if barred else "")
            return replace(foreseen, fate=Fate.REPLACED, changed=names, why=why)
        idle = not job.must_run and all(
            self._fate(name) is Fate.UNCHANGED for name in job.draws_on
        )
        if idle:
            return foreseen
        step = step_before_properties(job) or update_step(job, _change(foreseen, names, kind))
        why = _why(step, names, kind)
        if _RESTRICTED.get(step) in job.guards:
            why = f"{why}{_FORBIDDEN}" if why else _FORBIDDEN.lstrip(";, ")
        return replace(foreseen, fate=_FATES[step], changed=names, why=why)


def _change(foreseen: Foreseen, names: frozenset[str], kind: ResourceType) -> Change:
    return Change(
        names=names,
        in_place=kind.schema.update_allowed,
        immutable=kind.schema.immutable,
        needs_new=lambda changed: kind.replaces_on(
            foreseen.before,
            {name: value for name, value in foreseen.after.items() if is_known(value)},
            changed,
        ),
    )


def _differing(before: Mapping[str, Json], after: Mapping[str, Json]) -> frozenset[str]:
    open_names = frozenset(name for name, value in after.items() if not is_known(value))
    known = {name: value for name, value in after.items() if name not in open_names}
    rest = {name: value for name, value in before.items() if name not in open_names}
    return props.changed(rest, known) | open_names


def _why_new(before: Resource, wanted_type: str) -> str:
    if before.type != wanted_type:
        return f"its type changes from {before.type} to {wanted_type}"
    return f"it is in {before.action}_{before.status}"


def _why(step: Step, names: frozenset[str], kind: ResourceType) -> str:
    if step is Step.REFUSE:
        listed = ", ".join(sorted(n for n in names if kind.schema.immutable(n)))
        return f"the update will fail: {listed} must not be changed"
    if step is Step.REPLACE:
        fixed = sorted(name for name in names if not kind.schema.update_allowed(name))
        if fixed:
            return f"{', '.join(fixed)} cannot be changed in place"
        return "it cannot be changed in place as it is now"
    return ""


def deleted(row: Resource) -> Foreseen:
    return Foreseen(
        row.name, Fate.DELETED, row, None, row.properties or {}, {},
        why="the template does not have it any more",
    )
