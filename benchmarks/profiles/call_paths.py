#!/usr/bin/env python3
"""The functions and files of the service that one request or job passes through.

    python -m benchmarks.profiles.call_paths

Counts them for POST /stacks with one resource, for the engine's job and for the observation
that follow, each in process and on SQLite.  A first stack fills the caches.  The numbers
show how much a reader has to follow; they do not depend on the machine.  Comprehensions and
lambdas have code of their own: "named" leaves them out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.functional.harness import LocalService

PACKAGE = str(Path(__file__).resolve().parents[2] / "heat_convergence")

TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"random": {"type": "OS::Heat::RandomString"}},
}


@dataclass(frozen=True, slots=True)
class CallPath:
    """The code that one action ran."""

    action: str
    functions: int
    named_functions: int
    files: int


def measure(action: str, run: Callable[[], object]) -> CallPath:
    """Run an action and count the service's functions and files that it enters."""
    entered: set[tuple[str, int, str]] = set()

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            entered.add((code.co_filename, code.co_firstlineno, code.co_name))

    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(None)
    named = [name for _file, _line, name in entered if not name.startswith("<")]
    files = {file for file, _line, _name in entered}
    return CallPath(action, len(entered), len(named), len(files))


def create_stack(service: LocalService, name: str, *, leave_pending: bool = False) -> None:
    """Create a stack and, unless its messages are left pending, wait until it is complete."""
    body = {"stack_name": name, "template": TEMPLATE}
    response = service.send("POST", "/stacks", body, leave_pending=leave_pending)
    if response.status_int != 201:
        raise SystemExit(response.text)


def measure_create(service: LocalService) -> list[CallPath]:
    """Measure the request and every message that it leads to."""
    create_stack(service, "warm-up")
    paths = [
        measure(
            "POST /stacks",
            lambda: create_stack(service, "measured", leave_pending=True),
        )
    ]
    while service.bus.pending:
        method = service.bus.pending[0][0]
        paths.append(measure(method, service.handle_next))
    return paths


def main() -> None:
    """Print a line for each action."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hc-call-paths-") as folder:
        service = LocalService(f"sqlite:///{folder}/hc.sqlite")
        try:
            paths = measure_create(service)
        finally:
            service.close()
    for path in paths:
        print(
            f"{path.action:<14} {path.functions:>4} functions"
            f" ({path.named_functions} named) in {path.files:>3} files"
        )


if __name__ == "__main__":
    main()
