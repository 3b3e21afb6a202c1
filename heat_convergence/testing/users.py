"""What users do: the requests of the simulated world.

Performs a request as the API does, one transaction and then the messages.  Used
by the world; decides nothing about when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common import errors
from heat_convergence.common.retrying import Wait, persistently
from heat_convergence.convergence import commands, traversal
from heat_convergence.convergence.advance import Advanced
from heat_convergence.convergence.model import Action, Goal, Stack, Status
from heat_convergence.convergence.ports import Bus, Store, Transaction
from heat_convergence.convergence.traversal import Begun, Means
from heat_convergence.testing import goals

ACTIONS = {
    "update": Action.UPDATE,
    "delete": Action.DELETE,
    "suspend": Action.SUSPEND,
    "resume": Action.RESUME,
    "check": Action.CHECK,
}
VERBS = ("create", *ACTIONS, "cancel", "stop")


@dataclass(frozen=True, slots=True)
class Act:
    """One request: ``verb stack``; ``text`` is the template of create and update.

    ``cancel`` goes back to the last goal reached, ``stop`` stays where it is.
    """

    verb: str
    stack: str
    text: str = ""
    rollback: bool = False
    timeout_mins: int | None = None

    def __str__(self) -> str:
        words = [self.verb, self.stack]
        if self.rollback:
            words.append("rollback")
        if self.timeout_mins is not None:
            words.append(f"timeout_mins={self.timeout_mins}")
        lines = [" ".join(words), *(f"  {line}" for line in self.text.splitlines())]
        return "\n".join(lines)


class Users:
    """Performs acts, for one project."""

    def __init__(self, project_id: str = "project") -> None:
        self._project_id = project_id

    def perform(
        self, act: Act, stack_id: str, *, store: Store, bus: Bus, means: Means, wait: Wait
    ) -> str | None:
        """Does what the user asks; the name of the error if it is refused.

        ``stack_id`` is the stack's, or the one that a new stack is to have.
        """

        def attempt() -> Begun | Advanced | None:
            with store.transaction() as tx:
                return self._write(tx, act, stack_id, means)

        try:
            begun = persistently(attempt, wait=wait)
        except errors.Error as error:
            if error.retry is not errors.Retry.NEVER:
                raise
            return type(error).__name__
        if begun is not None and begun.stack is not None:
            traversal.cast(bus, begun.postings, means.settings)
        return None

    def _write(
        self, tx: Transaction, act: Act, stack_id: str, means: Means
    ) -> Begun | Advanced | None:
        if act.verb == "create":
            return self._create(tx, act, stack_id, means)
        if act.verb == "cancel":
            return commands.cancel_update(tx, stack_id, means, goals.rebuild)
        if act.verb == "stop":
            commands.cancel_without_rollback(tx, stack_id, means)
            return None
        more: Mapping[str, Any] = {}
        if act.verb == "update":
            template = goals.parse(act.text)
            more = {
                "goal": self._goal(tx, stack_id, template, means),
                "wanted": goals.wanted(template),
                "values": {
                    "disable_rollback": not act.rollback, "timeout_mins": act.timeout_mins
                },
            }
        return traversal.start(
            tx, stack_id=stack_id, action=ACTIONS[act.verb], means=means, **more
        )

    def _create(self, tx: Transaction, act: Act, stack_id: str, means: Means) -> Begun:
        template = goals.parse(act.text)
        goal = self._goal(tx, stack_id, template, means)
        stack = Stack(
            id=stack_id,
            name=act.stack,
            project_id=self._project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=goal.id,
            created_at=means.now,
            disable_rollback=not act.rollback,
            timeout_mins=act.timeout_mins,
        )
        return traversal.create(
            tx, stack=stack, goal=goal, wanted=goals.wanted(template), means=means
        )

    def _goal(
        self, tx: Transaction, stack_id: str, template: goals.Template, means: Means
    ) -> Goal:
        key = goals.hash_of(template)
        tx.put_contents({key: goals.text_of(template)})
        return Goal(
            id=means.ids(),
            stack_id=stack_id,
            version=1,
            template_hash=key,
            environment={},
            files={},
            parameters={},
            outputs={},
            description="",
            created_at=means.now,
        )
