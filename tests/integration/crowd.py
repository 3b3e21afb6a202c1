"""Users who make, change and delete stacks of files while everything breaks.

Each has one stack at a time and remembers what its last accepted request asked
for; an answer that got lost is asked for again until it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from heatclient.exc import HTTPConflict, HTTPException, HTTPNotFound
from keystoneauth1.exceptions import ClientException

from heat_convergence.testing import file_cloud
from tests.integration.harness import User

LEAST, MOST = 6, 14  # resources of a stack
_NAMES = [f"r{number}" for number in range(MOST)]


class Away(Exception):
    """The API gave no answer, or one that says to come again."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One resource of a goal; ``needs`` are others of the same goal."""

    value: str
    kind: str
    build_s: float
    latency_s: float
    needs: tuple[str, ...]


Goal = dict[str, Wanted]


def template(goal: Goal) -> dict[str, Any]:
    return {
        "heat_template_version": "2021-04-16",
        "resources": {
            name: {
                "type": file_cloud.TYPE,
                "properties": {
                    "value": _reads(one),
                    "kind": one.kind,
                    "build_s": one.build_s,
                    "latency_s": one.latency_s,
                },
            }
            for name, one in goal.items()
        },
    }


def _reads(one: Wanted) -> Any:
    texts = [one.value, *({"get_attr": [need, "value"]} for need in one.needs)]
    return {"digest": ["md5", {"list_join": ["/", texts]}]} if one.needs else one.value


def values(goal: Goal, digest: Callable[[str], str]) -> dict[str, str]:
    """What every resource of the goal must hold in the end."""
    known: dict[str, str] = {}

    def value(name: str) -> str:
        if name not in known:
            one = goal[name]
            texts = [one.value, *(value(need) for need in one.needs)]
            known[name] = digest("/".join(texts)) if one.needs else one.value
        return known[name]

    return {name: value(name) for name in goal}


@dataclass(slots=True)
class Owner:
    """Somebody with one stack after the other.

    ``goal`` is what was asked for last, None for nothing; ``past`` are the ids of
    stacks whose deletion was accepted.
    """

    number: int
    random: Random
    user: User
    generation: int = 0
    stack_id: str | None = None
    goal: Goal | None = None
    past: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"owner{self.number}-{self.generation}"

    def act(self, patience: Callable[[], object]) -> None:
        """One accepted request; ``patience`` is called before each repetition."""
        if self.goal is None:
            goal = self._fresh()
            self._until_accepted(lambda: self._create(goal), patience)
            self._remember("create", goal)
        elif self.random.random() < 0.2:
            self._until_accepted(self._delete, patience)
            self.past.append(str(self.stack_id))
            self.stack_id, self.generation = None, self.generation + 1
            self._remember("delete", None)
        else:
            self.update(patience)

    def update(self, patience: Callable[[], object]) -> None:
        """A changed goal, accepted."""
        goal = self._changed(self.goal or {})
        self._until_accepted(lambda: self._update(goal), patience)
        self._remember("update", goal)

    def _remember(self, what: str, goal: Goal | None) -> None:
        self.goal = goal
        self.done[what] = self.done.get(what, 0) + 1

    def _until_accepted(self, request: Callable[[], None], patience: Callable[[], object]) -> None:
        while True:
            try:
                return request()
            except Away:
                patience()

    def _create(self, goal: Goal) -> None:
        try:
            self.stack_id = _answered(lambda: self.user.create(self.name, template(goal)))
        except HTTPConflict:
            # An earlier try was accepted; its answer got lost.
            found = _answered(lambda: self.user.heat.stacks.get(self.name, resolve_outputs=False))
            self.stack_id = found.id

    def _update(self, goal: Goal) -> None:
        _answered(lambda: self.user.heat.stacks.update(self.stack_id, template=template(goal)))

    def _delete(self) -> None:
        try:
            _answered(lambda: self.user.heat.stacks.delete(self.stack_id))
        except HTTPNotFound:
            return  # an earlier try was accepted

    def _fresh(self) -> Goal:
        count = self.random.randint(LEAST, MOST)
        goal: Goal = {}
        for name in self.random.sample(_NAMES, count):
            goal[name] = self._wanted(name, list(goal))
        return goal

    def _changed(self, goal: Goal) -> Goal:
        """Some resources gone, some new, some otherwise; an order drawn afresh lets
        dependencies turn round."""
        names = [name for name in goal if self.random.random() > 0.15]
        names += [name for name in _NAMES if name not in goal and self.random.random() < 0.2]
        self.random.shuffle(names)
        after: Goal = {}
        for name in names:
            before = goal.get(name)
            kept = before is not None and self.random.random() < 0.6
            if before is not None and kept and all(need in after for need in before.needs):
                after[name] = before
            else:
                after[name] = self._wanted(name, list(after))
        return after or self._fresh()

    def _wanted(self, name: str, earlier: list[str]) -> Wanted:
        draw = self.random
        count = min(len(earlier), draw.choice([0, 0, 1, 1, 2]))
        return Wanted(
            value=f"{name}-{draw.randrange(1000)}",
            kind=draw.choice(["a", "a", "b"]),
            build_s=draw.choice([0, 0, 0.3, 1]),
            latency_s=draw.choice([0, 0.05, 0.5]),
            needs=tuple(sorted(draw.sample(earlier, count))),
        )


def _answered(request: Callable[[], Any]) -> Any:
    try:
        return request()
    except HTTPException as error:
        if error.code == 503:
            raise Away from error
        raise
    except ClientException as error:
        raise Away from error
