"""Findings as text, JSON, SARIF and JUnit."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree  # nosec B405  # writes XML only

from heat_convergence.lint.finding import LintFinding
from heat_convergence.lint.rules import RULES, LintRule, LintSeverity

Json = Any
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {
    LintSeverity.ERROR: "error",
    LintSeverity.WARNING: "warning",
    LintSeverity.INFO: "note",
}
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def format_text(findings: Sequence[LintFinding], files: Sequence[str]) -> str:
    """Return a line for each finding, as compilers write them, and a summary."""
    lines = [
        f"{each.file}:{each.line}:{each.column}: {each.rule.id} {each.message}"
        for each in findings
    ]
    counts = Counter(each.rule.severity for each in findings)
    parts = [f"{counts[severity]} {severity}" for severity in LintSeverity]
    lines.append(f"{', '.join(parts)} findings in {len(files)} files")
    return "\n".join(lines)


def format_json(findings: Sequence[LintFinding], files: Sequence[str]) -> str:
    """Return the files and the findings as JSON."""
    return json.dumps({"files": list(files), "findings": [_as_json(each) for each in findings]})


def format_sarif(findings: Sequence[LintFinding], files: Sequence[str]) -> str:
    """Return the findings in the Static Analysis Results Interchange Format 2.1.0."""
    driver = {
        "name": "heat-convergence lint",
        "rules": [_sarif_rule(rule) for rule in RULES],
    }
    run = {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": name}} for name in files],
        "results": [_sarif_result(each) for each in findings],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def format_junit(findings: Sequence[LintFinding], files: Sequence[str]) -> str:
    """Return a test case for each file, which fails if the file has errors."""
    by_file: dict[str, list[LintFinding]] = {name: [] for name in files}
    for each in findings:
        by_file.setdefault(each.file, []).append(each)
    failed = [name for name, some in by_file.items() if _errors(some)]
    suite = ElementTree.Element(
        "testsuite",
        name="heat-convergence lint",
        tests=str(len(by_file)),
        failures=str(len(failed)),
    )
    for name, some in by_file.items():
        case = ElementTree.SubElement(suite, "testcase", classname="lint", name=_xml(name))
        errors = _errors(some)
        if errors:
            failure = ElementTree.SubElement(case, "failure", message=_xml(errors[0].message))
            failure.text = _xml("\n".join(map(_place, errors)))
        others = [each for each in some if each not in errors]
        if others:
            output = ElementTree.SubElement(case, "system-out")
            output.text = _xml("\n".join(map(_place, others)))
    return ElementTree.tostring(suite, encoding="unicode")


FORMATS: Mapping[str, Callable[[Sequence[LintFinding], Sequence[str]], str]] = {
    "text": format_text,
    "json": format_json,
    "sarif": format_sarif,
    "junit": format_junit,
}


def _errors(findings: Sequence[LintFinding]) -> list[LintFinding]:
    return [each for each in findings if each.rule.severity is LintSeverity.ERROR]


def _place(finding: LintFinding) -> str:
    return f"{finding.line}:{finding.column}: {finding.rule.id} {finding.message}"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _as_json(finding: LintFinding) -> dict[str, Json]:
    return {
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "rule": finding.rule.id,
        "severity": finding.rule.severity.value,
        "message": finding.message,
        "remedy": finding.rule.remedy,
    }


def _sarif_rule(rule: LintRule) -> dict[str, Json]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity]},
    }


def _sarif_result(finding: LintFinding) -> dict[str, Json]:
    region = {"startLine": finding.line, "startColumn": finding.column}
    location = {"artifactLocation": {"uri": finding.file}, "region": region}
    return {
        "ruleId": finding.rule.id,
        "level": _SARIF_LEVELS[finding.rule.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }
