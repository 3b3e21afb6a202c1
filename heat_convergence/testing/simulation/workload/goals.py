"""The goals of simulated stacks, as the API stores them.

Called by the simulated users inside the transactions of their requests.
"""

from __future__ import annotations

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.nested.template_cache import content_hash
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.template_notation import TemplateSpec


def store_goal(
    tx: Transaction, stack_id: str, template: TemplateSpec, context: TraversalContext
) -> Goal:
    """Store the texts of a goal and return it."""
    key = template_notation.template_hash(template)
    texts = nested_templates.nested_files(template)
    hashes = {name: content_hash(text) for name, text in texts.items()}
    stored = {hashes[name]: text for name, text in texts.items()}
    tx.contents.put({key: template_notation.format_template(template), **stored})
    return Goal(
        id=context.ids(),
        stack_id=stack_id,
        version=1,
        template_hash=key,
        environment=nested_templates.template_environment(template),
        files=hashes,
        parameters={},
        outputs={},
        description="",
        created_at=context.now,
    )


def read_template(tx: Transaction, goal_id: str) -> dict[str, template_notation.ResourceSpec]:
    """Return the template of a stored goal; an empty one if it does not exist."""
    goal = tx.goals.get(goal_id)
    if goal is None:
        return {}
    text = tx.contents.get([goal.template_hash])[goal.template_hash]
    return template_notation.parse_template(text)
