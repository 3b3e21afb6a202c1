"""Checks of the configuration files, the installed modules, the types and the policy.

Connect to nothing; run by ``doctor``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import yaml
from oslo_config import cfg

from heat_convergence.api.policies.rules import list_rules
from heat_convergence.cli.components import settings
from heat_convergence.cli.components.operator_environment import find_invalid_files
from heat_convergence.cli.daemons.threaded_server import is_loopback
from heat_convergence.cli.diagnosis.finding import Finding, Severity, one_line
from heat_convergence.cli.startup.checks import find_problems, find_warnings
from heat_convergence.cli.startup.required_modules import (
    API_MODULES,
    DAEMON_MODULES,
    describe_missing,
    find_missing,
)
from heat_convergence.resources.registry import IncompleteInstallation, ResourceTypeRegistry

LOG = logging.getLogger(__name__)


def check_files(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the options of the configuration files."""
    names = [*conf.config_file, *(conf.config_dir or ())]
    if not names:
        yield Finding(
            "configuration",
            Severity.WARNING,
            "no configuration file was found",
            "write /etc/heat-convergence/heat-convergence.conf, or name a file with --config-file",
        )
    for warning in find_warnings(conf):
        yield Finding("configuration", Severity.WARNING, warning, "correct or remove the line")
    problems = [*find_problems(conf), *_api_problems(conf)]
    for problem in problems:
        text, _, remedy = problem.partition(": ")
        yield Finding("configuration", Severity.ERROR, text, remedy)
    if names and not problems:
        yield Finding("configuration", Severity.OK, ", ".join(names))


def _api_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    options = conf.heat_api
    if options.auth_strategy == "noauth" and not is_loopback(options.bind_host):
        yield (
            f"[heat_api] auth_strategy = noauth lets everybody in who reaches {options.bind_host}:"
            " set auth_strategy = keystone, or bind_host = 127.0.0.1"
        )


def check_modules(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check that the modules that the options need are installed, and that all types load."""
    missing = find_missing(conf, (*DAEMON_MODULES, *API_MODULES))
    if missing:
        text, _, remedy = describe_missing(missing).partition(": ")
        yield Finding("modules", Severity.ERROR, text, remedy)
    try:
        registry = ResourceTypeRegistry.load(
            settings.property_defaults(conf), settings.resource_type_traits(conf)
        )
    except IncompleteInstallation as error:
        yield Finding(
            "resource types", Severity.ERROR, one_line(error), "install the package again"
        )
        return
    count = len(registry.list_view(with_description=False))
    yield Finding("resource types", Severity.OK, f"{count} types are loaded")


def check_environment(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the operator's environment files."""
    limits = settings.template_limits(conf)
    for path, error in find_invalid_files(conf.environment_dir, limits=limits):
        yield Finding(
            "environment",
            Severity.WARNING,
            f"{path} is ignored: {one_line(error)}",
            "correct the file, and reload the daemons with SIGHUP",
        )


def check_policy(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the rules of the policy file, if there is one."""
    name = conf.find_file(_policy_file_name(conf))
    if name is None:
        yield Finding("policy", Severity.OK, "the default rules apply")
        return
    try:
        found = yaml.safe_load(Path(name).read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, yaml.YAMLError) as error:
        yield Finding("policy", Severity.ERROR, f"{name}: {one_line(error)}", "correct the file")
        return
    known = {rule.name for rule in list_rules()}
    unknown = sorted(rule for rule in found if ":" in rule and rule not in known)
    if unknown:
        yield Finding(
            "policy",
            Severity.WARNING,
            f"{name}: unknown rules {', '.join(unknown[:5])} have no effect",
            "compare with oslopolicy-list-redundant --namespace heat_convergence",
        )
    yield Finding("policy", Severity.OK, f"{name} is read")


def _policy_file_name(conf: cfg.ConfigOpts) -> str:
    try:
        return str(conf.oslo_policy.policy_file)
    except cfg.NoSuchOptError:
        return "policy.yaml"
