"""A source → a goal and what a traversal takes of it; and a stored goal again.

Called by the controllers that write and preview, and, through ``rebuild``, by
whoever rolls a stack back.  The template is evaluated here and nowhere else; what
a goal stores is what a later request, or a rollback, needs to do it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.api import quotas
from heat_convergence.api.elsewhere import Elsewhere
from heat_convergence.api.requests.stack import Use
from heat_convergence.api.services import ApiServices
from heat_convergence.api.sources import Source, Sources, Stored, zoned
from heat_convergence.common import errors
from heat_convergence.convergence.model import Goal, SavedStack, Stack
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.wanted import Wanted
from heat_convergence.db import goals
from heat_convergence.resources import saved as saving
from heat_convergence.resources.nesting.facades import Checked, Facades, Level
from heat_convergence.resources.nesting.parsed import Files, hash_of
from heat_convergence.resources.nesting.wanting import implementations_of, wanted_of
from heat_convergence.template import parameter_values
from heat_convergence.template.constraints import CustomCheck
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import build
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.parameter_values import Missing, ParameterValue, StackFacts
from heat_convergence.template.problems import Problems
from heat_convergence.template.template import Template

_HIDING = ("hidden", "NoEcho")  # what a template says of a parameter
Forbidden = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Draft:
    """A goal that is stored nowhere yet; ``contents`` are texts by their hashes."""

    goal: Goal
    evaluated: EvaluatedTemplate
    wanted: Mapping[str, Wanted]
    contents: Mapping[str, str]
    environment: Environment
    files: Files


class Goals:
    def __init__(self, services: ApiServices) -> None:
        self._given = services
        self.parsed = services.parsed
        self.sources = Sources(services, self.parsed)

    def check_new(self, source: Source, stack: Stack) -> None:
        """What of a new stack is looked at before its template is evaluated, in the order
        in which clients expect to be told."""
        source.template.check_sections()
        quotas.check_resource_count(len(source.template.resource_names), self._given.options)
        quotas.check_name(stack.name)

    def draft(
        self,
        source: Source,
        stack: Stack,
        forbidden: Forbidden,
        *,
        before: Stored | None = None,
    ) -> Draft:
        """Evaluates and validates; ``forbidden`` says which types policy keeps from
        the caller, ``before`` is the goal that an update replaces.  The new one has the
        id that the stack names.

        Raises what heat-facts ``validation.md`` says.
        """
        quotas.check_resource_count(len(source.template.resource_names), self._given.options)
        problems = source.template.problems()
        evaluated = self.evaluate(source, stack, problems=problems)
        quotas.check_lengths(evaluated.definitions)
        implementations = implementations_of(evaluated.definitions, source.environment)
        for name in sorted({*implementations.values()}):
            if forbidden(name):
                raise errors.Forbidden(f"You are not authorized to use {name}.")
        files = self.files_of(source)
        checked = self.check(evaluated, source, files, stack, problems, forbidden)
        problems.raise_any()
        quotas.check_resource_count(checked.count, self._given.options)
        if before is not None:
            self._check_immutable(before, stack, evaluated)
        source = zoned(replace(source, files={**source.files, **files.found}))
        wanted = wanted_of(evaluated, source.environment, files, self._given.registry)
        contents = {hash_of(text): text for text in (source.text, *source.files.values())}
        goal = self._goal(source, stack, evaluated)
        return Draft(goal, evaluated, wanted, contents, source.environment, files)

    def evaluate(
        self,
        source: Source,
        stack: Stack,
        *,
        missing: Missing = Missing.REFUSE,
        problems: Problems | None = None,
    ) -> EvaluatedTemplate:
        """Mistakes are raised, or added to ``problems``."""
        return build(
            source.template,
            source.environment,
            source.files,
            self._facts(stack, source.environment),
            functions=self._given.functions,
            custom_constraints=self._constraints(missing),
            missing=missing,
            problems=problems,
        )

    def check(
        self,
        evaluated: EvaluatedTemplate,
        source: Source,
        files: Files,
        stack: Stack,
        problems: Problems,
        forbidden: Forbidden = lambda _name: False,
        *,
        absent_services: bool = False,
        missing: Missing = Missing.REFUSE,
    ) -> Checked:
        """Finds resources that their types could not make, here and in the stacks behind
        them; ``absent_services``: types whose service is not there are right."""
        minutes, given = stack.timeout_mins, self._given
        facades = Facades(
            registry=given.registry,
            parsed=self.parsed,
            facts=self._facts(stack, source.environment),
            max_depth=given.options.max_nested_stack_depth,
            timeout_s=minutes * 60.0 if minutes else given.settings.action_timeout_s,
            custom=self._constraints(missing),
            functions=given.functions,
            forbidden=forbidden,
            absent_services=absent_services,
            missing=missing,
        )
        level = Level(evaluated, source.environment, files, stack.depth)
        return facades.check(level, problems)

    def files_of(self, source: Source) -> Files:
        """Those that came with the request; templates from elsewhere when asked for."""
        return Files.of_texts(source.files, self.parsed, Elsewhere(self._given))

    def _constraints(self, missing: Missing) -> Mapping[str, CustomCheck] | None:
        """Where values may be missing, the cloud is not asked about those that are there."""
        return self._given.custom_constraints if missing is Missing.REFUSE else None

    def replaced(self, conn: Any, stack: Stack, use: Use) -> Stored | None:
        """The goal that an update is to replace; None where its rows or its texts are lost,
        which an update with a template mends.  Only a PATCH asks for its files."""
        if use is Use.PATCH:
            return self.stored(conn, stack)
        try:
            goal = replace(_goal(conn, stack), files={})
            return _with_texts(goal, goals.get_contents(conn, _hashes(goal)))
        except errors.RowsContradict:
            return None

    def stored(self, conn: Any, stack: Stack) -> Stored:
        """The stack's goal with its texts."""
        goal = _goal(conn, stack)
        return _with_texts(goal, goals.get_contents(conn, _hashes(goal)))

    def restored(self, stored: Stored, saved: SavedStack) -> Source:
        """What a snapshot goes back to: the source of then, with the properties that
        bring back what resources saved."""
        source = self.sources.stored(stored)
        below = saving.restored_below(saved, self._given.registry)
        if below:
            registry = source.environment.registry.restoring(below)
            source = replace(source, environment=replace(source.environment, registry=registry))
        changed = saving.restored(source.template, saved, self._given.registry)
        if changed is None:
            return source
        template = Template.parse(changed, limits=self._given.limits)
        return replace(source, template=template, text=json.dumps(changed, ensure_ascii=False))

    def rebuild(self, tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, Wanted]:
        """A stored goal's definitions: ``convergence.rollback.Rebuild``."""
        source = self.sources.stored(_with_texts(goal, tx.get_contents(_hashes(goal))))
        evaluated = self.evaluate(source, stack)
        files = Files.of_texts(source.files, self.parsed)
        return wanted_of(evaluated, source.environment, files, self._given.registry)

    def _check_immutable(
        self, before: Stored, stack: Stack, evaluated: EvaluatedTemplate
    ) -> None:
        if any(value.schema.immutable for value in evaluated.parameters.values()):
            values = self._values(self.sources.stored(before))
            parameter_values.check_immutable(values, evaluated.parameters)

    @staticmethod
    def _values(source: Source) -> dict[str, ParameterValue]:
        return parameter_values.resolve(
            source.template.parameters,
            source.environment.parameters,
            source.environment.parameter_defaults,
            missing=Missing.ALLOW,
            custom=None,
            problems=source.template.problems(),
        )

    def _facts(self, stack: Stack, environment: Environment) -> StackFacts:
        return StackFacts(
            stack.id,
            stack.name,
            stack.project_id,
            self._given.options.region,
            zones=environment.zones,
        )

    def _goal(
        self, source: Source, stack: Stack, evaluated: EvaluatedTemplate
    ) -> Goal:
        return Goal(
            id=stack.goal_id,
            stack_id=stack.id,
            version=stack.version,
            template_hash=hash_of(source.text),
            environment=source.environment.to_store(),
            files={name: hash_of(text) for name, text in source.files.items()},
            parameters=evaluated.api_parameters(),
            outputs={name: output.dump() for name, output in evaluated.outputs.items()},
            description=evaluated.description,
            created_at=self._given.clock(),
            sensitive=_may_hold_secrets(source, evaluated),
        )


def _may_hold_secrets(source: Source, evaluated: EvaluatedTemplate) -> bool:
    """Whether what was given is to be sealed: rather too often than not at all, for
    templates among the files may hide parameters that an environment sets."""
    if source.environment.encrypted_param_names:
        return True
    if any(value.schema.hidden for value in evaluated.parameters.values()):
        return True
    return any(mark in text for text in source.files.values() for mark in _HIDING)


def _goal(conn: Any, stack: Stack) -> Goal:
    goal = goals.get(conn, stack.goal_id)
    if goal is None:
        raise errors.RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
    return goal


def _hashes(goal: Goal) -> set[str]:
    return {goal.template_hash, *goal.files.values()}


def _with_texts(goal: Goal, texts: Mapping[str, str]) -> Stored:
    files = {name: texts[key] for name, key in goal.files.items()}
    return Stored(goal, texts[goal.template_hash], files)
