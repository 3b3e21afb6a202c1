"""The simulated world: real engines and observers on a simulated everything else.

Wires store, bus, clock, cloud, processes and users, lets one thing happen after the
other and has the rules checked.  Used by the simulator and by scenarios.  The same
configuration, requests and faults give the same history, to the last identifier.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from heat_convergence.common import errors
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.model import Action, JobState, Stack, Status
from heat_convergence.convergence.ports import Settings, Store
from heat_convergence.convergence.rules import Violation
from heat_convergence.convergence.saving import SUPERSEDED
from heat_convergence.convergence.traversal import Means
from heat_convergence.engine.nesting import NEVER_MADE
from heat_convergence.resources.nesting.looking import OVERTAKEN
from heat_convergence.resources.plugin import View
from heat_convergence.testing import goals, trees
from heat_convergence.testing.bus import Message
from heat_convergence.testing.clock import Agenda
from heat_convergence.testing.cloud import Cloud
from heat_convergence.testing.faults import Faults
from heat_convergence.testing.gates import GatedStore
from heat_convergence.testing.processes import (
    ApiProcess,
    EngineProcess,
    ObserverProcess,
    Process,
    Running,
)
from heat_convergence.testing.types import RUNG, Bell
from heat_convergence.testing.users import NEW, Act, Users, may_refuse
from heat_convergence.testing.watch import Watch

_AT_GOAL = ("CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT")


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the world is; ``group_size`` how many calls an engine records at
    once; ``seed`` 0: no chance at all, everything takes the least time."""

    seed: int = 0
    engines: int = 2
    observers: int = 2
    group_size: int = 1
    work_s: float = 5.0  # the longest that the cloud works on a thing
    settings: Settings = field(default_factory=lambda: Settings(action_timeout_s=600.0))


class Broken(Exception):
    """A rule was broken, or code under test failed."""

    def __init__(self, violation: Violation, log: list[str]) -> None:
        super().__init__(str(violation))
        self.violation = violation
        self.log = log


