"""Programs that are started with a mistake: what they print, how long it takes, how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from heat_convergence.testing.daemon_processes import (
    ConfigOptions,
    WaitTimeout,
    free_port,
    merge_options,
    wait_until,
    write_config,
)
from tests.integration.mistakes.catalogue import API, API_CFN, OperatorMistake, Places

KEY = "k" * 32
TIMEOUT_S = 120
_READY = {API: "worker started: binary=heat-convergence-api ", API_CFN: "worker started: binary="}
_ACCEPTS, _DRAINING = "worker accepts messages", "worker draining"
_PREFIX = re.compile(r"^\S+ \S+ \d+ (?P<level>[A-Z]+) \S+ \[[^]]*\] ")
_NUMBER = re.compile(r"[0-9.]+")
_QUIET = frozenset({"INFO", "DEBUG"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one start.

    Attributes:
        code: The exit code.
        text: Everything that was printed.
        processor_s: Processor time of the program and its workers, from the start to the end.
        clock_s: Seconds by the clock until the program has ended, or has named the mistake and
            works or waits.
    """

    code: int
    text: str
    processor_s: float
    clock_s: float

    @property
    def complaints(self) -> list[str]:
        """The lines that are no information: warnings, errors and what is outside of the log.

        A line that is repeated with other numbers counts once, and the end of the daemon, which
        the test has asked for, not at all.
        """
        found: dict[str, str] = {}
        for line in self.text.partition(_DRAINING)[0].splitlines():
            prefix = _PREFIX.match(line)
            if line and (prefix is None or prefix["level"] not in _QUIET):
                text = line.removeprefix(prefix.group() if prefix else "")
                found[_NUMBER.sub("", text)] = text
        return list(found.values())


def options_for(mistake: OperatorMistake, places: Places) -> ConfigOptions:
    """Return right options, changed by the mistake."""
    right: Mapping[str, Mapping[str, Any]] = {
        "DEFAULT": {
            "transport_url": places.broker,
            "num_engine_workers": 1,
            "auth_encryption_key": KEY,
            "environment_dir": places.folder / "no-environments",
        },
        "database": {"connection": places.database},
        "metrics": {"api_port": 0, "api_cfn_port": 0, "engine_port": 0, "observer_port": 0},
        "heat_api": {
            "auth_strategy": "noauth",
            "bind_host": "127.0.0.1",
            "bind_port": free_port(),
            "workers": 1,
        },
        "heat_api_cfn": {"bind_host": "127.0.0.1", "bind_port": free_port(), "workers": 1},
    }
    return merge_options(right, mistake.options(places))


class Program:
    """A program with a configuration that contains a mistake."""

    def __init__(self, mistake: OperatorMistake, places: Places) -> None:
        self._mistake = mistake
        self._places = places
        path = places.folder / "heat-convergence.conf"
        config = mistake.file and mistake.file(places)
        self._config = config or write_config(path, options_for(mistake, places))

    def run_daemon(self, role: str) -> Outcome:
        """Start a daemon; if it goes on, end it once it has said what it must."""
        output = self._places.folder / f"{role}.log"
        begin = time.monotonic()
        process = self._start(f"heat-convergence-{role}", [], output)
        try:
            self._wait(process, role, output.read_text)
            clock_s = time.monotonic() - begin
            os.kill(process.pid, signal.SIGTERM)  # it is not reaped yet, even if it has ended
            return _outcome(process, output, clock_s)
        finally:
            _kill_group(process)

    def run_doctor(self) -> Outcome:
        """Run ``doctor``."""
        output = self._places.folder / "doctor.log"
        begin = time.monotonic()
        process = self._start("heat-convergence-manage", ["doctor"], output)
        try:
            wait_until(partial(_has_ended, process), "doctor ends", timeout_s=TIMEOUT_S)
            return _outcome(process, output, time.monotonic() - begin)
        finally:
            _kill_group(process)

    def _start(self, script: str, arguments: list[str], output: Path) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).with_name(script)), "--config-file", str(self._config)]
        added = self._mistake.environment(self._places)
        paths = filter(None, [added.get("PYTHONPATH"), os.environ.get("PYTHONPATH")])
        environment = {
            **os.environ,
            **added,
            "OSLO_LOCK_PATH": str(self._places.folder),
            "PYTHONPATH": os.pathsep.join(paths),
        }
        with output.open("wb") as file:
            return subprocess.Popen(
                [*command, *arguments],
                stdout=file,
                stderr=file,
                env=environment,
                start_new_session=True,
            )

    def _wait(self, process: subprocess.Popen[bytes], role: str, read: Callable[[], str]) -> None:
        """Wait until the daemon has ended, or has named the mistake and begun to work."""
        mistake = self._mistake

        def has_reported() -> bool:
            if _has_ended(process):
                return True
            text = read()
            works = mistake.waits or _READY.get(role, _ACCEPTS) in text or "/dev/full" in text
            return mistake.code is None and mistake.message in text and works

        try:
            wait_until(has_reported, f"{role} has named the mistake", timeout_s=TIMEOUT_S)
        except WaitTimeout as late:
            raise WaitTimeout(f"{late}\n{read()}") from late


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has ended; its processor time can still be read."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _outcome(process: subprocess.Popen[bytes], output: Path, clock_s: float) -> Outcome:
    """Return the outcome of a process that is about to end."""
    wait_until(partial(_has_ended, process), f"{output.stem} ends", timeout_s=TIMEOUT_S)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    processor_s = usage.ru_utime + usage.ru_stime
    return Outcome(process.returncode, output.read_text(), processor_s, clock_s)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    if process.returncode is None:
        process.wait()
