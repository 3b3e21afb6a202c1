"""Mistakes in the configuration: each is named in one line before a daemon starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oslo_config import cfg

from heat_convergence.cli import config
from heat_convergence.cli.startup.checks import check_configuration, find_warnings
from heat_convergence.cli.startup.option_names import OPTION_SOURCES, find_unknown_options
from heat_convergence.cli.startup.required_modules import DAEMON_MODULES
from heat_convergence.cli.startup.startup_state import (
    EXIT_CONFIGURATION,
    EXIT_REFUSED,
    StartupProblem,
    StartupState,
)

KEY = "auth_encryption_key = 0123456789abcdef0123456789abcdef\n"
DATABASE = "[database]\nconnection = sqlite:///x\n"
LoadConfig = Callable[[str], cfg.ConfigOpts]


@pytest.fixture
def load(tmp_path: Path) -> LoadConfig:
    def load(text: str) -> cfg.ConfigOpts:
        path = tmp_path / "heat.conf"
        path.write_text(text)
        return config.load_config([], prog="p", files=[str(path)])

    return load


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DATABASE, "auth_encryption_key is not set"),
        (f"[DEFAULT]\n{KEY}", r"\[database\] connection is not set"),
        (
            f"[DEFAULT]\n{KEY}[database]\nconnection = nonsense\n",
            "connection cannot be used",
        ),
        (f"[DEFAULT]\n{KEY}[database]\nconnection = oracle9://u:p@x/y\n", "oracle9"),
        (f"[DEFAULT]\n{KEY}transport_url = foo://x\n{DATABASE}", "transport_url cannot be used"),
        (f"[DEFAULT]\n{KEY}transport_url = rabbit://u:p@x:y/\n{DATABASE}", "transport_url cannot"),
        (
            f"[DEFAULT]\n{KEY}{DATABASE}[drift]\nrepair_window = 0 25 * * *\n",
            r"\[drift\] repair_window cannot be used: \"0 25 \* \* \*\" is not a cron",
        ),
        (
            f"[DEFAULT]\n{KEY}{DATABASE}[drift]\nrepair_window = 0 2 * * *\n"
            "repair_window_timezone = Nowhere\n",
            '"Nowhere" is not a time zone',
        ),
    ],
)
def test_mistake_is_named(load: LoadConfig, text: str, problem: str) -> None:
    with pytest.raises(StartupProblem, match=problem) as raised:
        check_configuration(load(text), DAEMON_MODULES)
    assert raised.value.exit_code == EXIT_CONFIGURATION
    assert "\n" not in str(raised.value)
    assert ":p@" not in str(raised.value)


def test_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "heat.conf"
    path.write_bytes(b"[DEFAULT]\ndebug = \xff\n")
    with pytest.raises(StartupProblem, match=r"heat\.conf cannot be read: it is no text"):
        config.load_config([f"--config-file={path}"], prog="p")
    with pytest.raises(StartupProblem, match=r"heat\.conf cannot be read: it is no text"):
        config.load_config([f"--config-dir={tmp_path}", "--config-file=/dev/null"], prog="p")


def test_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartupProblem, match=f"{tmp_path} cannot be read: Is a directory"):
        config.load_config([f"--config-file={tmp_path}"], prog="p")


def test_all_mistakes_are_named_together(load: LoadConfig) -> None:
    with pytest.raises(StartupProblem, match=r"auth_encryption_key.*; \[database\] connection"):
        check_configuration(load(""), DAEMON_MODULES)


def test_value_of_the_wrong_type_is_found_before_it_is_used(load: LoadConfig) -> None:
    with pytest.raises(cfg.ConfigFileValueError, match="threads"):
        load("[engine]\nthreads = many\n")


def test_short_key_is_a_warning(load: LoadConfig, capfd: pytest.CaptureFixture[str]) -> None:
    check_configuration(
        load(f"[DEFAULT]\nauth_encryption_key = abcde\n{DATABASE}"), DAEMON_MODULES
    )
    logged = "".join(capfd.readouterr())
    assert "auth_encryption_key number 1 has 5 characters" in logged
    assert "abcde" not in logged


@pytest.mark.parametrize(
    ("options", "is_named"),
    [
        ("log_file = {0}/x.log\nlog_rotation_type = size", True),
        ("log_dir = {0}\nlog_rotation_type = interval", True),
        ("log_dir = {0}", False),
        ("log_rotation_type = size", False),
    ],
)
def test_rotation_by_the_daemon_is_a_warning(
    load: LoadConfig, tmp_path: Path, options: str, is_named: bool
) -> None:
    warnings = find_warnings(load(f"[DEFAULT]\n{options.format(tmp_path)}\n"))
    assert ["use logrotate" in warning for warning in warnings] == [True] * is_named


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("[engine]\nthraeds = 4\n", '[engine] thraeds is unknown and ignored. Did you mean "thr'),
        ("[engin]\nthreads = 4\n", 'section [engin] is unknown and ignored. Did you mean "engin'),
        ("[DEFAULT]\ndebgu = true\n", "[DEFAULT] debgu is unknown and ignored."),
        ("[engine]\nthreads = 4\n", None),
        ("[DEFAULT]\nlog-dir =\n", None),
        ("[DEFAULT]\nlogfile =\n", None),  # the former name of log-file
        ("[oslo_messaging_rabbit]\nheartbeat_rate = 3\n", None),
        ("[cors]\nallowed_origin = x\n", None),
        ("[trustee]\nauth_type = password\nusername = u\nauth_url = x\n", None),
        ("[trustee]\nauth_type = password\nusernmae = u\n", "[trustee] usernmae is unknown"),
    ],
)
def test_unknown_option_is_named_with_the_nearest_one(
    load: LoadConfig, text: str, unknown: str | None
) -> None:
    found = find_unknown_options(load(text))
    assert (len(found) == 1 and unknown in found[0]) if unknown else found == []


def test_sources_of_options_are_those_of_the_sample() -> None:
    sample = Path(__file__).parents[4] / "etc" / "config-generator.conf"
    lines = sample.read_text().splitlines()
    named = [line.split("=")[1].strip() for line in lines if line.startswith("namespace")]
    assert set(named) == set(OPTION_SOURCES)


def test_first_problem_of_a_worker_is_the_exit_code(caplog: pytest.LogCaptureFixture) -> None:
    startup = StartupState()
    startup.fail(StartupProblem("first", EXIT_REFUSED))
    startup.fail(StartupProblem("second"))
    assert startup.exit_code == EXIT_REFUSED
    assert "first" in caplog.text
    assert "second" not in caplog.text


def test_log_goes_to_standard_error_if_its_file_cannot_be_written(
    load: LoadConfig, capfd: pytest.CaptureFixture[str]
) -> None:
    conf = load("[DEFAULT]\nlog_dir = /proc/nowhere\n")
    assert conf.log_dir is None
    logged = capfd.readouterr().err
    assert logged.count("\n") == 1
    assert "the log goes to standard error, since /proc/nowhere" in logged


def test_unusable_log_configuration_is_a_problem(load: LoadConfig) -> None:
    with pytest.raises(StartupProblem, match="log_config_append"):
        load("[DEFAULT]\nlog_config_append = /proc/nowhere\n")
