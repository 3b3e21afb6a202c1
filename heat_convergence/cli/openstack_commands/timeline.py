"""The command that shows what has happened in a traversal of a stack, and when.

Loaded by OpenStackClient through entry points.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands.orchestration import OrchestrationLister

Json = Any
Table = tuple[Sequence[str], Iterator[Sequence[Json]]]
_COLUMNS = ("Resource", "Resource Type", "Seconds", "Unblocked By", "Phases")
_SPANS_MODULE = "heat_convergence.cli.openstack_commands.timeline_spans"
_SHORTEST_SHOWN_S = 0.1


class ShowStackTimeline(OrchestrationLister):
    """Show the critical path of an action on a stack, or all of its resources."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("stack", metavar="<stack>", help="Stack (name or ID)")
        parser.add_argument(
            "--traversal",
            metavar="<version>",
            type=int,
            help="Version of the traversal; the newest one by default",
        )
        parser.add_argument(
            "--nested-depth",
            metavar="<depth>",
            type=int,
            help="Levels of nested stacks that are shown",
        )
        parser.add_argument(
            "--all", action="store_true", help="Show all resources, not the critical path alone"
        )
        parser.add_argument(
            "--trace", metavar="<file>", help="Write a trace that Perfetto opens to a file"
        )
        parser.add_argument(
            "--export-spans",
            action="store_true",
            help="Export spans of OpenTelemetry to where the variables OTEL_EXPORTER_OTLP_* say",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns and rows; write the trace and export the spans if asked to.

        Raises:
            CommandError: The file cannot be written, or OpenTelemetry is not installed.
        """
        path = f"{self.find_stack(parsed_args.stack)}/timeline"
        query = {"version": parsed_args.traversal, "nested_depth": parsed_args.nested_depth}
        shown = self.get_json(path, **query, limit=10_000)["timeline"]
        if parsed_args.trace:
            _write(parsed_args.trace, self.get_json(path, **query, format="chrome"))
        if parsed_args.export_spans:
            _export(shown)
        entries = shown["resources"] if parsed_args.all else shown["critical_path"]
        return _COLUMNS, (_row(each) for each in entries)


def _row(entry: Json) -> Sequence[Json]:
    own = [part for part in entry["segments"] if part["phase"] != "dependencies"]
    long = [part for part in own if part["seconds"] >= _SHORTEST_SHOWN_S]
    phases = ", ".join(map(_phase_text, long))
    seconds = f"{sum(part['seconds'] for part in own):.1f}"
    return entry["path"], entry["resource_type"], seconds, entry["unblocked_by"] or "", phases


def _phase_text(part: Json) -> str:
    reason = f" ({part['reason']})" if part["reason"] else ""
    return f"{part['phase']} {part['seconds']:.1f} s{reason}"


def _write(name: str, trace: Json) -> None:
    try:
        Path(name).write_text(json.dumps(trace), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error


def _export(shown: Json) -> None:
    try:
        spans = import_module(_SPANS_MODULE)
    except ImportError as error:
        raise CommandError(
            "--export-spans needs OpenTelemetry: pip install 'heat-convergence[otel]'"
        ) from error
    spans.export_timeline(shown)
