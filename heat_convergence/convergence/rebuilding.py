"""A stored goal → the definitions it had: how a rollback knows the way.

Called by the observer and, for a cancelled update, by the API.  Evaluates the
stored template with the stored environment again, as the API did at first;
validates nothing, for that goal was reached once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heat_convergence.convergence.model import Goal, Stack
from heat_convergence.convergence.plan import Wanted
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import want
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import Missing, StackFacts, build
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.template import Template


@dataclass(frozen=True, slots=True)
class Rebuilder:
    """``convergence.rollback.Rebuild``: what it takes beside the goal."""

    limits: Limits = DEFAULT
    base: Environment | None = None  # the operator's global environment
    region: str | None = None
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)

    def __call__(self, tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, Wanted]:
        texts = tx.get_contents({goal.template_hash, *goal.files.values()})
        environment = Environment.parse(goal.environment, base=self.base, limits=self.limits)
        evaluated = build(
            Template.parse(texts[goal.template_hash], limits=self.limits),
            environment,
            {name: texts[key] for name, key in goal.files.items()},
            StackFacts(stack.id, stack.name, stack.project_id, self.region),
            functions=self.functions,
            missing=Missing.ALLOW,
        )
        implementations = {
            name: environment.registry.resolve(definition.type, name)
            for name, definition in evaluated.definitions.items()
        }
        return want(evaluated.definitions, implementations)
