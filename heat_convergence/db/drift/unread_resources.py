"""The resources of a stack's tree that have a drift policy and no observation; one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.policy import demands_reads
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.drift.reads import of_tree
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import observation, resource, stack
from heat_convergence.template.environment.drift_policies import DRIFT

_nested = stack.alias("nested")
_COLUMNS = (
    resource.c.name,
    resource.c.type,
    resource.c.implementation,
    resource.c.physical_id,
    resource.c.hooks_and_restrictions,
    resource.c.stack_id,
    stack.c.name,
)
_FROM = (
    resource.join(stack, stack.c.id == resource.c.stack_id)
    .outerjoin(observation, observation.c.resource_id == resource.c.id)
    .outerjoin(_nested, _nested.c.owner_resource_id == resource.c.id)
)


@dataclass(frozen=True, slots=True)
class UnreadResource:
    """A resource without an observation, for which the environment has a drift policy."""

    resource_name: str
    resource_type: str
    implementation: str
    physical_id: str | None
    words: tuple[str, ...]
    stack_id: str
    stack_name: str


def list_by_tree(conn: Connection, of_stack: Stack) -> Sequence[UnreadResource]:
    """Return those of a stack and of the stacks below it, by stack and name.

    A resource with a nested stack is left out: what is read of it are the resources below.
    """
    has_words = sa.type_coerce(resource.c.hooks_and_restrictions, sa.Text).contains(DRIFT)
    query = (
        sa.select(*_COLUMNS)
        .select_from(_FROM)
        .where(
            of_tree(of_stack, resource.c.stack_id),
            resource.c.desired == DesiredState.PRESENT,
            has_words,
            observation.c.resource_id.is_(None),
            _nested.c.id.is_(None),
        )
        .order_by(stack.c.depth, stack.c.id, resource.c.name)
    )
    found = read_each(conn.execute(query), _resource_of)
    return [each for each in found if demands_reads(each.words)]


def _resource_of(row: Any) -> UnreadResource:
    return UnreadResource(*check_row(resource.name, UnreadResource.__slots__, tuple(row)))
