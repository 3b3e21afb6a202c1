"""Mistakes of operators, with what the daemons and ``doctor`` must say about each.

A message is a part of the line that is printed; ``docs/operate/mistakes.rst`` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from heat_convergence.cli.startup.startup_state import EXIT_CONFIGURATION, EXIT_REFUSED

Options = Mapping[str, Mapping[str, Any]]
API, API_CFN, ENGINE, OBSERVER = "api", "api-cfn", "engine", "observer"
EVERY = (API, API_CFN, ENGINE, OBSERVER)
APIS = (API, API_CFN)
WITH_BROKER = (ENGINE, OBSERVER)  # the APIs only send, and connect when they do
WORKS, FAILS, REJECTS = 0, 1, 3  # exit codes of doctor


@dataclass(frozen=True, slots=True)
class Places:
    """The surroundings of one run of the daemons.

    Attributes:
        folder: An empty folder.
        database: URL of an upgraded database.
        empty_database: URL of a database without tables.
        broker: URL of a broker and a virtual host.
        used_port: A port that another process listens at.
        closed_port: A port that nobody listens at.
    """

    folder: Path
    database: str
    empty_database: str
    broker: str
    used_port: int
    closed_port: int


@dataclass(frozen=True, slots=True)
class OperatorMistake:
    """A mistake.

    Attributes:
        title: What is wrong.
        message: Part of the line of each daemon.
        code: Exit code of the daemons; None if they go on.
        options: Function that returns the options that are wrong.
        doctor: Part of the report; empty where only a daemon can see the mistake.
        doctor_code: Exit code of ``doctor``.
        daemons: Daemons that it concerns.
        waits: The daemons wait until it is corrected, instead of working with it.
        file: Function that writes a configuration file in place of one with options.
        environment: Further environment variables.
    """

    title: str
    message: str
    code: int | None = EXIT_CONFIGURATION
    options: Callable[[Places], Options] = lambda places: {}
    doctor: str = ""
    doctor_code: int = FAILS
    daemons: tuple[str, ...] = EVERY
    waits: bool = False
    file: Callable[[Places], Path] | None = None
    environment: Callable[[Places], Mapping[str, str]] = lambda places: {}


def database(**parts: Any) -> Callable[[Places], Options]:
    """Return options with a changed URL of the database."""

    def change(places: Places) -> Options:
        url = make_url(places.database).set(**parts)
        return {"database": {"connection": url.render_as_string(hide_password=False)}}

    return change


def broker(**parts: Any) -> Callable[[Places], Options]:
    """Return options with a changed URL of the broker."""

    def change(places: Places) -> Options:
        url = make_url(places.broker).set(**parts)
        return {"DEFAULT": {"transport_url": url.render_as_string(hide_password=False)}}

    return change


def default(**values: Any) -> Callable[[Places], Options]:
    """Return options of the section ``DEFAULT``."""
    return lambda places: {"DEFAULT": values}


def _written(content: bytes) -> Callable[[Places], Path]:
    def write(places: Places) -> Path:
        path = places.folder / "wrong.conf"
        path.write_bytes(content)
        return path

    return write


def _without_types(places: Places) -> Mapping[str, str]:
    """Return the path of an installation whose metadata names no resource types."""
    package = places.folder / "installation" / "heat_convergence-0.1.0.dist-info"
    package.mkdir(parents=True, exist_ok=True)
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: heat-convergence\nVersion: 0.1.0\n"
    )
    lines = [
        f"[{each.group}]\n{each.name} = {each.value}\n"
        for each in distribution("heat-convergence").entry_points
        if each.group != "heat_convergence.resource_types"
    ]
    (package / "entry_points.txt").write_text("".join(lines))
    return {"PYTHONPATH": str(package.parent)}


def _environment_file(places: Places) -> Options:
    folder = places.folder / "environment.d"
    folder.mkdir(exist_ok=True)
    (folder / "wrong.yaml").write_text("parameters: [")
    return {"DEFAULT": {"environment_dir": folder}}


MISTAKES = (
    OperatorMistake(
        "the password of the database is wrong",
        "not started: [database] connection: the database refuses user, password or database",
        EXIT_REFUSED,
        database(username="nobody", password="wrong-password"),
        "refuses user, password or database",
    ),
    OperatorMistake(
        "the database does not exist",
        "not started: [database] connection: the database refuses user, password or database",
        EXIT_REFUSED,
        database(database="no_such_database"),
        "refuses user, password or database",
    ),
    OperatorMistake(
        "the database server is down",
        "waiting for the database",
        None,
        lambda places: database(port=places.closed_port)(places),
        "does not answer",
        waits=True,
    ),
    OperatorMistake(
        "the tables were not made",
        "run heat-convergence-manage db upgrade",
        None,
        lambda places: {"database": {"connection": places.empty_database}},
        "run heat-convergence-manage db upgrade",
        waits=True,
    ),
    OperatorMistake(
        "[database] connection is not set",
        "not started: [database] connection is not set: set it to the URL of the database",
        options=lambda places: {"database": {"connection": ""}},
        doctor="[database] connection is not set",
    ),
    OperatorMistake(
        "the URL of the database names an unknown dialect",
        "not started: [database] connection cannot be used",
        options=database(drivername="oracle9"),
        doctor="[database] connection cannot be used",
    ),
    OperatorMistake(
        "the driver of the database is not installed",
        "not started: [database] connection needs the Python module MySQLdb: install it, or name"
        " another driver in the URL",
        options=database(drivername="mysql+mysqldb"),
        doctor="needs the Python module MySQLdb",
    ),
    OperatorMistake(
        "the password of the broker is wrong",
        "not started: [DEFAULT] transport_url: the broker refuses user, password or virtual host",
        EXIT_REFUSED,
        broker(password="wrong-password"),
        "refuses the user",
        daemons=WITH_BROKER,
    ),
    OperatorMistake(
        "the virtual host of the broker does not exist",
        "not started: [DEFAULT] transport_url: the broker refuses user, password or virtual host",
        EXIT_REFUSED,
        broker(database="no-such-host"),
        "refuses the user",
        daemons=WITH_BROKER,
    ),
    OperatorMistake(
        "the broker is down",
        "waiting for the broker: no node of [DEFAULT] transport_url has answered yet; start"
        " it, or correct host and port",
        None,
        lambda places: broker(port=places.closed_port)(places),
        "does not answer",
        daemons=WITH_BROKER,
        waits=True,
    ),
    OperatorMistake(
        "transport_url names an unknown broker",
        "not started: [DEFAULT] transport_url cannot be used",
        options=default(transport_url="rabbits://broker/"),
        doctor="[DEFAULT] transport_url cannot be used",
    ),
    OperatorMistake(
        "auth_encryption_key is not set",
        "not started: [DEFAULT] auth_encryption_key is not set: set it to 32 or more random"
        " characters, the same for all daemons",
        options=default(auth_encryption_key=""),
        doctor="auth_encryption_key is not set",
    ),
    OperatorMistake(
        "auth_encryption_key is short",
        "auth_encryption_key number 1 has 5 characters; use 32 or more random ones",
        None,
        default(auth_encryption_key="short"),
        "auth_encryption_key number 1 has 5 characters",
        WORKS,
    ),
    OperatorMistake(
        "the installation has no resource types",
        "not started: IncompleteInstallation: no entry point heat_convergence.resource_types of"
        " this package is installed: install the package again",
        environment=_without_types,
        doctor="install the package again",
    ),
    OperatorMistake(
        "the configuration file does not exist",
        "Failed to find some config files: /etc/nowhere.conf",
        file=lambda places: Path("/etc/nowhere.conf"),
        doctor="Failed to find some config files: /etc/nowhere.conf",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "a line of the configuration file cannot be read",
        "wrong.conf",
        file=_written(b"[DEFAULT]\nno equals sign\n"),
        doctor="wrong.conf",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "the configuration file is no text",
        "wrong.conf cannot be read: it is no text in UTF-8",
        file=_written(b"\x7fELF\xff\xfe"),
        doctor="it is no text in UTF-8",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "a folder is named as configuration file",
        "cannot be read: Is a directory",
        file=lambda places: places.folder,
        doctor="cannot be read: Is a directory",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "a value is not of its option's type",
        "threads",
        options=lambda places: {"heat_api": {"threads": "many"}},
        doctor="threads",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "an option is misspelt",
        '[engine] thraeds is unknown and ignored. Did you mean "threads"?',
        None,
        lambda places: {"engine": {"thraeds": 3}},
        "[engine] thraeds is unknown and ignored",
        WORKS,
    ),
    OperatorMistake(
        "a section is misspelt",
        "the section [enigne] is unknown and ignored",
        None,
        lambda places: {"enigne": {"threads": 3}},
        "the section [enigne] is unknown and ignored",
        WORKS,
    ),
    OperatorMistake(
        "the API would serve strangers without authentication",
        "auth_strategy = noauth authorizes every caller",
        options=lambda places: {
            "heat_api": {"bind_host": "0.0.0.0"},
            "heat_api_cfn": {"bind_host": "0.0.0.0"},
        },
        doctor="auth_strategy = noauth lets everybody in",
        daemons=APIS,
    ),
    OperatorMistake(
        "the port of the API is in use",
        "not started: the API cannot listen at port",
        EXIT_REFUSED,
        lambda places: {
            "heat_api": {"bind_port": places.used_port},
            "heat_api_cfn": {"bind_port": places.used_port},
        },
        daemons=APIS,
    ),
    OperatorMistake(
        "the address of the API is not this host's",
        "Cannot assign requested address",
        EXIT_REFUSED,
        lambda places: {
            "heat_api": {"auth_strategy": "keystone", "bind_host": "203.0.113.1"},
            "heat_api_cfn": {"bind_host": "203.0.113.1"},
        },
        daemons=APIS,
    ),
    OperatorMistake(
        "the port of the metrics is in use",
        "metrics not served",
        None,
        lambda places: {
            "metrics": dict.fromkeys(
                ("api_port", "api_cfn_port", "engine_port", "observer_port"), places.used_port
            )
        },
    ),
    OperatorMistake(
        "the directory of the log cannot be written to",
        "the log goes to standard error",
        None,
        default(log_dir="/proc/nowhere"),
        "/proc/nowhere is not a directory that this user may write to",
    ),
    OperatorMistake(
        "the disk of the log is full",
        "lines of the log were lost, since /dev/full cannot be written: No space left on device",
        None,
        default(log_file="/dev/full"),
    ),
    OperatorMistake(
        "log_config_append names a file that does not exist",
        "not started: [DEFAULT] log_config_append",
        options=default(log_config_append="/etc/nowhere.conf"),
        doctor="[DEFAULT] log_config_append",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "an environment file of environment_dir has a syntax error",
        "wrong.yaml",
        None,
        _environment_file,
        "wrong.yaml is ignored",
        WORKS,
        daemons=(API, ENGINE),
    ),
    OperatorMistake(
        "concurrency has an unknown value",
        "concurrency",
        options=default(concurrency="threads"),
        doctor="concurrency",
        doctor_code=REJECTS,
    ),
    OperatorMistake(
        "a driver of notifications is not installed",
        "not started: [oslo_messaging_notifications] driver = messaging3 is not installed",
        options=lambda places: {"oslo_messaging_notifications": {"driver": "messaging3"}},
        doctor="[oslo_messaging_notifications] driver = messaging3 is not installed",
    ),
)
