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
from tests.integration.harness import HeatUser

MIN_RESOURCES, MAX_RESOURCES = 6, 14  # resources of a stack
_NAMES = [f"r{number}" for number in range(MAX_RESOURCES)]


class ApiUnavailable(Exception):
    """The API gave no answer, or one that says to come again."""


@dataclass(frozen=True, slots=True)
class FileSpec:
    """One resource of a goal; ``needs`` are others of the same goal."""

    value: str
    replace_key: str
    build_s: float
    latency_s: float
    requires: tuple[str, ...]


Goal = dict[str, FileSpec]


def template(goal: Goal) -> dict[str, Any]:
    return {
        "heat_template_version": "2021-04-16",
        "resources": {
            name: {
                "type": file_cloud.FILE_TYPE,
                "properties": {
                    "value": _reads(one),
                    "kind": one.replace_key,
                    "build_s": one.build_s,
                    "latency_s": one.latency_s,
                },
            }
            for name, one in goal.items()
        },
    }


def _reads(one: FileSpec) -> Any:
    texts = [one.value, *({"get_attr": [need, "value"]} for need in one.requires)]
    return {"digest": ["md5", {"list_join": ["/", texts]}]} if one.requires else one.value


def expected_values(goal: Goal, digest: Callable[[str], str]) -> dict[str, str]:
    """Return the value that each resource of the goal must have in the end."""
    known: dict[str, str] = {}

    def value(name: str) -> str:
        if name not in known:
            one = goal[name]
            texts = [one.value, *(value(need) for need in one.requires)]
            known[name] = digest("/".join(texts)) if one.requires else one.value
        return known[name]

    return {name: value(name) for name in goal}


@dataclass(slots=True)
class WorkloadUser:
    """A user who creates, changes and deletes one stack after the other.

    ``goal`` is the last request, None for no stack; ``past`` are the ids of
    stacks whose deletion was accepted.
    """

    number: int
    random: Random
    user: HeatUser
    generation: int = 0
    stack_id: str | None = None
    goal: Goal | None = None
    deleted_stack_ids: list[str] = field(default_factory=list)
    accepted_requests: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"owner{self.number}-{self.generation}"

    def send_request(self, wait_before_retry: Callable[[], object]) -> None:
        """One accepted request; ``patience`` is called before each repetition."""
        if self.goal is None:
            goal = self._fresh()
            self._until_accepted(lambda: self._create(goal), wait_before_retry)
            self._remember("create", goal)
        elif self.random.random() < 0.2:
            self._until_accepted(self._delete, wait_before_retry)
            self.deleted_stack_ids.append(str(self.stack_id))
            self.stack_id, self.generation = None, self.generation + 1
            self._remember("delete", None)
        else:
            self.update(wait_before_retry)

    def update(self, wait_before_retry: Callable[[], object]) -> None:
        """A changed goal, accepted."""
        goal = self._changed(self.goal or {})
        self._until_accepted(lambda: self._update(goal), wait_before_retry)
        self._remember("update", goal)

    def _remember(self, what: str, goal: Goal | None) -> None:
        self.goal = goal
        self.accepted_requests[what] = self.accepted_requests.get(what, 0) + 1

    def _until_accepted(self, request: Callable[[], None], patience: Callable[[], object]) -> None:
        while True:
            try:
                return request()
            except ApiUnavailable:
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
        count = self.random.randint(MIN_RESOURCES, MAX_RESOURCES)
        goal: Goal = {}
        for name in self.random.sample(_NAMES, count):
            goal[name] = self._random_file(name, list(goal))
        return goal

    def _changed(self, goal: Goal) -> Goal:
        """Return the goal with some resources removed, added or changed.

        The order is random, so dependencies may be reversed.
        """
        names = [name for name in goal if self.random.random() > 0.15]
        names += [name for name in _NAMES if name not in goal and self.random.random() < 0.2]
        self.random.shuffle(names)
        after: Goal = {}
        for name in names:
            before = goal.get(name)
            kept = before is not None and self.random.random() < 0.6
            if before is not None and kept and all(need in after for need in before.requires):
                after[name] = before
            else:
                after[name] = self._random_file(name, list(after))
        return after or self._fresh()

    def _random_file(self, name: str, earlier: list[str]) -> FileSpec:
        draw = self.random
        count = min(len(earlier), draw.choice([0, 0, 1, 1, 2]))
        return FileSpec(
            value=f"{name}-{draw.randrange(1000)}",
            replace_key=draw.choice(["a", "a", "b"]),
            build_s=draw.choice([0, 0, 0.3, 1]),
            latency_s=draw.choice([0, 0.05, 0.5]),
            requires=tuple(sorted(draw.sample(earlier, count))),
        )


def _answered(request: Callable[[], Any]) -> Any:
    try:
        return request()
    except HTTPException as error:
        if error.code == 503:
            raise ApiUnavailable from error
        raise
    except ClientException as error:
        raise ApiUnavailable from error
