"""A source → a goal and what a traversal takes of it; and a stored goal again.

Called by the controllers that write and preview, and, through ``rebuild``, by
whoever rolls a stack back.  The template is evaluated here and nowhere else; what
a goal stores is what a later request, or a rollback, needs to do it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.api import quotas
from heat_convergence.api.services import ApiServices
from heat_convergence.api.sources import Source, Sources, Stored
from heat_convergence.common import errors
from heat_convergence.convergence.model import Goal, SavedStack, Stack
from heat_convergence.convergence.plan import Wanted
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import want
from heat_convergence.db import goals
from heat_convergence.resources import saved as saving
from heat_convergence.resources.validation import Checks, check_resources
from heat_convergence.template import parameter_values
from heat_convergence.template.definition import Definition
from heat_convergence.template.evaluate import build
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.parameter_values import Missing, ParameterValue, StackFacts
from heat_convergence.template.problems import Problems
from heat_convergence.template.template import Template

Forbidden = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Draft:
    """A goal that is stored nowhere yet; ``contents`` are texts by their hashes."""

    goal: Goal
    evaluated: EvaluatedTemplate
    wanted: Mapping[str, Wanted]
    contents: Mapping[str, str]


class Goals:
    def __init__(self, services: ApiServices) -> None:
        self._given = services
        self._sources = Sources(services)

    def draft(
        self,
        source: Source,
        stack: Stack,
        forbidden: Forbidden,
        *,
        before: Stored | None = None,
    ) -> Draft:
        """Evaluates and validates; ``forbidden`` says which types policy keeps from
        the caller, ``before`` is the goal that an update replaces.

        Raises what heat-facts ``validation.md`` says.
        """
        quotas.check_resource_count(len(source.template.resource_names), self._given.options)
        problems = source.template.problems()
        evaluated = self.evaluate(source, stack, problems=problems)
        quotas.check_lengths(evaluated.definitions)
        implementations = implementations_of(evaluated.definitions, source)
        for name in sorted({*implementations.values()}):
            if forbidden(name):
                raise errors.Forbidden(f"You are not authorized to use {name}.")
        self.check(evaluated, implementations, stack, problems)
        problems.raise_any()
        if before is not None:
            self._check_immutable(before, stack, evaluated)
        wanted = want(evaluated.definitions, implementations)
        contents = {_hash(text): text for text in (source.text, *source.files.values())}
        goal_id = stack.goal_id if before is None else self._given.ids()
        goal = self._goal(source, stack, evaluated, goal_id)
        return Draft(goal, evaluated, wanted, contents)

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
            self._facts(stack),
            functions=self._given.functions,
            custom_constraints=self._given.custom_constraints,
            missing=missing,
            problems=problems,
        )

    def check(
        self,
        evaluated: EvaluatedTemplate,
        implementations: Mapping[str, str],
        stack: Stack,
        problems: Problems,
    ) -> None:
        """Finds resources that their types could not make."""
        version = evaluated.template.version
        minutes = stack.timeout_mins
        checks = Checks(
            registry=self._given.registry,
            implementation=lambda definition: implementations[definition.name],
            dialect=version.dialect,
            functions=frozenset(version.functions) | self._given.functions.keys(),
            timeout_s=minutes * 60.0 if minutes else self._given.settings.action_timeout_s,
            custom=self._given.custom_constraints,
        )
        outputs = {name: output.value for name, output in evaluated.outputs.items()}
        check_resources(evaluated.definitions, outputs, checks, problems)

    def stored(self, conn: Any, stack: Stack) -> Stored:
        """The stack's goal with its texts."""
        goal = goals.get(conn, stack.goal_id)
        if goal is None:
            raise LookupError(f"stack {stack.id} has no goal {stack.goal_id}")
        return _with_texts(goal, goals.get_contents(conn, _hashes(goal)))

    def restored(self, stored: Stored, saved: SavedStack) -> Source:
        """What a snapshot goes back to: the source of then, with the properties that
        bring back what resources saved."""
        source = self._sources.stored(stored)
        changed = saving.restored(source.template, saved, self._given.registry)
        if changed is None:
            return source
        template = Template.parse(changed, limits=self._given.limits)
        return replace(source, template=template, text=json.dumps(changed, ensure_ascii=False))

    def rebuild(self, tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, Wanted]:
        """A stored goal's definitions: ``convergence.rollback.Rebuild``."""
        source = self._sources.stored(_with_texts(goal, tx.get_contents(_hashes(goal))))
        evaluated = self.evaluate(source, stack)
        return want(evaluated.definitions, implementations_of(evaluated.definitions, source))

    def _check_immutable(
        self, before: Stored, stack: Stack, evaluated: EvaluatedTemplate
    ) -> None:
        if any(value.schema.immutable for value in evaluated.parameters.values()):
            values = self._values(self._sources.stored(before))
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

    def _facts(self, stack: Stack) -> StackFacts:
        region = self._given.options.region
        return StackFacts(stack.id, stack.name, stack.project_id, region)

    def _goal(
        self, source: Source, stack: Stack, evaluated: EvaluatedTemplate, goal_id: str
    ) -> Goal:
        return Goal(
            id=goal_id,
            stack_id=stack.id,
            version=stack.version,
            template_hash=_hash(source.text),
            environment=source.environment.to_dict(),
            files={name: _hash(text) for name, text in source.files.items()},
            parameters=evaluated.api_parameters(),
            outputs={name: output.dump() for name, output in evaluated.outputs.items()},
            description=evaluated.description,
            created_at=self._given.clock(),
            sensitive=bool(evaluated.hidden_values),
        )


def implementations_of(
    definitions: Mapping[str, Definition], source: Source
) -> dict[str, str]:
    """Resource name → the type behind its type, as the environment maps it."""
    registry = source.environment.registry
    return {
        name: registry.resolve(definition.type, name) for name, definition in definitions.items()
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _hashes(goal: Goal) -> set[str]:
    return {goal.template_hash, *goal.files.values()}


def _with_texts(goal: Goal, texts: Mapping[str, str]) -> Stored:
    files = {name: texts[key] for name, key in goal.files.items()}
    return Stored(goal, texts[goal.template_hash], files)
