"""The rules, asked after every commit, before every call and at every refusal.

Used by the world.  Keeps the snapshots of all stacks as they were last, and who
holds which lease.  Decides only what is a violation; changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.convergence import rules
from heat_convergence.convergence.model import Action, Status
from heat_convergence.convergence.ports import Store
from heat_convergence.convergence.rules import Snapshot, Violation
from heat_convergence.resources.plugin import View
from heat_convergence.testing import goals
from heat_convergence.testing.cloud import Cloud
from heat_convergence.testing.reading import reader_of

_REACHES_GOAL = {Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.DELETE}


@dataclass(slots=True)
class Work:
    """What one running piece of work holds: resource id → (token, version)."""

    engine: str | None = None
    claims: dict[str, tuple[str, int]] = field(default_factory=dict)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token, _version in self.claims.values())


class Watch:
    """Snapshots and violations."""

    def __init__(
        self,
        store: Store,
        cloud: Cloud,
        now: Callable[[], datetime],
        happened: Counter[str],
    ) -> None:
        self.violations: list[Violation] = []
        self.snapshots: dict[str, Snapshot] = {}
        self._happened = happened
        self._store = store
        self._reader = reader_of(store)
        self._cloud = cloud
        self._now = now

    def committed(self, work: Work | None) -> None:
        """A transaction was committed by ``work``."""
        for stack_id, after in self._reader.changed():
            before = self.snapshots.get(stack_id)
            self.snapshots[stack_id] = after
            if before is not None and work is not None:
                self._note_claims(before, after, work)
                self._note_retained(before, after)
            self._check(self._step(after, before=before, work=work))

    def calling(self, verb: Action, view: View, work: Work) -> None:
        """A job is about to call."""
        token, version = work.claims.get(view.resource_id, ("", 0))
        call = rules.Call(verb, view.resource_id, version, token, view.physical_id)
        self._check(self._step(self.snapshots[view.stack_id], work=work, call=call))

    def refused(self, stack_id: str, name: str) -> None:
        snapshot = self.snapshots.get(stack_id)
        if snapshot is not None:
            self._check(self._step(snapshot, refused=name, before=snapshot))

    def say(self, rule: int, message: str) -> None:
        self.violations.append(Violation(rule, message))

    # -- helpers

    def _step(self, after: Snapshot, **more: Any) -> rules.Step:
        work = more.pop("work", None)
        return rules.Step(
            now=self._now(),
            after=after,
            engine=None if work is None else work.engine,
            tokens=frozenset() if work is None else work.tokens,
            reality=self._cloud.account(),
            expected=self._expected(after),
            **more,
        )

    def _check(self, step: rules.Step) -> None:
        self.violations.extend(rules.check(step))

    def _note_claims(self, before: Snapshot, after: Snapshot, work: Work) -> None:
        known = before.by_id
        for row in after.rows:
            was = known.get(row.id)
            taken = was is not None and was.lease_token != row.lease_token
            if work.engine is not None and taken and row.lease_token is not None:
                work.claims[row.id] = (row.lease_token, row.version)
                if was is not None and was.lease_token is not None:
                    self._happened["lease expired"] += 1

    def _note_retained(self, before: Snapshot, after: Snapshot) -> None:
        """What is retained is nobody's any more."""
        left = after.by_id
        for row in before.rows:
            now = left.get(row.id)
            gone = now is None or (now.action is Action.DELETE and now.job is None)
            if gone and row.definition.get("deletion_policy") == "Retain":
                self._cloud.disown(row.id)

    def _expected(self, after: Snapshot) -> Mapping[str, Mapping[str, Any]] | None:
        stack = after.stack
        if stack.status is not Status.COMPLETE or stack.action not in _REACHES_GOAL:
            return None
        nothing = stack.action is Action.ROLLBACK and stack.complete_goal_id is None
        if stack.action is Action.DELETE or nothing:
            return {}
        with self._store.transaction() as tx:
            goal = tx.get_goal(stack.goal_id)
            if goal is None:
                return None
            text = tx.get_contents([goal.template_hash])[goal.template_hash]
        ids = {row.name: row.physical_id for row in after.rows if row.desired == "PRESENT"}
        return goals.expected(goals.parse(text), ids.get)
