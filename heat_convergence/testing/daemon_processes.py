"""The daemons as real processes, for tests and benchmarks.

Writes their configuration, starts each in its own process group and sends signals.
Must not import the code that the daemons run.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

API, ENGINE, OBSERVER, STANDALONE = "api", "engine", "observer", "standalone"
CFN = "api-cfn"
_STARTED = {
    API: "worker started: binary=heat-convergence-api",
    CFN: "worker started: binary=heat-convergence-api-cfn",
    ENGINE: "worker accepts messages",
    OBSERVER: "worker accepts messages",
    STANDALONE: "worker accepts messages",
}
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 90
_PORTS = range(12_000, 32_000)  # below those that systems give to clients

ConfigOptions = Mapping[str, Mapping[str, object]]
"""Section → option → value, as in a configuration file."""


class WaitTimeout(AssertionError):
    """A condition that was not met in time; the message describes it."""


def wait_until(
    condition: Callable[[], object], description: str, *, timeout_s: float = 120.0
) -> None:
    """Poll a condition that another process fulfils.

    Raises:
        WaitTimeout: it is not met after ``timeout_s``.
    """
    give_up_at = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > give_up_at:
            raise WaitTimeout(f"after {timeout_s:.0f} s still not: {description}")
        time.sleep(0.05)


def free_port() -> int:
    """Return a TCP port on loopback that nothing listens on, and that no client is given.

    A daemon listens seconds later: the system would give a port of its own choice to a connection
    in between.  Processes that ask at the same time have hardly the same answer.
    """
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def write_config(path: Path, options: ConfigOptions) -> Path:
    """Write a configuration file and return its path."""
    lines = []
    for section, values in options.items():
        lines.append(f"[{section}]")
        lines.extend(f"{name} = {value}" for name, value in values.items())
    path.write_text("\n".join(lines) + "\n")
    return path


class DaemonProcess:
    """One daemon: a parent process and its workers, in one process group."""

    def __init__(self, role: str, command: Sequence[str], log: Path) -> None:
        self.role = role
        self.log = log
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._start_count_before = 0

    @property
    def pid(self) -> int:
        """The id of the parent process and of the process group."""
        if self._process is None:
            raise LookupError(f"{self.log.stem} was not started")
        return self._process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start the process; with ``wait`` return once a worker accepts work."""
        self._start_count_before = self.start_count()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                env={**os.environ, "OSLO_LOCK_PATH": str(self.log.parent)},
                start_new_session=True,
            )
        if wait:
            self.wait_until_started()

    def start_count(self) -> int:
        """Return how often a worker logged that it accepts work."""
        return self.count_in_log(_STARTED[self.role])

    def wait_until_started(self) -> None:
        """Wait until a worker accepts work after the last ``start``."""

        def started() -> bool:
            if self._process is not None and self._process.poll() is not None:
                raise WaitTimeout(f"{self.log.stem} has ended:\n{self.log_tail()}")
            return self.start_count() > self._start_count_before

        try:
            wait_until(started, f"{self.log.stem} accepts work", timeout_s=START_TIMEOUT_S)
        except WaitTimeout as late:
            raise WaitTimeout(f"{late}\n{self.log_tail()}") from late

    def count_in_log(self, text: str) -> int:
        """Return how often the log contains a text."""
        return self.log.read_text(errors="replace").count(text) if self.log.exists() else 0

    def log_tail(self) -> str:
        """Return the last 40 lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the parent process alone, as a service manager does."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to the parent and every worker."""
        if self._process is not None:
            _signal_group(self.pid, signal.SIGKILL)
            self._process.wait()

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code once the workers are drained."""
        self.send_signal(signal.SIGTERM)
        return self.wait_for_exit()

    def reload(self) -> None:
        """Send SIGHUP and return at once."""
        self.send_signal(signal.SIGHUP)

    def wait_for_exit(self) -> int:
        """Return the exit code; ``WaitTimeout`` if the process does not exit."""
        if self._process is None:
            return 0
        try:
            return self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise WaitTimeout(f"{self.log.stem} does not end:\n{self.log_tail()}") from error

    def is_running(self) -> bool:
        """Return whether the parent process runs."""
        return self._process is not None and self._process.poll() is None


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return  # it has ended by itself


class ServiceDeployment:
    """An API, engines and observers on one database and one bus.

    Args:
        folder: for the configuration file and the logs.
        options: additions to the configuration.
        launcher: the command that starts a daemon, to which its role and
            ``--config-file`` are appended; empty for the console scripts.
    """

    def __init__(
        self,
        folder: Path,
        *,
        database_url: str,
        transport_url: str,
        concurrency: str = "eventlet",
        options: ConfigOptions | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        self.directory = folder
        self.database_url = database_url
        self.port = free_port()
        self.daemons: list[DaemonProcess] = []
        self._launcher = tuple(launcher)
        self._options = merge_options(
            {
                "DEFAULT": {
                    "concurrency": concurrency,
                    "transport_url": transport_url,
                    "num_engine_workers": 1,
                    "max_resources_per_stack": -1,
                    "auth_encryption_key": secrets.token_urlsafe(32),
                },
                "database": {"connection": database_url},
                "metrics": {"api_port": 0, "engine_port": 0, "observer_port": 0},
                "heat_api": {
                    "auth_strategy": "noauth",
                    "bind_host": "127.0.0.1",
                    "bind_port": self.port,
                    "workers": 1,
                },
            },
            options or {},
        )
        self.config = write_config(folder / "heat-convergence.conf", self._options)

    @property
    def endpoint(self) -> str:
        """The API's address without version and project."""
        return f"http://127.0.0.1:{self.port}"

    def upgrade_database(self) -> None:
        """Create or upgrade the tables."""
        self.manage("db", "upgrade")

    def manage(self, *arguments: str) -> None:
        """Run a command of ``heat-convergence-manage`` with this configuration."""
        command = [_script("manage"), "--config-file", str(self.config), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=START_TIMEOUT_S)

    def add_daemon(
        self, role: str, options: ConfigOptions | None = None, arguments: Sequence[str] = ()
    ) -> DaemonProcess:
        """Add a daemon without starting it.

        Args:
            role: what it does.
            options: its own, in addition to those of all daemons; ``reconfigure`` does not
                change them.
            arguments: further arguments of its command.
        """
        number = 1 + sum(daemon.role == role for daemon in self.daemons)
        config = self.config
        if options is not None:
            own = self.directory / f"{role}-{number}.conf"
            config = write_config(own, merge_options(self._options, options))
        if self._launcher:
            command = [*self._launcher, role]
        else:
            command = [_script(), role] if role == STANDALONE else [_script(role)]
        if role == STANDALONE:
            command += ["--port", str(self.port), "--database", f"{self.directory}/stacks.sqlite"]
        command += ["--config-file", str(config), *arguments]
        daemon = DaemonProcess(role, command, self.directory / f"{role}-{number}.log")
        self.daemons.append(daemon)
        return daemon

    def start(self, *, engines: int = 1, observers: int = 1) -> ServiceDeployment:
        """Start the daemons at the same time; return once all accept work."""
        for role, count in ((API, 1), (ENGINE, engines), (OBSERVER, observers)):
            for _ in range(count):
                self.add_daemon(role).start(wait=False)
        for daemon in self.daemons:
            daemon.wait_until_started()
        return self

    def start_standalone(self, *arguments: str) -> ServiceDeployment:
        """Start everything in one process, on SQLite and the in-process transport."""
        daemon = self.add_daemon(STANDALONE, arguments=arguments)
        daemon.start()
        return self

    def daemons_with_role(self, role: str) -> list[DaemonProcess]:
        """Return the daemons with a role."""
        return [daemon for daemon in self.daemons if daemon.role == role]

    def reconfigure(self, options: ConfigOptions) -> None:
        """Rewrite the configuration file, which daemons read at a start or reload."""
        self._options = merge_options(self._options, options)
        write_config(self.config, self._options)

    def terminate(self) -> list[int]:
        """Send SIGTERM to all daemons at once; return their exit codes."""
        for daemon in self.daemons:
            daemon.send_signal(signal.SIGTERM)
        return [daemon.wait_for_exit() for daemon in self.daemons]

    def close(self) -> None:
        """Kill all daemons."""
        for daemon in self.daemons:
            daemon.kill()

    def __enter__(self) -> ServiceDeployment:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def merge_options(defaults: ConfigOptions, overrides: ConfigOptions) -> ConfigOptions:
    """Return all options; an override replaces a default."""
    sections = [*defaults, *(name for name in overrides if name not in defaults)]
    return {name: {**defaults.get(name, {}), **overrides.get(name, {})} for name in sections}


def _script(role: str = "") -> str:
    """Return the console script beside the running interpreter, else the one on the PATH.

    Raises:
        FileNotFoundError: there is none.
    """
    name = f"heat-convergence-{role}" if role else "heat-convergence"
    programs = str(Path(sys.executable).parent)
    found = shutil.which(name, path=programs) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is neither in {programs} nor on the PATH")
    return found
