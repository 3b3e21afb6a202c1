"""Completion scripts of the programs, and the version that they print."""

from __future__ import annotations

import pytest

from heat_convergence.cli import config
from heat_convergence.cli.manage import main as manage


@pytest.mark.parametrize("option", ["--shell_completion", "--shell-completion"])
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_daemon_prints_a_script(
    option: str, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        config.load_config([option, shell], prog="heat-convergence-engine")
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "--config-file" in printed
    assert "--log-file" in printed
    assert "heat-convergence-engine" in printed


def test_unknown_shell_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        config.load_config(["--shell_completion", "csh2"], prog="heat-convergence-engine")
    assert ended.value.code == 2
    assert "csh2" in capsys.readouterr().err


def test_manage_prints_a_script_with_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        manage.main(["--shell-completion", "bash"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "purge_deleted" in printed
    assert "--config-dir" in printed


def test_build_information_is_the_version_of_the_package() -> None:
    conf = config.load_config([], prog="p", files=[])
    assert conf.revision.heat_revision == config.package_version()
