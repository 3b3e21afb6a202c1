"""Histories as text: read, run, and written with what came of them.

The language of scenario files.  One command a line, a template indented below
``create`` and ``update``; what a command shows stands below it after ``| ``.  Used
by the scenario tests, by ``simulate --replay`` and by the shrinker, which writes a
failing history in it.  The list of commands is in ``docs/scenario_runner.rst``.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.simulation.bus import SimulatedMessage
from heat_convergence.testing.simulation.environment import (
    EnvironmentConfig,
    InvariantBroken,
    SimulatedEnvironment,
)
from heat_convergence.testing.simulation.fault_injector import (
    FAULTS_BY_POINT_TYPE,
    FaultInjector,
    PlannedFault,
)
from heat_convergence.testing.simulation.scenarios import scenario_runner
from heat_convergence.testing.simulation.scenarios.renderer import (
    render_events,
    render_reality,
    render_resources,
    render_stacks,
)
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    ExternalChange,
    Scenario,
)
from heat_convergence.testing.simulation.workload.user_requests import (
    OPERATIONS,
    RESOURCE_OPERATIONS,
    UserRequest,
)

_COUNTS = {"seed", "engines", "observers", "group_size"}
_SHOWS = {
    "reality": render_reality,
    "stacks": render_stacks,
    "resources": render_resources,
    "events": render_events,
}
_BROKEN = "| BROKEN "


class ScenarioSyntaxError(ValueError):
    """A scenario that cannot be read; says the line."""


@dataclass(frozen=True, slots=True)
class ScenarioCommand:
    """``words`` of the line, ``body`` the indented lines below it, ``shown`` what was
    recorded, ``source`` the text as it stands, comments before it included."""

    words: tuple[str, ...]
    body: str
    recorded_output: tuple[str, ...]
    source: tuple[str, ...]
    line: int


def parse_scenario(text: str) -> list[ScenarioCommand]:
    """The commands of a scenario."""
    commands: list[ScenarioCommand] = []
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
            commands.append(ScenarioCommand(words, "", (), (*comments, line), number))
            comments = []
    if comments:
        commands.append(ScenarioCommand((), "", (), tuple(comments), 0))
    return commands


def _last(
    commands: list[ScenarioCommand], number: int, shown: str | None = None, body: str = ""
) -> None:
    if not commands:
        raise ScenarioSyntaxError(f"line {number}: no command before this")
    last = commands[-1]
    if shown is not None:
        commands[-1] = dataclasses.replace(last, recorded_output=(*last.recorded_output, shown))
    else:
        commands[-1] = dataclasses.replace(
            last, body=f"{last.body}{body.strip()}\n", source=(*last.source, body)
        )


def record_scenario(text: str) -> str:
    """The scenario with what its commands show now."""
    commands = parse_scenario(text)
    lines: list[str] = []
    for command, shown in zip(commands, run_commands(commands), strict=True):
        lines.extend(command.source)
        lines.extend(f"| {line}".rstrip() for line in shown)
    return "\n".join(lines).rstrip() + "\n"


def shows_violation(shown: str) -> bool:
    """Whether a command of the rewritten scenario shows a broken rule."""
    return any(line.startswith(_BROKEN) for line in shown.splitlines())


def run_commands(commands: Sequence[ScenarioCommand]) -> list[list[str]]:
    """Runs the scenario; what each command shows.  A broken rule is shown, too, by
    the command in which it breaks, and ends the scenario."""
    shape, store, rest = _world_of(commands)
    shown: list[list[str]] = [[] for _ in range(len(commands) - len(rest))]
    with scenario_runner.open_store(store) as opened:
        stage = ScenarioInterpreter(
            SimulatedEnvironment(shape, FaultInjector(seed=shape.seed), opened)
        )
        try:
            for command in rest:
                shown.append(stage.execute(command))
        except InvariantBroken as broken:
            shown.append([f"{_BROKEN[2:]}{broken.violation}"])
            shown.extend([] for _ in range(len(commands) - len(shown)))
        finally:
            stage.environment.close()
    return shown


def _world_of(
    commands: Sequence[ScenarioCommand],
) -> tuple[EnvironmentConfig, str, Sequence[ScenarioCommand]]:
    """``world key=value …``, which may be the first command."""
    shape, store = EnvironmentConfig(max_work_s=0.0), "memory"
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
            shape = dataclasses.replace(shape, max_work_s=float(value))
        elif key in ConvergenceSettings.__dataclass_fields__:
            settings[key] = float(value) if key.endswith("_s") else int(value)
        else:
            raise ScenarioSyntaxError(f"line {commands[0].line}: no such setting: {word}")
    given = dataclasses.replace(shape.settings, **settings)  # type: ignore[arg-type]
    return dataclasses.replace(shape, settings=given), store, commands[1:]


class ScenarioInterpreter:
    """A world, and the commands that move it."""

    def __init__(self, world: SimulatedEnvironment) -> None:
        self.environment = world

    def execute(self, command: ScenarioCommand) -> list[str]:
        """What the command shows."""
        if not command.words:
            return []
        verb, *words = command.words
        refused = len(self.environment.refused_requests)
        if verb in OPERATIONS:
            self.environment.submit_request(_act(command))
            self.environment.run_until(self.environment.event_queue.elapsed_s + 0.001)
        elif verb == "at":
            self._later(float(words[0]), dataclasses.replace(command, words=tuple(words[1:])))
        elif verb in _SHOWS:
            return list(_SHOWS[verb](self.environment, *words))
        elif hasattr(self, f"do_{verb}"):
            getattr(self, f"do_{verb}")(*words)
        else:
            raise ScenarioSyntaxError(f"line {command.line}: no such command: {verb}")
        shown = [f"refused: {name}" for name in self.environment.refused_requests[refused:]]
        return (
            [*shown, *render_stacks(self.environment)] if verb in ("settle", "finish") else shown
        )

    def _later(self, at_s: float, command: ScenarioCommand) -> None:
        self.environment.event_queue.schedule_at(at_s, lambda: self._at_its_time(command))

    def _at_its_time(self, command: ScenarioCommand) -> None:
        if command.words[0] in OPERATIONS:
            self.environment.submit_request(_act(command))
        else:
            self.execute(command)

    # -- time

    def do_run(self, seconds: str) -> None:
        self.environment.run_until(self.environment.event_queue.elapsed_s + float(seconds))
        self.environment.raise_violation()

    def do_until(self, at_s: str) -> None:
        self.environment.run_until(float(at_s))
        self.environment.raise_violation()

    def do_settle(self) -> None:
        self.environment.settle(scenario_runner.SETTLE_TIMEOUT_S)
        self.environment.raise_violation()

    def do_finish(self) -> None:
        """Faults end, all is settled, brought home and deleted."""
        self.environment.faults.enabled = False
        if idle := [
            order for order in self.environment.faults.planned_faults if not order.triggered
        ]:
            raise ScenarioSyntaxError(
                f"never came up: {idle[0].fault} at {idle[0].context or idle[0].process_prefix}"
            )
        self.environment.faults.planned_faults.clear()
        self.environment.clear_breakpoints_periodically()
        self.environment.settle(scenario_runner.SETTLE_TIMEOUT_S)
        self.environment.check_failures_expected()
        scenario_runner.reach_goals_and_delete(self.environment)

    # -- trouble

    def do_crash(self, process: str, *words: str) -> None:
        """``crash engine after=commit``, ``crash engine before=call create a`` …; alone,
        the process dies where it stands."""
        if not words:
            for each in (*self.environment.processes, self.environment.api):
                if each.name.startswith(process) and each.alive:
                    each.kill()
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
        for each in self.environment.processes:
            if each.name.startswith(process):
                each.stalled_until_s = self.environment.event_queue.elapsed_s + float(seconds)

    def do_fault(self, point: str, fault: str) -> None:
        """A fault at a named point, as a failing run reports it."""
        self.environment.faults.faults_by_point = {
            **self.environment.faults.faults_by_point,
            point: fault,
        }

    def do_takes(self, verb: str, name: str, seconds: str) -> None:
        """How long the cloud works on it, from now on."""
        self.environment.work_durations[verb, name] = float(seconds)

    def do_message(self, verb: str, stack: str, version: str, *names: str) -> None:
        """``message observe red 1 a b``: from nowhere, or an old one once more; a name
        that no row has goes as it is."""
        stack_id = self.environment.find_stack_id(stack)
        snapshot = self.environment.invariant_checker.stack_states.get(stack_id)
        ids = {row.name: row.id for row in snapshot.resources} if snapshot is not None else {}
        self.environment.deliver(
            SimulatedMessage(
                verb,
                stack_id,
                int(version),
                tuple(ids.get(name, name) for name in names),
                self.environment.event_queue.next_sequence_number(),
            )
        )

    def do_disturb(self, what: str, share: str) -> None:
        scenario_runner.apply_external_change(
            self.environment, ExternalChange(0.0, what, float(share))
        )

    def do_vanish(self, name: str) -> None:
        self._thing(name, "vanish")

    def do_change(self, name: str) -> None:
        self._thing(name, "change")

    def _thing(self, name: str, what: str) -> None:
        found = [
            thing for thing in self.environment.cloud.active_objects() if f"-{name}-" in thing.name
        ]
        scenario_runner.change_object(self.environment, found[-1], what)

    def _order(self, process: str, kind: str, fault: str, words: Sequence[str]) -> None:
        if fault not in FAULTS_BY_POINT_TYPE.get(kind, ()):
            raise ScenarioSyntaxError(f"no such fault: {fault} at {kind}")
        order = PlannedFault(process, kind, fault)
        for word in words:
            key, equals, value = word.partition("=")
            if equals:
                setattr(order, {"nth": "matches_left", "times": "repeat_count"}[key], int(value))
            else:
                order.context = f"{order.context} {word}".strip()
        self.environment.faults.planned_faults.append(order)


def _act(command: ScenarioCommand) -> UserRequest:
    verb, stack, *options = command.words
    act = UserRequest(verb, stack, command.body.rstrip("\n"))
    if verb in RESOURCE_OPERATIONS and options:
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
            raise ScenarioSyntaxError(f"line {command.line}: no such option: {option}")
    return act


def format_scenario(case: Scenario, fired: dict[str, str]) -> str:
    """The case as a scenario that replays it."""
    return "\n".join(_lines(case, fired)) + "\n"


def _lines(case: Scenario, fired: dict[str, str]) -> Iterator[str]:
    shape = case.config
    plain = ConvergenceSettings()
    settings = [
        f"{name}={getattr(shape.settings, name)}"
        for name in ConvergenceSettings.__slots__
        if getattr(shape.settings, name) != getattr(plain, name)
    ]
    yield " ".join(
        [
            f"world seed={shape.seed} store={case.store} engines={shape.engines}",
            f"observers={shape.observers} group_size={shape.group_size} work_s={shape.max_work_s}",
            *settings,
        ]
    )
    for point, fault in fired.items():
        yield f"fault {point} {fault}"
    for timed in case.requests:
        yield f"at {timed.at_s} {timed.request}"
    for disturbance in case.external_changes:
        yield f"at {disturbance.at_s} disturb {disturbance.operation} {disturbance.selector}"
    yield f"until {case.horizon_s}"
    yield "finish"
