"""The scenario interpreter, which runs a scenario and records what its commands show.

Used by the scenario tests and by ``simulate --replay``.  How a scenario is written is
decided in ``scenario_language``, how states are shown in ``renderer``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.testing.simulation.environment import InvariantBroken, SimulatedEnvironment
from heat_convergence.testing.simulation.fault_injector import (
    FAULTS_BY_POINT_TYPE,
    FaultInjector,
    PlannedFault,
)
from heat_convergence.testing.simulation.handover.object_imports import MAKE
from heat_convergence.testing.simulation.messaging.bus import SimulatedMessage
from heat_convergence.testing.simulation.scenarios import scenario_runner
from heat_convergence.testing.simulation.scenarios.renderer import (
    render_events,
    render_quarantine,
    render_reality,
    render_resources,
    render_stacks,
)
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    DEGRADE,
    ExternalChange,
)
from heat_convergence.testing.simulation.scenarios.scenario_language import (
    ScenarioCommand,
    ScenarioSyntaxError,
    parse_environment,
    parse_request,
    parse_scenario,
)
from heat_convergence.testing.simulation.service_outages import ServiceOutage
from heat_convergence.testing.simulation.workload import template_notation
from heat_convergence.testing.simulation.workload.user_requests import OPERATIONS

_VIOLATED = "VIOLATED "


def record_scenario(text: str) -> str:
    """Run a scenario and return its text with the output of each command."""
    commands = parse_scenario(text)
    lines: list[str] = []
    for command, output in zip(commands, run_commands(commands), strict=True):
        lines.extend(command.source)
        lines.extend(f"| {line}".rstrip() for line in output)
    return "\n".join(lines).rstrip() + "\n"


def shows_violation(recorded: str) -> bool:
    """Return whether a recorded scenario shows the violation of a rule."""
    return any(line.startswith(f"| {_VIOLATED}") for line in recorded.splitlines())


def run_commands(commands: Sequence[ScenarioCommand]) -> list[list[str]]:
    """Run a scenario.

    Returns:
        The output of each command.  A violation is output of the command during which
        it occurs, and ends the scenario.
    """
    config, store, remaining = parse_environment(commands)
    output: list[list[str]] = [[] for _ in range(len(commands) - len(remaining))]
    with scenario_runner.open_store(store) as opened:
        interpreter = ScenarioInterpreter(
            SimulatedEnvironment(config, FaultInjector(seed=config.seed), opened)
        )
        try:
            for command in remaining:
                output.append(interpreter.execute(command))
        except InvariantBroken as broken:
            output.append([f"{_VIOLATED}{broken.violation}"])
            output.extend([] for _ in range(len(commands) - len(output)))
        finally:
            interpreter.environment.close()
    return output


class ScenarioInterpreter:
    """A simulated environment and the commands that act on it.

    Each method ``do_COMMAND`` is a command of the language.
    """

    def __init__(self, environment: SimulatedEnvironment) -> None:
        self.environment = environment

    def execute(self, command: ScenarioCommand) -> list[str]:
        """Execute a command and return its output."""
        if not command.words:
            return []
        name, *words = command.words
        refused_before = len(self.environment.refused_requests)
        if name in OPERATIONS:
            self.environment.submit_request(parse_request(command))
            self.environment.run_until(self.environment.event_queue.elapsed_s + 0.001)
        elif name == "at":
            self._schedule(float(words[0]), dataclasses.replace(command, words=tuple(words[1:])))
        elif name in ("reality", "stacks", "resources", "events", "quarantine"):
            return self._render(name, words)
        elif name == "end_outage":
            return self._end_outage(words[0])
        elif hasattr(self, f"do_{name}"):
            getattr(self, f"do_{name}")(*words)
        else:
            raise ScenarioSyntaxError(f"line {command.line}: no such command: {name}")
        output = [f"refused: {e}" for e in self.environment.refused_requests[refused_before:]]
        if name in ("settle", "finish"):
            output.extend(render_stacks(self.environment))
        return output

    def _render(self, name: str, words: Sequence[str]) -> list[str]:
        if name == "events":
            return list(render_events(self.environment, *words))
        renderers = {
            "reality": render_reality, "stacks": render_stacks, "resources": render_resources,
            "quarantine": render_quarantine,
        }  # fmt: skip
        return list(renderers[name](self.environment))

    def _schedule(self, at_s: float, command: ScenarioCommand) -> None:
        self.environment.event_queue.schedule_at(at_s, lambda: self._execute_scheduled(command))

    def _execute_scheduled(self, command: ScenarioCommand) -> None:
        if command.words[0] in OPERATIONS:
            self.environment.submit_request(parse_request(command))
        else:
            self.execute(command)

    # -- time

    def do_run(self, seconds: str) -> None:
        """Run for some simulated seconds."""
        self.environment.run_until(self.environment.event_queue.elapsed_s + float(seconds))
        self.environment.raise_violation()

    def do_until(self, at_s: str) -> None:
        """Run up to a simulated time in seconds."""
        self.environment.run_until(float(at_s))
        self.environment.raise_violation()

    def do_settle(self) -> None:
        """Run until no stack and no task is in progress."""
        self.environment.settle(scenario_runner.SETTLE_TIMEOUT_S)
        self.environment.raise_violation()

    def do_finish(self) -> None:
        """Stop all faults, settle, and have every stack reach its goal and be deleted."""
        faults = self.environment.faults
        faults.enabled = False
        unused = [planned for planned in faults.planned_faults if not planned.triggered]
        if unused:
            place = unused[0].context or unused[0].process_prefix
            raise ScenarioSyntaxError(f"never occurred: {unused[0].fault} at {place}")
        faults.planned_faults.clear()
        self.environment.clear_breakpoints_periodically()
        self.environment.settle(scenario_runner.SETTLE_TIMEOUT_S)
        self.environment.cloud.end_degradations()
        self.environment.check_failures_expected()
        scenario_runner.reach_goals_and_delete(self.environment)

    # -- faults

    def do_crash(self, process: str, *words: str) -> None:
        """Kill processes now, or at a later point.

        ``crash engine`` kills at once; ``crash engine after=commit`` and ``crash engine
        before=call create a`` at the next such point.
        """
        if not words:
            for each in (*self.environment.processes, self.environment.api):
                if each.name.startswith(process) and each.alive:
                    each.kill()
            return
        when, _equals, point_type = words[0].partition("=")
        self._plan_fault(process, point_type, f"crash-{when}", words[1:])

    def do_fail(self, action: str, name: str, fault: str, *words: str) -> None:
        """Fail a call: ``fail create a permanent``, ``fail update b throttled times=2``.

        ``by=observer`` fails one that an observer makes.
        """
        process = next((word[3:] for word in words if word.startswith("by=")), "engine")
        others = (word for word in words if not word.startswith("by="))
        self._plan_fault(process, "call", fault, (f"{name} {action}", *others))

    def do_provision(self, name: str, fault: str, *words: str) -> None:
        """Have creations be ``slow``, end in ``error`` or ``never`` end."""
        self._plan_fault("engine", "provision", fault, (name, *words))

    def do_outage(self, service: str, *words: str) -> None:
        """Begin an outage of the service of a resource type: ``outage Immutable answer_s=60``."""
        values: dict[str, Any] = {}
        values |= {key: float(value) for key, _equals, value in (w.partition("=") for w in words)}
        type_name = template_notation.TYPE_NAMES[service]
        self.environment.outages.by_type[type_name] = ServiceOutage(**values)

    def _end_outage(self, service: str) -> list[str]:
        """End an outage, check how often the service was called, and return the calls."""
        ended = self.environment.outages.end(template_notation.TYPE_NAMES[service])
        violation = ended.find_violation()
        if violation is not None:
            self.environment.invariant_checker.report_violation(11, f"{service}: {violation}")
            self.environment.raise_violation()
        return [f"{name}: {len(times)} calls" for name, times in sorted(ended.call_times.items())]

    def do_lose(self, sender: str, *words: str) -> None:
        """Lose the next message of a process."""
        self._plan_fault(sender, "send", "lose", words)

    def do_duplicate(self, sender: str, *words: str) -> None:
        """Deliver the next message of a process twice."""
        self._plan_fault(sender, "send", "duplicate", words)

    def do_deadlock(self, process: str, *words: str) -> None:
        """Fail the next commit of a process with a deadlock."""
        self._plan_fault(process, "commit", "deadlock", words)

    def do_stall(self, process: str, seconds: str) -> None:
        """Stop a process for some seconds without killing it."""
        for each in self.environment.processes:
            if each.name.startswith(process):
                each.stalled_until_s = self.environment.event_queue.elapsed_s + float(seconds)

    def do_inject(self, point: str, fault: str) -> None:
        """Inject a fault at a named point, as a failing run reports it."""
        faults = self.environment.faults
        faults.faults_by_point = {**faults.faults_by_point, point: fault}

    def do_duration(self, action: str, name: str, seconds: str) -> None:
        """Set how long the cloud takes for an action on a resource."""
        self.environment.work_durations[action, name] = float(seconds)

    def do_message(self, method: str, stack: str, version: str, *names: str) -> None:
        """Deliver a stale or unsolicited message, such as ``message observe red 1 a b``.

        A name that no resource has is sent as the id.
        """
        stack_id = self.environment.find_stack_id(stack)
        state = self.environment.invariant_checker.stack_states.get(stack_id)
        ids = {row.name: row.id for row in state.resources} if state is not None else {}
        self.environment.router.deliver(
            SimulatedMessage(
                method,
                (ResourceHint(stack_id, int(version), tuple(ids.get(n, n) for n in names)),),
                self.environment.event_queue.next_sequence_number(),
            )
        )

    # -- changes by third parties

    def do_external_change(self, operation: str, selector: str) -> None:
        """Change or delete one of the cloud's objects, as a failing run reports it."""
        scenario_runner.apply_external_change(
            self.environment, ExternalChange(0.0, operation, float(selector))
        )

    def do_make_by_hand(self, selector: str = "0") -> None:
        """Make an object that no stack owns; a number from 0 to 1 chooses its properties."""
        scenario_runner.apply_external_change(
            self.environment, ExternalChange(0.0, MAKE, float(selector))
        )

    def do_delete_externally(self, name: str) -> None:
        """Delete the newest object of a resource without the service's knowledge."""
        self._change_newest(name, "delete")

    def do_change_externally(self, name: str) -> None:
        """Change the newest object of a resource without the service's knowledge."""
        self._change_newest(name, "change")

    def do_degrade(self, name: str) -> None:
        """Have the newest object of a resource lose its health for a while."""
        self._change_newest(name, DEGRADE)

    def _change_newest(self, name: str, operation: str) -> None:
        objects = self.environment.cloud.active_objects()
        found = [each for each in objects if f"-{name}-" in each.name]
        scenario_runner.change_object(self.environment, found[-1], operation)

    def _plan_fault(self, process: str, point_type: str, fault: str, words: Sequence[str]) -> None:
        if fault not in FAULTS_BY_POINT_TYPE.get(point_type, ()):
            raise ScenarioSyntaxError(f"no such fault: {fault} at {point_type}")
        planned = PlannedFault(process, point_type, fault)
        for word in words:
            key, equals, value = word.partition("=")
            if not equals:
                planned.context = f"{planned.context} {word}".strip()
            elif key == "nth":
                planned.matches_left = int(value)
            elif key == "times":
                planned.repeat_count = int(value)
            else:
                raise ScenarioSyntaxError(f"no such option: {word}")
        self.environment.faults.planned_faults.append(planned)
