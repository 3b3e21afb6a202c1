"""Histories as text: read, run, and written with what came of them.

The language of scenario files.  One command a line, a template indented below
``create`` and ``update``; what a command shows stands below it after ``| ``.  Used
by the scenario tests, by ``simulate --replay`` and by the shrinker, which writes a
failing history in it.  The list of commands is in ``docs/simulator.rst``.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.ports import Settings
from heat_convergence.testing import simulator
from heat_convergence.testing.bus import Message
from heat_convergence.testing.faults import KINDS, Faults, Order
from heat_convergence.testing.generate import Case, Disturbance
from heat_convergence.testing.show import events, reality, resources, stacks
from heat_convergence.testing.users import ABOUT_RESOURCES, VERBS, Act
from heat_convergence.testing.world import Broken, Shape, World

_COUNTS = {"seed", "engines", "observers", "group_size"}
_SHOWS = {"reality": reality, "stacks": stacks, "resources": resources, "events": events}
_BROKEN = "| BROKEN "


class Wrong(ValueError):
    """A scenario that cannot be read; says the line."""


@dataclass(frozen=True, slots=True)
class Command:
    """``words`` of the line, ``body`` the indented lines below it, ``shown`` what was
    recorded, ``source`` the text as it stands, comments before it included."""

    words: tuple[str, ...]
    body: str
    shown: tuple[str, ...]
    source: tuple[str, ...]
    line: int


def read(text: str) -> list[Command]:
    """The commands of a scenario."""
    commands: list[Command] = []
    comments: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("| ") or line == "|":
            _last(commands, number, shown=line[2:])
        elif line.startswith("  "):
            _last(commands, number, body=line)
        elif not line.strip() or line.startswith("#"):
            comments.append(line)
        else:
            words = tuple(shlex.split(line))
            commands.append(Command(words, "", (), (*comments, line), number))
            comments = []
    if comments:
        commands.append(Command((), "", (), tuple(comments), 0))
    return commands


def _last(commands: list[Command], number: int, shown: str | None = None, body: str = "") -> None:
    if not commands:
        raise Wrong(f"line {number}: no command before this")
    last = commands[-1]
    if shown is not None:
        commands[-1] = dataclasses.replace(last, shown=(*last.shown, shown))
    else:
        commands[-1] = dataclasses.replace(
            last, body=f"{last.body}{body.strip()}\n", source=(*last.source, body)
        )


def rewritten(text: str) -> str:
    """The scenario with what its commands show now."""
    commands = read(text)
    lines: list[str] = []
    for command, shown in zip(commands, play(commands), strict=True):
        lines.extend(command.source)
        lines.extend(f"| {line}".rstrip() for line in shown)
    return "\n".join(lines).rstrip() + "\n"


def is_broken(shown: str) -> bool:
    """Whether a command of the rewritten scenario shows a broken rule."""
    return any(line.startswith(_BROKEN) for line in shown.splitlines())


def play(commands: Sequence[Command]) -> list[list[str]]:
    """Runs the scenario; what each command shows.  A broken rule is shown, too, by
    the command in which it breaks, and ends the scenario."""
    shape, store, rest = _world_of(commands)
    shown: list[list[str]] = [[] for _ in range(len(commands) - len(rest))]
    with simulator.opened(store) as opened:
        stage = Stage(World(shape, Faults(seed=shape.seed), opened))
        try:
            for command in rest:
                shown.append(stage.perform(command))
        except Broken as broken:
            shown.append([f"{_BROKEN[2:]}{broken.violation}"])
            shown.extend([] for _ in range(len(commands) - len(shown)))
        finally:
            stage.world.end()
    return shown


def _world_of(commands: Sequence[Command]) -> tuple[Shape, str, Sequence[Command]]:
    """``world key=value …``, which may be the first command."""
    shape, store = Shape(work_s=0.0), "memory"
    if not commands or commands[0].words[:1] != ("world",):
        return shape, store, commands
    settings: dict[str, float] = {}
    for word in commands[0].words[1:]:
        key, _equals, value = word.partition("=")
        if key == "store":
            store = value
        elif key in _COUNTS:
            shape = dataclasses.replace(shape, **{key: int(value)})
        elif key == "work_s":
            shape = dataclasses.replace(shape, work_s=float(value))
        elif key in Settings.__dataclass_fields__:
            settings[key] = float(value) if key.endswith("_s") else int(value)
        else:
            raise Wrong(f"line {commands[0].line}: no such setting: {word}")
    given = dataclasses.replace(shape.settings, **settings)  # type: ignore[arg-type]
    return dataclasses.replace(shape, settings=given), store, commands[1:]


class Stage:
    """A world, and the commands that move it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def perform(self, command: Command) -> list[str]:
        """What the command shows."""
        if not command.words:
            return []
        verb, *words = command.words
        refused = len(self.world.refusals)
        if verb in VERBS:
            self.world.act(_act(command))
            self.world.run_until(self.world.agenda.at_s + 0.001)
        elif verb == "at":
            self._later(float(words[0]), dataclasses.replace(command, words=tuple(words[1:])))
        elif verb in _SHOWS:
            return list(_SHOWS[verb](self.world, *words))
        elif hasattr(self, f"do_{verb}"):
            getattr(self, f"do_{verb}")(*words)
        else:
            raise Wrong(f"line {command.line}: no such command: {verb}")
        shown = [f"refused: {name}" for name in self.world.refusals[refused:]]
        return [*shown, *stacks(self.world)] if verb in ("settle", "finish") else shown

    def _later(self, at_s: float, command: Command) -> None:
        self.world.agenda.at(at_s, lambda: self._at_its_time(command))

    def _at_its_time(self, command: Command) -> None:
        if command.words[0] in VERBS:
            self.world.act(_act(command))
        else:
            self.perform(command)

    # -- time

    def do_run(self, seconds: str) -> None:
        self.world.run_until(self.world.agenda.at_s + float(seconds))
        self.world.judge()

    def do_until(self, at_s: str) -> None:
        self.world.run_until(float(at_s))
        self.world.judge()

    def do_settle(self) -> None:
        self.world.settle(simulator.SETTLED_WITHIN_S)
        self.world.judge()

    def do_finish(self) -> None:
        """Faults end, all is settled, brought home and deleted."""
        self.world.faults.on = False
        if idle := [order for order in self.world.faults.orders if not order.struck]:
            raise Wrong(f"never came up: {idle[0].fault} at {idle[0].about or idle[0].process}")
        self.world.faults.orders.clear()
        self.world.clear()
        self.world.settle(simulator.SETTLED_WITHIN_S)
        self.world.explain()
        simulator.finish(self.world)

    # -- trouble

    def do_crash(self, process: str, *words: str) -> None:
        """``crash engine after=commit``, ``crash engine before=call create a`` …; alone,
        the process dies where it stands."""
        if not words:
            for each in (*self.world.processes, self.world.api):
                if each.name.startswith(process) and each.alive:
                    each.die()
            return
        when, _equals, kind = words[0].partition("=")
        self._order(process, kind, f"crash-{when}", words[1:])

    def do_fail(self, verb: str, name: str, fault: str, *words: str) -> None:
        """``fail create a permanent``, ``fail update b throttled times=2``."""
        self._order("engine", "call", fault, (f"{name} {verb}", *words))

    def do_birth(self, name: str, fault: str) -> None:
        """``birth a slow``, ``error`` or ``never``: how the next creation goes."""
        self._order("engine", "birth", fault, (name,))

    def do_lose(self, sender: str, *words: str) -> None:
        self._order(sender, "send", "lose", words)

    def do_double(self, sender: str, *words: str) -> None:
        self._order(sender, "send", "double", words)

    def do_deadlock(self, process: str, *words: str) -> None:
        self._order(process, "commit", "deadlock", words)

    def do_stall(self, process: str, seconds: str) -> None:
        for each in self.world.processes:
            if each.name.startswith(process):
                each.stalled_until_s = self.world.agenda.at_s + float(seconds)

    def do_fault(self, point: str, fault: str) -> None:
        """A fault at a named point, as a failing run reports it."""
        self.world.faults.given = {**self.world.faults.given, point: fault}

    def do_takes(self, verb: str, name: str, seconds: str) -> None:
        """How long the cloud works on it, from now on."""
        self.world.delays[verb, name] = float(seconds)

    def do_message(self, verb: str, stack: str, version: str, *names: str) -> None:
        """``message observe red 1 a b``: from nowhere, or an old one once more; a name
        that no row has goes as it is."""
        stack_id = self.world.stack_id(stack)
        snapshot = self.world.watch.snapshots.get(stack_id)
        ids = {row.name: row.id for row in snapshot.rows} if snapshot is not None else {}
        self.world.deliver(
            Message(
                verb,
                stack_id,
                int(version),
                tuple(ids.get(name, name) for name in names),
                self.world.agenda.count(),
            )
        )

    def do_disturb(self, what: str, share: str) -> None:
        simulator.disturb(self.world, Disturbance(0.0, what, float(share)))

    def do_vanish(self, name: str) -> None:
        self._thing(name, "vanish")

    def do_change(self, name: str) -> None:
        self._thing(name, "change")

    def _thing(self, name: str, what: str) -> None:
        found = [thing for thing in self.world.cloud.alive() if f"-{name}-" in thing.name]
        simulator.touch(self.world, found[-1], what)

    def _order(self, process: str, kind: str, fault: str, words: Sequence[str]) -> None:
        if fault not in KINDS.get(kind, ()):
            raise Wrong(f"no such fault: {fault} at {kind}")
        order = Order(process, kind, fault)
        for word in words:
            key, equals, value = word.partition("=")
            if equals:
                setattr(order, {"nth": "left", "times": "times"}[key], int(value))
            else:
                order.about = f"{order.about} {word}".strip()
        self.world.faults.orders.append(order)


