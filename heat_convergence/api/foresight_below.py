"""What an update would do in the stacks below, found out without touching anything.

Called by the previews where ``show_nested`` asks for it.  Follows ``foresight`` into
the stack behind each resource: what is in it as rows have it, against the template
that it would be given in the end, batches left aside.  Where that hangs on values that
only the update will tell, nothing is said of what is below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.api.foresight import Fate, Foreseen, Now, deleted, foresee
from heat_convergence.common.errors import Error
from heat_convergence.convergence.incarnations import physical_name
from heat_convergence.convergence.model import Desired, Goal, Resource, Stack
from heat_convergence.convergence.wanted import NESTED, Wanted
from heat_convergence.db import goals
from heat_convergence.db.reads import resources, stacks
from heat_convergence.resources.nesting.facades import NOT_YET
from heat_convergence.resources.nesting.kinds import LATER, Ask, NestedType, known_or_unknown
from heat_convergence.resources.nesting.parsed import Files, Parsed, hash_of
from heat_convergence.resources.nesting.wanting import READS, wanted_of
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import build
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.functions.base import Function
from heat_convergence.template.parameter_values import Missing, StackFacts
from heat_convergence.template.template import Template

Json = Any


@dataclass(frozen=True, slots=True)
class Tree:
    """The stacks below one as they are, by id, with their rows and templates."""

    stacks: Mapping[str, Stack] = field(default_factory=dict)
    rows: Mapping[str, Sequence[Resource]] = field(default_factory=dict)
    goals: Mapping[str, Goal] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def behind(self, row: Resource | None) -> Stack | None:
        return None if row is None else self.stacks.get(row.physical_id or "")

    def template(self, stack: Stack | None, parsed: Parsed) -> Template | None:
        goal = None if stack is None else self.goals.get(stack.goal_id)
        if goal is None or goal.template_hash not in self.texts:
            return None
        return parsed.template(goal.template_hash, lambda _hashes: self.texts)


def read_tree(conn: Any, stack: Stack, levels: int) -> Tree:
    """In a number of statements that does not grow with the tree."""
    found = {each.id: each for each, level in stacks.tree(conn, stack.id, levels) if level}
    known = goals.lean_all(conn, [each.goal_id for each in found.values()])
    rows: dict[str, list[Resource]] = {key: [] for key in found}
    for row in resources.whole_of(conn, list(found)):
        rows[row.stack_id].append(row)
    texts = goals.get_contents(conn, {goal.template_hash for goal in known.values()})
    return Tree(found, rows, known, texts)


@dataclass(frozen=True, slots=True)
class Level:
    """One stack's goal as it would be, and what is foreseen of it."""

    stack: Stack
    environment: Environment
    files: Files
    wanted: Mapping[str, Wanted]
    foreseen: Sequence[Foreseen]


@dataclass(frozen=True, slots=True)
class Below:
    """The stack behind ``owner``, and those behind what is in it; one that replaces
    another, and the other, have the same owner."""

    owner: str
    stack: Stack
    foreseen: Sequence[Foreseen]
    below: Sequence[Below]