class World:
    """One world, from its beginning to where ``Broken`` ends it."""

    def __init__(self, shape: Shape, faults: Faults, store: Store) -> None:
        self.shape = shape
        self.settings = shape.settings
        self.group_size = shape.group_size
        self.faults = faults
        self.agenda = Agenda()
        self.ids = IdGenerator(self.agenda.now, random.Random(shape.seed))
        self.cloud = Cloud(lambda: self.agenda.at_s)
        self.store = store
        self.users = Users()
        self.happened: Counter[str] = Counter()
        self.excuses: dict[str, list[str]] = {}
        self.watch = Watch(
            store, self.cloud, self.agenda.now, self.happened, self.users, self.excuse
        )
        self.log: list[str] = []
        self.refusals: list[str] = []
        self.steps = 0
        self.doomed: list[Process] = []
        self.delays: dict[tuple[str, str], float] = {}
        self._errors: Counter[str] = Counter()
        self._newest: dict[str, int] = {}  # topic → number of the last message delivered
        self._current: list[tuple[Process, Running]] = []
        self.processes: list[Process] = [
            *(EngineProcess(self, f"engine-{n + 1}", "engine") for n in range(shape.engines)),
            *(
                ObserverProcess(self, f"observer-{n + 1}", "observer")
                for n in range(shape.observers)
            ),
        ]
        self.api = ApiProcess(self, "api-1")
        for process in (*self.processes, self.api):
            process.start()

    # -- what happens

    def step(self) -> bool:
        """Lets the next thing happen; False when nothing is left."""
        if self.agenda.next_at_s() is None:
            return False
        self.agenda.step()
        self.steps += 1
        self.judge()
        return True

    def run_until(self, at_s: float) -> None:
        """Lets everything happen up to that time."""
        while (following := self.agenda.next_at_s()) is not None and following <= at_s:
            self.step()
        self.agenda.pass_time(at_s)

    def judge(self) -> None:
        if self.watch.violations:
            raise Broken(self.watch.violations[0], self.log)

    def end(self) -> None:
        """Everything stops; the threads of unfinished work end."""
        for process in (*self.processes, self.api):
            process.alive = False
            for work in process.running:
                if work.task is not None:
                    work.task.kill()

    # -- for users

    def act(self, act: Act) -> None:
        """The user's request begins, at the API, now."""
        self.happened[f"user {act.verb}"] += 1
        self.tell(f"user: {str(act).replace(chr(10), ';')}")
        if self.api.alive:
            self.api.run(act.verb, lambda: self._perform(act))

    def _perform(self, act: Act) -> None:
        store = GatedStore(self.store, self.api)
        means = Means(self.agenda.now(), self.ids, self.settings)
        stack_id = self.ids() if act.verb in NEW else self.stack_id(act.stack)
        if act.verb == "stop":
            self.excuse(stack_id, "a user stopped it")
        if act.verb == "abandon":
            self.current[1].abandons = stack_id
        if act.verb == "adopt":
            self._about_to_adopt(act.stack, stack_id)
        refused = self.users.perform(
            act,
            stack_id,
            store=store,  # type: ignore[arg-type]
            bus=self.api.bus(),
            means=means,
            wait=self.api.wait,
            registry=self.api.registry(),
        )
        if refused is not None:
            self.tell(f"refused: {refused}")
            self.refusals.append(refused)
            if refused not in may_refuse(act):
                self.watch.refused(stack_id, refused)

    def _about_to_adopt(self, name: str, stack_id: str) -> None:
        """What was left in the middle of something may not be as its template says, or
        not be there at all."""
        left = self.users.left.get(name)
        if left is None:
            return
        at_goal = left.document["status"] == "COMPLETE" and left.document["action"] in _AT_GOAL
        handed = {}
        for each, entry in goals.handed_down(left.document):
            if entry["type"] in goals.TYPES.values():
                handed[each] = entry["resource_id"]
            elif entry["resource_id"] is None:  # nor is anything behind it
                self.excuse(stack_id, f"{each} was never made")
        for each in goals.left_unfinished(left.document):
            self.excuse(stack_id, f"not all of {each} was made")
        for each in sorted({*trees.paths(goals.parse(left.text)), *handed}):
            thing = self.cloud.get(handed.get(each))
            if thing is not None and not at_goal:
                self.cloud.estrange(thing)
            if thing is None or thing.broken or self.cloud.leaving(thing):
                self.excuse(stack_id, f"{each} was not there to be adopted")
            elif self.cloud.at_work(thing):
                self.excuse(stack_id, f"{each} was still coming up")

    def ring(self, every_s: float = 5.0) -> None:
        """From now on, somebody signals all that waits for it."""
        for snapshot in self.watch.snapshots.values():
            for row in snapshot.rows if snapshot.stack.deleted_at is None else ():
                if row.type == Bell.name and not row.data.get(RUNG) and self.api.alive:
                    act = Act("signal", snapshot.stack.name, resource=row.name)
                    self.api.run(act.verb, lambda act=act: self._perform(act))
        self.agenda.after(every_s, self.ring)

    def clear(self, every_s: float = 5.0) -> None:
        """From now on, somebody lets all that waits at a breakpoint go on."""
        for snapshot in list(self.watch.snapshots.values()):
            for row in snapshot.rows if snapshot.stack.deleted_at is None else ():
                if row.job_state is JobState.HELD and self.api.alive:
                    root, *above = self.path(snapshot.stack).split(".")
                    act = Act("clear", root, resource=".".join([*above, row.name]))
                    self.api.run(act.verb, lambda act=act: self._perform(act))
        self.agenda.after(every_s, self.clear)

    def path(self, stack: Stack) -> str:
        """``red``; of the stack behind its n, ``red.n``."""
        above = self.watch.snapshots.get(stack.owner_id or "")
        return stack.name if above is None else f"{self.path(above.stack)}.{stack.parent_resource}"

    def stack_id(self, name: str) -> str:
        """The id of the newest stack of that name or path, the living one first; or none."""
        found = [
            (snapshot.stack.deleted_at is None, stack_id)
            for stack_id, snapshot in self.watch.snapshots.items()
            if name in (snapshot.stack.name, self.path(snapshot.stack))
        ]
        return max(found, default=(False, "nobody"))[1]

    # -- for processes

    @property
    def current(self) -> tuple[Process, Running]:
        return self._current[-1]

    def go_on(self, process: Process, work: Running) -> None:
        """Lets a task run to its next pause."""
        task = work.task
        if task is None or task.done:
            return
        if process.stalled_until_s > self.agenda.at_s:
            self.agenda.at(process.stalled_until_s, lambda: self.go_on(process, work))
            return
        self._current.append((process, work))
        pause_s = task.resume()
        self._current.pop()
        if task.done and work in process.running:
            process.running.remove(work)
        if task.error is not None:
            self._blame(process, task.error)
        if pause_s is not None:
            self.agenda.after(pause_s, lambda: self.go_on(process, work))
        while self.doomed:
            doomed = self.doomed.pop()
            if doomed.alive:
                doomed.die()

    def deliver(self, message: Message) -> None:
        """Hands the message to a living process, now or as soon as there is one."""
        if message.number < self._newest.get(message.topic, 0):
            self.happened["bus overtaken"] += 1
        self._newest[message.topic] = max(message.number, self._newest.get(message.topic, 0))
        alive = [p for p in self.processes if p.topic == message.topic and p.alive]
        if not alive:
            self.agenda.after(0.5, lambda: self.deliver(message))
            return
        chosen = int(self.faults.vary("world/taker", 0, len(alive) - 0.001) + 0.5) % len(alive)
        self.tell(f"{alive[chosen].name} takes {message.verb} v{message.version}")
        alive[chosen].take(message)

    def takes_s(self, verb: Action, name: str) -> float:
        """How long the cloud works on it."""
        given = self.delays.get((verb.lower(), name))
        if given is not None:
            return given
        return self.faults.vary(f"cloud/{verb}/{name}", 0.0, self.shape.work_s)

    def tell(self, text: str) -> None:
        self.log.append(f"{self.agenda.at_s:9.3f} {text}")

    def _blame(self, process: Process, error: BaseException) -> None:
        if isinstance(error, Exception):
            self.tell(f"{process.name} fails: {error!r}")
            raise error
        raise error

    # -- what explains a failure

    def excuse(self, stack_id: str, what: str) -> None:
        self.excuses.setdefault(stack_id, []).append(what)

    def failed_call(self, view: View, error: errors.Error) -> None:
        """A call failed: for good, or often enough to explain a failure."""
        if isinstance(error, errors.ResourceGone) and view.physical_id in self.cloud.things:
            return  # whoever made it go has an excuse noted already, or is to blame
        self._errors[view.resource_id] += 1
        final = error.retry is errors.Retry.NEVER
        if final or self._errors[view.resource_id] >= self.settings.retry_limit:
            self.excuse(view.stack_id, f"{view.name}: {type(error).__name__}")

    # -- where it stands

    def busy(self) -> bool:
        """Whether a stack is in progress, or a message or a task on its way to it."""
        return any(snapshot.stack.in_progress for snapshot in self.watch.snapshots.values())

    def settle(self, limit_s: float) -> None:
        """Lets things happen until no stack is in progress and no work under way.

        Raises ``Broken`` (RULE 9) when that takes longer than ``limit_s``.
        """
        until_s = self.agenda.at_s + limit_s
        while self.busy() or any(p.running for p in (*self.processes, self.api)):
            if self.agenda.at_s > until_s:
                self.watch.say(9, f"not settled after {limit_s} s: {self.states()}")
                self.judge()
            self.step()

    def states(self) -> dict[str, str]:
        """Stack's name → ``ACTION_STATUS``."""
        return {
            snapshot.stack.name: f"{snapshot.stack.action}_{snapshot.stack.status}"
            for snapshot in self.watch.snapshots.values()
        }

    def _explained(self, stack: Stack) -> bool:
        """By what befell its tree, or the one that it was of before, by its owner's having
        given it up, or by a breakpoint that nobody cleared in time."""
        given_up = stack.owner_id is not None and "cancelled" in stack.status_reason
        reason = stack.status_reason
        overtaken = reason.startswith(SUPERSEDED) or OVERTAKEN in reason
        if given_up or overtaken or NEVER_MADE in stack.status_reason:
            return True
        trees = [stack.tree_id]
        while trees[-1] in self.watch.freed:
            trees.append(self.watch.freed[trees[-1]])
        tree = [s for s in self.watch.snapshots.values() if s.stack.tree_id in trees]
        return any(
            self.excuses.get(each.stack.id) or any(row.hook for row in each.rows)
            for each in tree
        )

    def explain(self) -> None:
        """Every stack at rest is in a state that its history explains."""
        for _stack_id, snapshot in sorted(self.watch.snapshots.items()):
            stack = snapshot.stack
            if stack.status is Status.FAILED and not self._explained(stack):
                self.watch.say(
                    9, f"stack {stack.name} is {stack.action} FAILED for no reason:"
                    f" {stack.status_reason}"
                )
        self.judge()
