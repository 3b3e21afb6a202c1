"""Fuzzing of the API and of expressions, as many cases as one wants.

    python -m tools.fuzz --seed 1 --requests 100000 --expressions 20000

Sends mutated and generated requests to the service in this process, with the daemons' work
after each, and evaluates generated YAQL expressions. Prints each response that must not be
(5xx but 503, invalid JSON), each case that takes more than two seconds of processor time,
and the command that replays it. The exit code is 1 if there are any, or if an expression was
evaluated while the database was locked.

With ``--remote-requests`` the service is a process of its own, and another one sends ordinary
requests of another tenant to it: their times are printed, with and without the fuzzed ones.

A line for every 10,000 requests has the memory of the service's process; the last ones name the
routes whose requests took most processor time.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from heat_convergence.cli.startup.process_memory import settle_memory
from heat_convergence.common.evaluation import evaluation_guard
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from tests.fuzz.campaign import REQUESTS_PER_BLOCK, Findings, fuzz_expressions, fuzz_requests
from tests.fuzz.fuzzed_service import FuzzedService
from tests.fuzz.other_tenant import OtherTenant, describe
from tests.fuzz.process_usage import resident_mib
from tests.fuzz.remote_service import RemoteFuzzedService

_REQUESTS_PER_LINE = 10_000
_SHOWN_ROUTES = 8
_EXPRESSION_SECONDS = 1.0
_UNDISTURBED_S = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaigns that the arguments name; return the exit code."""
    parsed = _parser().parse_args(argv)
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    evaluation_guard.reject_evaluation_under_locks()
    blocks = parsed.blocks or -(-parsed.requests // REQUESTS_PER_BLOCK)
    code = 0
    if blocks:
        with tempfile.TemporaryDirectory() as folder:
            fuzzed = FuzzedService(Path(folder))
            settle_memory()  # as daemons do
            findings = fuzz_requests(
                fuzzed,
                seed=parsed.seed,
                first_block=parsed.first_block,
                blocks=blocks,
                after_block=_Progress(),
            )
            fuzzed.close()
        code |= _report("requests", findings)
        if evaluation_guard.violations:
            print(f"evaluations under locks: {evaluation_guard.violations}")
            code = 1
    if parsed.remote_requests:
        code |= _fuzz_beside_another_tenant(parsed.seed, parsed.remote_requests)
    if parsed.expressions:
        sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
        findings = fuzz_expressions(
            sandbox,
            seed=parsed.seed,
            first=parsed.first_expression,
            count=parsed.expressions,
            max_seconds=_EXPRESSION_SECONDS,
        )
        sandbox.close()
        code |= _report("expressions", findings)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=0, help="number of requests")
    parser.add_argument("--blocks", type=int, default=0, help="number of blocks instead")
    parser.add_argument("--first-block", type=int, default=0)
    parser.add_argument(
        "--remote-requests",
        type=int,
        default=0,
        help="number of requests by HTTP, with those of another tenant beside them",
    )
    parser.add_argument("--expressions", type=int, default=0, help="number of expressions")
    parser.add_argument("--first-expression", type=int, default=0)
    return parser


def _fuzz_beside_another_tenant(seed: int, count: int) -> int:
    """Send requests to a service in a process of its own, beside those of another tenant."""
    with tempfile.TemporaryDirectory() as folder:
        fuzzed = RemoteFuzzedService(Path(folder))
        try:
            undisturbed = OtherTenant(fuzzed.port)
            time.sleep(_UNDISTURBED_S)
            print(f"another tenant alone: {describe(undisturbed.stop())}", flush=True)
            before_mib = resident_mib(fuzzed.process_id)
            tenant = OtherTenant(fuzzed.port)
            findings = fuzz_requests(
                fuzzed,
                seed=seed,
                blocks=-(-count // REQUESTS_PER_BLOCK),
                after_block=_Progress(fuzzed.process_id),
            )
            print(f"another tenant beside them: {describe(tenant.stop())}")
            after_mib = resident_mib(fuzzed.process_id)
            print(f"memory of the service: {before_mib:.0f} MiB before, {after_mib:.0f} MiB after")
        finally:
            fuzzed.close()
    return _report("remote requests", findings)


class _Progress:
    """Printer of new findings as they come, and of the memory of the service at intervals."""

    def __init__(self, process_id: int | str = "self") -> None:
        self._process_id = process_id
        self._shown = 0

    def __call__(self, block: int, findings: Findings) -> None:
        """Print what is new after a block."""
        found = [*findings.failures, *findings.slow]
        for text in found[self._shown :]:
            print(f"block {block}: {text}", flush=True)
        self._shown = len(found)
        if findings.count == REQUESTS_PER_BLOCK or findings.count % _REQUESTS_PER_LINE == 0:
            memory = f"{resident_mib(self._process_id):.1f} MiB"
            print(f"after {findings.count} requests: memory of the service {memory}", flush=True)


def _report(noun: str, findings: Findings) -> int:
    """Print the totals of a campaign; return its exit code."""
    if noun == "expressions":
        for text in (*findings.failures, *findings.slow):
            print(text)
    print(
        f"{noun}: {findings.count}, by result {dict(sorted(findings.statuses.items()))},"
        f" failures {len(findings.failures)}, slow {len(findings.slow)},"
        f" slowest {findings.slowest_s:.2f} s of processor time"
        f" ({findings.slowest_wall_s:.2f} s by the clock), memory {resident_mib():.0f} MiB"
    )
    for route, seconds in findings.slowest_routes(_SHOWN_ROUTES):
        print(f"  {seconds:.3f} s of processor time: {route}")
    return 1 if findings.failures or findings.slow else 0


if __name__ == "__main__":
    sys.exit(main())