@dataclass(frozen=True, slots=True)
class Seer:
    """``now`` is of any stack: what it has beside stack and rows counts for all."""

    now: Now
    tree: Tree
    parsed: Parsed
    levels: int
    region: str | None = None

    def below(self, level: Level) -> list[Below]:
        return [found for each in level.foreseen for found in self._behind(each, level)]

    def _behind(self, each: Foreseen, level: Level) -> Iterator[Below]:
        old = self.tree.behind(each.row)
        if each.fate in (Fate.DELETED, Fate.REPLACED) and old is not None:
            yield self._all(each.name, old, Fate.DELETED)
        if each.fate is Fate.UNCHANGED and old is not None:
            yield self._all(each.name, old, Fate.UNCHANGED)
        if each.fate in (Fate.UPDATED, Fate.REPLACED, Fate.ADDED) and self._deeper(level.stack):
            kept = old if each.fate is Fate.UPDATED else None
            found = self._next(each, level, kept)
            if found is not None:
                yield Below(each.name, found.stack, found.foreseen, self.below(found))

    def _deeper(self, stack: Stack) -> bool:
        return self.levels < 0 or stack.depth < self.levels

    def _all(self, owner: str, stack: Stack, fate: Fate) -> Below:
        rows = [row for row in self.tree.rows[stack.id] if row.desired is Desired.PRESENT]
        foreseen = [replace(deleted(row), fate=fate) for row in rows]
        within = [(row.name, self.tree.behind(row)) for row in rows]
        return Below(
            owner, stack, foreseen, [self._all(name, s, fate) for name, s in within if s]
        )

    def _next(self, each: Foreseen, above: Level, old: Stack | None) -> Level | None:
        """The stack behind the resource as it is to be."""
        kind = self.now.registry.find(above.wanted[each.name].implementation)
        if not isinstance(kind, NestedType) or each.definition is None:
            return None
        stack = old or self._new(above.stack, each.name)
        rows = self.tree.rows[old.id] if old else ()
        ask = self._ask(each, above, old, rows)
        try:
            source = kind.final(ask)
            if source is None:
                return None
            environment = above.environment.for_child(each.name, source.parameters)
            evaluated = self._evaluated(source.text, stack, environment, each, above.files)
            reads = [tuple(read) for read in _nested(above, each.name).get(READS, ())]
            wanted = wanted_of(
                evaluated,
                environment,
                above.files,
                self.now.registry,
                above=kind.passes_on(reads, list(evaluated.definitions)),
            )
            now = replace(
                self.now, stack=stack, rows=rows, functions=self._functions(), later=True
            )
            foreseen = foresee(now, evaluated, wanted)
        except Error:
            return None  # wrong for want of a value; what is wrong indeed was told before
        return Level(stack, environment, above.files, wanted, foreseen)

    def _ask(
        self, each: Foreseen, above: Level, old: Stack | None, rows: Sequence[Resource]
    ) -> Ask:
        assert each.definition is not None
        return Ask(
            name=each.name,
            type=each.definition.type,
            implementation=above.wanted[each.name].implementation,
            properties=each.after,
            definition=each.definition.dump(),
            data=each.row.data if each.row is not None and old is not None else {},
            environment=above.environment,
            files=above.files,
            members=lambda: rows,
            current=lambda: self.tree.template(old, self.parsed),
            seed=each.row.id if each.row is not None else self.now.ids(),
        )

    def _evaluated(
        self, text: str, stack: Stack, environment: Environment, owner: Foreseen, files: Files
    ) -> EvaluatedTemplate:
        assert owner.definition is not None
        key = hash_of(text)
        facade = {
            "metadata": owner.definition.metadata,
            "deletion_policy": owner.definition.deletion_policy,
            "update_policy": owner.definition.update_policy,
        }
        facts = StackFacts(
            stack.id,
            stack.name,
            stack.project_id,
            self.region,
            facade=known_or_unknown(facade),
            zones=environment.zones,
        )
        return build(
            self.parsed.template(key, lambda _hashes: {key: text}),
            environment,
            files,
            facts,
            functions=self._functions(),
            missing=Missing.ALLOW,
        )

    def _functions(self) -> Mapping[str, Function]:
        return {**self.now.functions, LATER: NOT_YET}

    def _new(self, above: Stack, name: str) -> Stack:
        identifier = self.now.ids()
        return replace(
            above,
            id=identifier,
            name=physical_name(above.name, name, identifier),
            owner_id=above.id,
            depth=above.depth + 1,
            version=0,
            created_at=self.now.now,
        )


def _nested(above: Level, name: str) -> Mapping[str, Json]:
    found: Mapping[str, Json] = above.wanted[name].definition.get(NESTED) or {}
    return found
