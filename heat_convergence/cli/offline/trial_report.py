"""The steps of a trial as text, JSON and JUnit."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree  # nosec B405  # writes XML only

from heat_convergence.cli.offline.trial import TrialStep, TriedResource

Json = Any


def format_text(steps: Sequence[TrialStep]) -> str:
    """Return the steps for people: status, changes, resources in their order, outputs."""
    return "\n\n".join("\n".join(_lines(step)) for step in steps)


def format_json(steps: Sequence[TrialStep]) -> str:
    """Return the steps as JSON."""
    return json.dumps({"steps": [dataclasses.asdict(step) for step in steps]})


def format_junit(steps: Sequence[TrialStep]) -> str:
    """Return a test case for each step."""
    failed = sum(step.failed for step in steps)
    suite = ElementTree.Element(
        "testsuite", name="heat-convergence try", tests=str(len(steps)), failures=str(failed)
    )
    for step in steps:
        seconds = f"{step.seconds:.3f}"
        case = ElementTree.SubElement(
            suite, "testcase", classname="try", name=step.action, time=seconds
        )
        if step.failed:
            ElementTree.SubElement(case, "failure", message=f"{step.status}: {step.reason}")
    return ElementTree.tostring(suite, encoding="unicode")


FORMATS: Mapping[str, Callable[[Sequence[TrialStep]], str]] = {
    "text": format_text,
    "json": format_json,
    "junit": format_junit,
}


def _lines(step: TrialStep) -> list[str]:
    lines = [f"{step.action}: {step.status} ({step.seconds:.0f} s, {step.requests} requests)"]
    if step.failed:
        lines.append(f"  {step.reason}")
    lines += [f"  {change}: {', '.join(names)}" for change, names in step.changes.items() if names]
    lines += [f"  drift: {each}" for each in step.drift]
    rows = [_row(each) for each in sorted(step.resources, key=_order) if each.tries]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for row, resource in zip(rows, sorted(step.resources, key=_order), strict=False):
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        lines.append(f"  {'  '.join(cells)}  {', '.join(resource.waits_for)}".rstrip())
    lines += [f"  {name} = {json.dumps(value)}" for name, value in sorted(step.outputs.items())]
    return lines


def _order(resource: TriedResource) -> tuple[bool, float, str]:
    return not resource.tries, resource.started_s or 0.0, resource.name


def _row(resource: TriedResource) -> tuple[str, str, str, str]:
    started = 0.0 if resource.started_s is None else resource.started_s
    tries = f", {resource.tries} tries" if resource.tries > 1 else ""
    time = f"{started:6.0f} s +{resource.seconds:.0f} s{tries}"
    return resource.name, resource.type, resource.status, time
