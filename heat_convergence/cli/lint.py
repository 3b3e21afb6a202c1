"""``heat-convergence lint``: check templates and environments without a server.

Parses arguments, reads files and prints findings. Decides nothing about templates: ``lint`` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from heat_convergence.cli.components.function_plugins import load_functions
from heat_convergence.common.clock import utc_now
from heat_convergence.lint.environments import EnvironmentFiles, accept_declared_types
from heat_convergence.lint.finding import LintFinding
from heat_convergence.lint.linter import Linter
from heat_convergence.lint.referenced_files import FileError, NotText, read_text
from heat_convergence.lint.reports import FORMATS
from heat_convergence.lint.rules import RULES, RULES_BY_ID, UNREADABLE, LintSeverity
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.limits import TemplateLimits

EXIT_OK, EXIT_FINDINGS, EXIT_USAGE = 0, 1, 2
STANDARD_INPUT = "-"
_SUFFIXES = frozenset({".yaml", ".yml", ".template", ".json"})


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        Exit code: 0 without errors (with ``--strict`` without warnings), 1 with findings, 2 for
            wrong arguments.
    """
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if parsed.list_rules or parsed.explain:
        return _explain(parser, parsed.explain)
    if not parsed.files:
        parser.error("name at least one file or folder, or - for standard input")
    unknown = sorted(set(parsed.disable) - RULES_BY_ID.keys())
    if unknown:
        parser.error(f"there is no rule {unknown[0]}; --list-rules shows them")
    try:
        environment = _environment(parsed)
    except (FileError, ValueError) as error:
        parser.error(str(error))
    with _services() as services:
        declared = accept_declared_types(_readable_texts(parsed.files), services.registry)
        services = replace(services, global_environment=declared)
        names, findings = _lint(Linter(services, environment, parsed.disable), parsed.files)
    print(FORMATS[parsed.format](findings, names))
    return _exit_code(findings, strict=parsed.strict)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heat-convergence lint",
        description="Find mistakes in templates and environments without a server, with line, "
        "column, rule and message, and give advice.",
        epilog="A comment '# lint: disable=W201' switches a rule off: at the end of a line for "
        "that line, on a line of its own for the file. Exit code: 0 without errors, 1 with "
        "errors, 2 for wrong arguments.",
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="file, folder, or - for standard input"
    )
    parser.add_argument(
        "-e",
        "--environment",
        action="append",
        default=[],
        metavar="FILE",
        help="environment of the templates; can be repeated, later files count first",
    )
    parser.add_argument(
        "-P",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter; can be repeated",
    )
    parser.add_argument("--format", choices=sorted(FORMATS), default="text", help="output format")
    parser.add_argument(
        "--disable", action="append", default=[], metavar="RULE", help="switch a rule off"
    )
    parser.add_argument("--strict", action="store_true", help="fail on warnings, too")
    parser.add_argument("--list-rules", action="store_true", help="print all rules and end")
    parser.add_argument("--explain", metavar="RULE", help="explain one rule and end")
    return parser


def _explain(parser: argparse.ArgumentParser, rule_id: str | None) -> int:
    if rule_id is None:
        for rule in RULES:
            print(f"{rule.id} {rule.severity:8}{rule.title}")
        return EXIT_OK
    found = RULES_BY_ID.get(rule_id)
    if found is None:
        parser.error(f"there is no rule {rule_id}; --list-rules shows them")
    print(f"{found.id} ({found.severity}): {found.title}\n\n{found.explanation}\n{found.remedy}")
    return EXIT_OK


def _environment(parsed: argparse.Namespace) -> EnvironmentFiles:
    texts = {}
    for name in parsed.environment:
        try:
            texts[Path(name).resolve()] = read_text(Path(name))
        except FileError as error:
            raise FileError(f"the environment {name} cannot be read: {error}") from error
    parameters = {}
    for each in parsed.parameter:
        name, separator, value = each.partition("=")
        if not separator or not name:
            raise ValueError(f'the parameter "{each}" must have the form NAME=VALUE')
        parameters[name] = value
    return EnvironmentFiles(texts, parameters)


@contextmanager
def _services() -> Iterator[StackServices]:
    """Yield what templates are evaluated with, end the processes of expressions afterwards."""
    sandbox = ExpressionSandbox(SandboxSettings())
    try:
        yield StackServices(
            registry=ResourceTypeRegistry.load(),
            clock=utc_now,
            limits=TemplateLimits(yaql_runner=sandbox),
            functions=load_functions(),
        )
    finally:
        sandbox.close()


def _lint(linter: Linter, arguments: Sequence[str]) -> tuple[list[str], list[LintFinding]]:
    names: list[str] = []
    findings: list[LintFinding] = []
    for name, is_requested in _names(arguments):
        names.append(name)
        if name == STANDARD_INPUT:
            text, folder = sys.stdin.read(), Path.cwd()
        else:
            try:
                text, folder = read_text(Path(name)), Path(name).parent
            except FileError as error:
                if is_requested or not isinstance(error, NotText):
                    message = f"The file cannot be read: {error}"
                    findings.append(LintFinding(name, 1, 1, UNREADABLE, message))
                continue
        findings += linter.lint(name, text, folder, is_requested=is_requested)
    return names, findings


def _readable_texts(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the texts of the files; standard input can be read once only."""
    for name, _is_requested in _names(arguments):
        if name != STANDARD_INPUT:
            with suppress(FileError):
                yield read_text(Path(name))


def _names(arguments: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each file once, and whether the user names it himself."""
    yielded = set()
    for argument in arguments:
        path = Path(argument)
        found = [(argument, True)]
        if argument != STANDARD_INPUT and path.is_dir():
            members = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES)
            found = [(str(each), False) for each in members if each.is_file()]
        for name, is_requested in found:
            if name not in yielded:
                yielded.add(name)
                yield name, is_requested


def _exit_code(findings: Sequence[LintFinding], *, strict: bool) -> int:
    failing = {LintSeverity.ERROR, LintSeverity.WARNING} if strict else {LintSeverity.ERROR}
    failed = any(each.rule.severity in failing for each in findings)
    return EXIT_FINDINGS if failed else EXIT_OK