def _act(command: Command) -> Act:
    verb, stack, *options = command.words
    act = Act(verb, stack, command.body.rstrip("\n"))
    if verb in ABOUT_RESOURCES and options:
        act = dataclasses.replace(act, resource=options.pop(0))
    for option in options:
        key, _equals, value = option.partition("=")
        if key == "rollback":
            act = dataclasses.replace(act, rollback=True)
        elif key == "timeout_mins":
            act = dataclasses.replace(act, timeout_mins=int(value))
        elif key in ("step", "converge"):
            act = dataclasses.replace(act, **{key: True})
        elif key == "skip":
            act = dataclasses.replace(act, skip=tuple(value.split(",")))
        else:
            raise Wrong(f"line {command.line}: no such option: {option}")
    return act


def written(case: Case, fired: dict[str, str]) -> str:
    """The case as a scenario that replays it."""
    return "\n".join(_lines(case, fired)) + "\n"


def _lines(case: Case, fired: dict[str, str]) -> Iterator[str]:
    shape = case.shape
    plain = Settings()
    settings = [
        f"{name}={getattr(shape.settings, name)}"
        for name in Settings.__slots__
        if getattr(shape.settings, name) != getattr(plain, name)
    ]
    yield " ".join(
        [
            f"world seed={shape.seed} store={case.store} engines={shape.engines}",
            f"observers={shape.observers} group_size={shape.group_size} work_s={shape.work_s}",
            *settings,
        ]
    )
    for point, fault in fired.items():
        yield f"fault {point} {fault}"
    for timed in case.acts:
        yield f"at {timed.at_s} {timed.act}"
    for disturbance in case.disturbances:
        yield f"at {disturbance.at_s} disturb {disturbance.what} {disturbance.share}"
    yield f"until {case.horizon_s}"
    yield "finish"
