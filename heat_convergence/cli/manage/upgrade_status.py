"""``heat-convergence-status upgrade check``, in the form that oslo.upgradecheck defines.

Tools that upgrade clouds run it with the new release, before they restart the daemons. The
checks are those of ``diagnosis``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from heat_convergence.cli import config
from heat_convergence.cli.config import package_version
from heat_convergence.cli.diagnosis.configuration_checks import (
    check_files,
    check_modules,
    check_policy,
)
from heat_convergence.cli.diagnosis.database_checks import check_database
from heat_convergence.cli.diagnosis.finding import Check, Severity
from heat_convergence.cli.startup.config_files import PROJECT_NAME
from heat_convergence.cli.startup.token_options import register_token_options

_CODES = {
    Severity.OK: upgradecheck.Code.SUCCESS,
    Severity.WARNING: upgradecheck.Code.WARNING,
    Severity.ERROR: upgradecheck.Code.FAILURE,
}


class UpgradeChecks(upgradecheck.UpgradeCommands):
    """The checks before an upgrade."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def _run_check(self, check: Check) -> Any:
        findings = [each for each in check(self._conf) if each.level is not Severity.OK]
        code = max((_CODES[each.level] for each in findings), default=upgradecheck.Code.SUCCESS)
        details = "; ".join(f"{each.text}: {each.remedy}" for each in findings)
        return upgradecheck.Result(code, details or None)

    _upgrade_checks = (
        ("Configuration", (_run_check, {"check": check_files})),
        ("Modules and resource types", (_run_check, {"check": check_modules})),
        ("Policy", (_run_check, {"check": check_policy})),
        ("Database", (_run_check, {"check": check_database})),
    )


def main(arguments: Sequence[str]) -> int:
    """Run the program, and return its exit code: 0 success, 1 warning, 2 failure."""
    if "--version" in arguments:  # the library has no such option
        print(package_version())
        return 0
    conf = config.create_options()
    register_token_options(conf)
    return int(upgradecheck.main(conf, PROJECT_NAME, UpgradeChecks(conf), list(arguments)))


def run(conf: cfg.ConfigOpts, *, as_json: bool) -> int:
    """Check the installation of a configuration that was read already."""
    arguments = [f"--config-file={name}" for name in conf.config_file]
    arguments += [f"--config-dir={name}" for name in conf.config_dir or ()]
    return main([*arguments, "upgrade", "check", *(["--json"] if as_json else [])])
