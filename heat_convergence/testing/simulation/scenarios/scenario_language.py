"""The scenario language: the text of a scenario and its commands.

One command a line; a template is indented below ``create`` and ``update``; the recorded
output of a command follows it on lines that begin with ``| ``.  Used by the scenario
interpreter and by the shrinker, which writes a failing history in it.  The commands are
listed in ``docs/contribute/simulator.rst``; nothing here runs them.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.simulation.scenarios.scenario_generator import Scenario
from heat_convergence.testing.simulation.simulation_context import EnvironmentConfig
from heat_convergence.testing.simulation.workload.user_requests import (
    RESOURCE_OPERATIONS,
    UserRequest,
)

ENVIRONMENT_COMMAND = "environment"
_COUNTS = {"seed", "engines", "observers", "group_size", "concurrent_polls"}


class ScenarioSyntaxError(ValueError):
    """A scenario that cannot be read; the message has the line."""


@dataclass(frozen=True, slots=True)
class ScenarioCommand:
    """One command of a scenario.

    Attributes:
        words: the words of its line; empty for comments at the end of the file.
        body: the indented lines below it.
        recorded_output: the recorded lines, without the leading bar.
        source: the lines as written, including comments before the command.
        line: the number of the line.
    """

    words: tuple[str, ...]
    body: str
    recorded_output: tuple[str, ...]
    source: tuple[str, ...]
    line: int


def parse_scenario(text: str) -> list[ScenarioCommand]:
    """Parse the commands; ``ScenarioSyntaxError`` for output or template before the first."""
    commands: list[ScenarioCommand] = []
    comments: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("| ") or line == "|":
            last = _pop_last(commands, number)
            output = (*last.recorded_output, line[2:])
            commands.append(dataclasses.replace(last, recorded_output=output))
        elif line.startswith("  "):
            last = _pop_last(commands, number)
            body = f"{last.body}{line.strip()}\n"
            commands.append(dataclasses.replace(last, body=body, source=(*last.source, line)))
        elif not line.strip() or line.startswith("#"):
            comments.append(line)
        else:
            words = tuple(shlex.split(line))
            commands.append(ScenarioCommand(words, "", (), (*comments, line), number))
            comments = []
    if comments:
        commands.append(ScenarioCommand((), "", (), tuple(comments), 0))
    return commands


def _pop_last(commands: list[ScenarioCommand], number: int) -> ScenarioCommand:
    if not commands:
        raise ScenarioSyntaxError(f"line {number}: no command before this")
    return commands.pop()


def parse_environment(
    commands: Sequence[ScenarioCommand],
) -> tuple[EnvironmentConfig, str, Sequence[ScenarioCommand]]:
    """Read ``environment key=value …``, which may be the first command.

    Returns:
        The configuration, the name of the store and the remaining commands.
    """
    config, store = EnvironmentConfig(max_work_s=0.0), "memory"
    if not commands or commands[0].words[:1] != (ENVIRONMENT_COMMAND,):
        return config, store, commands
    counts: dict[str, int] = {}
    settings: dict[str, float] = {}
    for word in commands[0].words[1:]:
        key, _equals, value = word.partition("=")
        if key == "store":
            store = value
        elif key in _COUNTS:
            counts[key] = int(value)
        elif key == "message_wait_s":
            config = dataclasses.replace(config, message_wait_s=float(value))
        elif key == "work_s":
            config = dataclasses.replace(config, max_work_s=float(value))
        elif key in ConvergenceSettings.__dataclass_fields__:
            settings[key] = float(value) if key.endswith("_s") else int(value)
        else:
            raise ScenarioSyntaxError(f"line {commands[0].line}: no such setting: {word}")
    return _configured(config, counts, settings), store, commands[1:]


def _configured(
    config: EnvironmentConfig, counts: Mapping[str, int], settings: Mapping[str, float]
) -> EnvironmentConfig:
    changed = dataclasses.replace(config.settings, **settings)  # type: ignore[arg-type]
    return dataclasses.replace(config, settings=changed, **counts)  # type: ignore[arg-type]


def parse_request(command: ScenarioCommand) -> UserRequest:
    """Return the user's request that a command stands for."""
    operation, stack, *options = command.words
    request = UserRequest(operation, stack, command.body.rstrip("\n"))
    if operation in RESOURCE_OPERATIONS and options:
        request = dataclasses.replace(request, resource=options.pop(0))
    for option in options:
        request = _with_option(request, option, command.line)
    return request


def _with_option(request: UserRequest, option: str, line: int) -> UserRequest:
    key, _equals, value = option.partition("=")
    if key == "rollback":
        return dataclasses.replace(request, rollback=True)
    if key == "quarantine":
        return dataclasses.replace(request, quarantine=True)
    if key == "step":
        return dataclasses.replace(request, step=True)
    if key == "converge":
        return dataclasses.replace(request, converge=True)
    if key == "timeout_mins":
        return dataclasses.replace(request, timeout_mins=int(value))
    if key == "to":
        return dataclasses.replace(request, target=value)
    if key == "as":
        return dataclasses.replace(request, new_name=value)
    if key == "exclude":
        return dataclasses.replace(request, exclude=tuple(value.split(",")))
    raise ScenarioSyntaxError(f"line {line}: no such option: {option}")


def format_scenario(scenario: Scenario, injected_faults: Mapping[str, str]) -> str:
    """Return the text that replays a scenario with the faults of one run."""
    return "\n".join(_lines(scenario, injected_faults)) + "\n"


def _lines(scenario: Scenario, injected_faults: Mapping[str, str]) -> Iterator[str]:
    config, defaults = scenario.config, ConvergenceSettings()
    settings = [
        f"{name}={getattr(config.settings, name)}"
        for name in ConvergenceSettings.__slots__
        if getattr(config.settings, name) != getattr(defaults, name)
    ]
    yield " ".join(
        [
            f"{ENVIRONMENT_COMMAND} seed={config.seed} store={scenario.store}",
            f"engines={config.engines} observers={config.observers}",
            f"group_size={config.group_size} work_s={config.max_work_s}",
            f"concurrent_polls={config.concurrent_polls}",
            f"message_wait_s={config.message_wait_s}",
            *settings,
        ]
    )
    for point, fault in injected_faults.items():
        yield f"inject {point} {fault}"
    for timed in scenario.requests:
        yield f"at {timed.at_s} {timed.request}"
    for change in scenario.external_changes:
        yield f"at {change.at_s} external_change {change.operation} {change.selector}"
    yield f"until {scenario.horizon_s}"
    yield "finish"
