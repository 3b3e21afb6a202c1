"""``heat-convergence-manage doctor`` and ``status``: each mistake is named with its remedy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.diagnosis import database_checks
from heat_convergence.cli.manage import doctor_commands, upgrade_status
from heat_convergence.cli.manage import main as manage
from heat_convergence.common.clock import utc_now
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.statements import credentials
from heat_convergence.testing.daemon_processes import write_config

KEY = "0123456789abcdef0123456789abcdef"
Doctor = Callable[[Mapping[str, Mapping[str, Any]]], dict[str, list[dict[str, str]]]]


def options_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        "DEFAULT": {
            "auth_encryption_key": KEY,
            "transport_url": "fake://",
            "environment_dir": folder / "environment.d",
        },
        "database": {"connection": f"sqlite:///{folder}/hc.sqlite"},
        "heat_api": {"auth_strategy": "noauth", "bind_host": "127.0.0.1"},
    }


@pytest.fixture
def upgraded(tmp_path: Path) -> Path:
    config = write_config(tmp_path / "hc.conf", options_of(tmp_path))
    assert manage.main(["--config-file", str(config), "db", "upgrade"]) == 0
    return tmp_path


@pytest.fixture
def doctor(upgraded: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run the command with changed options, and return the findings by subject."""

    def run(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, str]]]:
        options = options_of(upgraded)
        for section, values in changes.items():
            options[section] = {**options.get(section, {}), **values}
        config = write_config(upgraded / "hc.conf", options)
        capsys.readouterr()
        code = manage.main(["--config-file", str(config), "doctor", "--json"])
        printed = capsys.readouterr()
        assert "planted" not in printed.out + printed.err
        found: dict[str, list[dict[str, str]]] = {}
        for each in json.loads(printed.out):
            assert bool(each["remedy"]) is (each["level"] != "ok"), each
            found.setdefault(each["subject"], []).append(each)
        assert code == any(each["level"] == "error" for many in found.values() for each in many)
        return found

    return run


def test_correct_installation_has_no_error(doctor: Doctor) -> None:
    found = doctor({})
    levels = {each["level"] for many in found.values() for each in many}
    assert levels == {"ok", "warning"}  # no worker is up
    assert [each["text"] for each in found["workers"]] == [
        f"heat-convergence-{role}: none is up" for role in ("api", "engine", "observer")
    ]
    assert found["keys"][0]["text"] == "the newest secrets can be decrypted"


@pytest.mark.parametrize(
    ("changes", "subject", "text", "remedy"),
    [
        (
            {"DEFAULT": {"auth_encryption_key": ""}},
            "configuration",
            "auth_encryption_key is not set",
            "32 or more random characters",
        ),
        (
            {"DEFAULT": {"transport_url": "foo://u:planted@x"}},
            "configuration",
            "transport_url cannot be used",
            "",
        ),
        (
            {"heat_api": {"bind_host": "0.0.0.0"}},
            "configuration",
            "lets everybody in",
            "auth_strategy = keystone",
        ),
        (
            {"database": {"connection": "mysql+pymysql://root:planted@127.0.0.1:1/x"}},
            "database",
            "does not answer",
            "start the server",
        ),
        (
            {"DEFAULT": {"transport_url": "rabbit://guest:planted@127.0.0.1:1/"}},
            "broker",
            "127.0.0.1:1, virtual host / does not answer",
            "start the broker",
        ),
        (
            {"DEFAULT": {"log_dir": "/proc/nowhere"}},
            "log directory",
            "/proc/nowhere is not a directory that this user may write to",
            "create /proc/nowhere",
        ),
        (
            {
                "heat_api": {"auth_strategy": "keystone"},
                "keystone_authtoken": {
                    "auth_type": "password",
                    "auth_url": "http://127.0.0.1:1/v3",
                    "username": "heat",
                    "password": "planted",
                },
            },
            "keystone",
            "Keystone did not answer",
            "correct auth_url",
        ),
        (
            {"heat_api": {"auth_strategy": "keystone"}},
            "keystone",
            "The service has no user",
            "[keystone_authtoken] or [trustee]",
        ),
    ],
)
def test_mistake_is_an_error(
    changes: Mapping[str, Mapping[str, Any]], subject: str, text: str, remedy: str, doctor: Doctor
) -> None:
    (error,) = [each for each in doctor(changes)[subject] if each["level"] == "error"]
    assert text in error["text"]
    assert remedy in error["remedy"]


def test_refused_broker(doctor: Doctor, rabbit_url: str) -> None:
    with_unknown_host = rabbit_url.rpartition("/")[0] + "/no-such-host"
    (error,) = doctor({"DEFAULT": {"transport_url": with_unknown_host}})["broker"]
    assert error["level"] == "error"
    assert "refuses the user" in error["text"]
    (found,) = doctor({"DEFAULT": {"transport_url": rabbit_url}})["broker"]
    assert found["level"] == "ok"


def test_clock_of_this_host_is_compared_with_the_database_servers(
    doctor: Doctor, mariadb_url: str, postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in (mariadb_url, postgresql_url):
        (found,) = doctor({"database": {"connection": url}})["clock"]
        assert found["level"] == "ok"
    real = database_checks.utc_now
    for jump_s, words in ((90, "90.0 s ahead of"), (-90, "90.0 s behind")):
        jump = timedelta(seconds=jump_s)
        monkeypatch.setattr(database_checks, "utc_now", lambda jump=jump: real() + jump)
        (found,) = doctor({"database": {"connection": mariadb_url}})["clock"]
        assert found["level"] == "warning"
        assert words in found["text"]


def test_misspelt_option_and_invalid_environment_file_are_warnings(
    upgraded: Path, doctor: Doctor
) -> None:
    folder = upgraded / "environment.d"
    folder.mkdir()
    (folder / "wrong.yaml").write_text("parameters: [")
    found = doctor({"engine": {"thraeds": "3"}})
    assert "thraeds is unknown" in found["configuration"][0]["text"]
    assert "wrong.yaml is ignored" in found["environment"][0]["text"]


def test_invalid_policy_file_and_unknown_rules(upgraded: Path, doctor: Doctor) -> None:
    policy = upgraded / "policy.yaml"
    policy.write_text('"stacks:nothing": "role:admin"')
    changes = {"oslo_policy": {"policy_file": policy}}
    assert "stacks:nothing have no effect" in doctor(changes)["policy"][0]["text"]
    policy.write_text("[")
    assert doctor(changes)["policy"][0]["level"] == "error"


def test_secret_of_another_key_is_an_error(upgraded: Path, doctor: Doctor) -> None:
    database = database_from_url(f"sqlite:///{upgraded}/hc.sqlite")
    attach_keyring(database.engine, Keyring(["another key"]))
    with database.write() as conn:
        credentials.upsert(conn, "tree", {"trust_id": "x"}, utc_now())
    database.close()
    (error,) = doctor({})["keys"]
    assert error["level"] == "error"
    assert "cannot be decrypted" in error["text"]


def test_report_has_a_line_for_each_finding(
    upgraded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert manage.main(["--config-file", str(upgraded / "hc.conf"), "doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "0 errors, 3 warnings."
    assert len(lines) < 24


@pytest.mark.parametrize(("revision", "code"), [("head", 1), ("0001", 2)])
def test_status_before_an_upgrade(
    revision: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(tmp_path / "hc.conf", options_of(tmp_path)))
    assert manage.main(["--config-file", config, "db", "upgrade", revision]) == 0
    capsys.readouterr()
    assert upgrade_status.main(["--config-file", config, "upgrade", "check", "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == "Upgrade Check Results"
    results = {each["check"]: each["result"] for each in found["checks"]}
    assert results["Configuration"] == 0
    assert results["Database"] == code
    assert manage.main(["--config-file", config, "status"]) == code
    assert "Upgrade Check Results" in capsys.readouterr().out


def test_check_that_raises_is_a_finding() -> None:
    (finding,) = doctor_commands.run_checks(object(), [_failing])
    assert finding.subject == "failing"
    assert "RuntimeError" in finding.text
    assert "planted" not in finding.text


def _failing(_conf: object) -> Any:
    raise RuntimeError("planted")


_failing.__name__ = "check_failing"
