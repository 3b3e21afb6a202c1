"""One history from beginning to end, and the verdict on it.

Called by the command ``simulate``, by tests and by the shrinker.  Runs a case,
stops all faults, waits until everything is settled, then asks users to bring each
stack to its goal and to delete it: nothing may be left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from heat_convergence.convergence.model import Action, Stack, Status
from heat_convergence.convergence.ports import Store
from heat_convergence.convergence.rules import Violation
from heat_convergence.db.engine import database_for
from heat_convergence.db.sealing import Keyring, attach
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.resources.views import LAST
from heat_convergence.testing.cloud import Thing
from heat_convergence.testing.faults import Faults
from heat_convergence.testing.generate import Case, Disturbance
from heat_convergence.testing.store import MemoryStore
from heat_convergence.testing.users import Act
from heat_convergence.testing.world import Broken, World

DISCARDED_WITHIN_S = 30.0  # what snapshots kept goes after their stack
SETTLED_WITHIN_S = 1500.0  # the longest timeout, twice (it may roll back), and time to notice


@dataclass(frozen=True, slots=True)
class Result:
    """``violation`` None: all went well.  ``fired`` are the faults that struck, by their
    points; ``happened`` counts what followed from them and from chance."""

    violation: Violation | None
    fired: dict[str, str]
    log: tuple[str, ...]
    steps: int
    states: dict[str, str]
    virtual_s: float
    happened: Counter[str]


def run(case: Case) -> Result:
    """The history of the case.  Errors of the code under test become violations."""
    faults = Faults(seed=case.shape.seed, odds=case.odds if case.given is None else {},
                    given=case.given or {})
    with opened(case.store) as store:
        world = World(case.shape, faults, store)
        violation = None
        try:
            _live(world, case)
        except Broken as broken:
            violation = broken.violation
        except Exception as error:  # noqa: BLE001
            # Whatever the code under test raises through its outermost loop is a
            # finding of this run, to be shrunk and replayed like any other.
            violation = Violation(0, f"{type(error).__name__}: {error}")
            world.tell(str(violation))
        finally:
            world.end()
        return Result(
            violation,
            faults.fired,
            tuple(world.log),
            world.steps,
            world.states(),
            world.agenda.at_s,
            world.happened,
        )


def points(case: Case, kind: str) -> list[str]:
    """The points of a kind that the case passes until its faults end."""
    passed: list[str] = []
    faults = Faults(seed=case.shape.seed, given=case.given or {})
    with opened(case.store) as store:
        world = World(case.shape, faults, store)
        try:
            _schedule(world, case)
            world.run_until(case.horizon_s)
            passed.extend(faults.points(kind))
        finally:
            world.end()
    return passed


@contextmanager
def opened(kind: str) -> Iterator[Store]:
    """A new, empty store: ``memory`` or ``sqlite``."""
    if kind == "memory":
        yield MemoryStore()
        return
    database = database_for("sqlite://")
    attach(database.engine, Keyring(["what simulated stacks keep secrets with"]))
    metadata.create_all(database.engine)
    try:
        yield SqlStore(database)
    finally:
        database.close()


def _live(world: World, case: Case) -> None:
    _schedule(world, case)
    world.run_until(case.horizon_s)
    world.faults.on = False
    world.clear()
    world.settle(SETTLED_WITHIN_S)
    world.explain()
    finish(world)


def _schedule(world: World, case: Case) -> None:
    for timed in case.acts:
        world.agenda.at(timed.at_s, lambda act=timed.act: world.act(act))
    for disturbance in case.disturbances:
        world.agenda.at(disturbance.at_s, lambda it=disturbance: disturb(world, it))


def disturb(world: World, disturbance: Disturbance) -> None:
    """Somebody else lays hands on a thing of the cloud."""
    things = [thing for thing in world.cloud.alive() if thing.stack_id]
    if not things:
        return
    touch(world, things[int(disturbance.share * len(things)) % len(things)], disturbance.what)


def touch(world: World, thing: Thing, what: str) -> None:
    """``vanish`` or ``change``."""
    world.tell(f"{what}: {thing.id} {thing.name}")
    world.happened[f"cloud {what}"] += 1
    world.excuse(thing.stack_id, f"{thing.id} was disturbed")
    if what == "vanish":
        world.cloud.vanish(thing)
    else:
        world.cloud.change(thing, {"size": 99})


def finish(world: World) -> None:
    """With no more faults, every stack reaches its goal, and can be deleted."""
    world.ring()
    for name in _names(world):
        _bring_home(world, name)
    while names := _names(world):  # what one retains is another's turn
        for name in names:
            _ask(world, Act("delete", name), expect=Status.COMPLETE)
    world.run_until(world.agenda.at_s + DISCARDED_WITHIN_S)
    left = [thing.id for thing in world.cloud.alive() if thing.stack_id]
    copies = world.cloud.copies.values()
    left += [
        copy.id for copy in copies
        if copy.alive and copy.stack_id and not copy.name.endswith(f"-{LAST}")
    ]
    if left:
        world.watch.say(7, f"everything is deleted, and {left} are left")
        world.judge()


def _names(world: World) -> list[str]:
    return sorted({s.stack.name for s in world.watch.snapshots.values() if _lives(s.stack)})


def _lives(stack: Stack) -> bool:
    """Whether users can still do something to it; nested ones go with their root."""
    return stack.deleted_at is None and stack.owner_id is None


def _bring_home(world: World, name: str) -> None:
    stack = world.watch.snapshots[world.stack_id(name)].stack
    if stack.action is Action.DELETE:
        return
    if stack.action is Action.SUSPEND:
        _ask(world, Act("resume", name))
    if any(thing.disturbed for thing in world.cloud.things.values()):
        _ask(world, Act("check", name))
    text = _goal_text(world, name)
    if _never_up(world):
        # An update goes on with what is coming up, waits in vain, and then knows.
        _ask(world, Act("update", name, text))
    _ask(world, Act("update", name, text), expect=Status.COMPLETE)


def _never_up(world: World) -> bool:
    return any(thing.up_at_s > 1e8 for thing in world.cloud.alive())


def _goal_text(world: World, name: str) -> str:
    stack = world.watch.snapshots[world.stack_id(name)].stack
    with world.store.transaction() as tx:
        goal = tx.get_goal(stack.goal_id)
        if goal is None:
            return ""
        return tx.get_contents([goal.template_hash])[goal.template_hash]


def _ask(world: World, act: Act, expect: Status | None = None) -> None:
    stack_id = world.stack_id(act.stack)
    before = world.watch.snapshots[stack_id].stack.version
    while not world.api.alive:
        world.step()
    world.act(act)
    world.settle(SETTLED_WITHIN_S)
    stack = world.watch.snapshots[stack_id].stack
    if stack.version == before:
        world.watch.say(8, f"{act.verb} of {act.stack} did not begin")
    elif expect is not None and (stack.status is not expect or stack.version != before + 1):
        world.watch.say(
            9, f"{act.verb} of {act.stack} ends {stack.action}_{stack.status} without a fault:"
            f" {stack.status_reason}"
        )
    world.judge()


Runner = Callable[[Case], Result]
