"""``heat-convergence-manage doctor`` and ``status``: checks of the whole installation.

Called by ``main``; decides how findings are printed. ``diagnosis`` decides what is wrong.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from oslo_config import cfg

from heat_convergence.cli.diagnosis.broker_checks import check_broker
from heat_convergence.cli.diagnosis.configuration_checks import (
    check_environment,
    check_files,
    check_modules,
    check_policy,
)
from heat_convergence.cli.diagnosis.database_checks import check_database
from heat_convergence.cli.diagnosis.finding import Check, Finding, Severity
from heat_convergence.cli.diagnosis.host_checks import check_host
from heat_convergence.cli.diagnosis.identity_checks import check_identity
from heat_convergence.cli.manage import upgrade_status
from heat_convergence.cli.startup.token_options import register_token_options
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog

OK, PROBLEMS = 0, 1
NOUNS = ("doctor", "status")
CHECKS: tuple[Check, ...] = (
    check_files,
    check_modules,
    check_policy,
    check_environment,
    check_host,
    check_database,
    check_broker,
    check_identity,
)
_MARKS = {Severity.OK: "ok     ", Severity.WARNING: "warning", Severity.ERROR: "ERROR  "}


def run_doctor(conf: cfg.ConfigOpts, parsed: argparse.Namespace) -> int:
    """Print the findings of all checks, and return 1 if the service cannot work."""
    register_token_options(conf)
    if not conf.debug:
        logging.getLogger("keystoneauth").setLevel(logging.ERROR)  # its warnings are findings
    findings = run_checks(conf, CHECKS)
    if parsed.json:
        print(json.dumps([asdict(each) for each in findings], indent=2))
    else:
        for line in format_findings(findings):
            print(line)
    return PROBLEMS if any(each.level is Severity.ERROR for each in findings) else OK


def run_checks(conf: cfg.ConfigOpts, checks: Sequence[Check]) -> list[Finding]:
    """Return the findings of checks; one that raises is a finding, too."""
    boundary = ErrorBoundary(BoundaryName.DAEMON, ErrorLog())
    findings: list[Finding] = []
    for check in checks:
        findings += boundary.run(partial(_run_check, check, conf), partial(_failed_check, check))
    return findings


def run_status(conf: cfg.ConfigOpts, parsed: argparse.Namespace) -> int:
    """Print whether the installation is ready for an upgrade."""
    return upgrade_status.run(conf, as_json=parsed.json)


def format_findings(findings: list[Finding]) -> Iterator[str]:
    """Return the lines of the report."""
    width = max(len(each.subject) for each in findings)
    for each in findings:
        yield f"{_MARKS[each.level]}  {each.subject.ljust(width)}  {each.text}"
        if each.remedy:
            yield f"{' ' * (len(_MARKS[each.level]) + width + 4)}-> {each.remedy}"
    counts = {level: sum(each.level is level for each in findings) for level in Severity}
    yield f"{counts[Severity.ERROR]} errors, {counts[Severity.WARNING]} warnings."


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the parser of nouns."""
    doctor = nouns.add_parser(
        "doctor",
        help="check the configuration and everything that it names; exit code 1 if something is"
        " wrong",
    )
    doctor.set_defaults(run=run_doctor)
    status = nouns.add_parser(
        "status",
        help="check whether an upgrade may start; exit code 0 success, 1 warning, 2 failure",
    )
    status.set_defaults(run=run_status)
    for parser in (doctor, status):
        parser.add_argument("--json", action="store_true", help="print JSON")


def _run_check(check: Check, conf: cfg.ConfigOpts) -> list[Finding]:
    return list(check(conf))


def _failed_check(check: Check, error: Exception, error_id: str) -> list[Finding]:
    subject = check.__name__.removeprefix("check_")
    text = f"the check ended with {type(error).__name__}; the log names error_id={error_id}"
    return [Finding(subject, Severity.ERROR, text, "report a bug with the lines of the log")]
