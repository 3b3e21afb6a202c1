"""``heat-convergence simulate``: the service's own code in a simulated environment.

Parses arguments, prints the result of each seed and how to replay a failure. Decides nothing
about histories: ``testing`` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import (
    DRIFT,
    FAMILIES,
    CampaignOptions,
    CampaignSummary,
    SeedResult,
    replay_command,
    run_seeds,
)
from heat_convergence.testing.simulation.scenarios.fault_enumeration import (
    SHAPES,
    every_nth,
    list_points,
    run_faults,
)

EXIT_OK, EXIT_INVARIANT_VIOLATED, EXIT_USAGE = 0, 1, 2
_SAMPLED_FAULTS = 100
_PROGRESS_INTERVAL = 500  # seeds between two lines of progress


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        Exit code: 0 no invariant violated, 1 an invariant violated, 2 wrong arguments or
            scenario.
    """
    parsed = _parser().parse_args(arguments)
    if parsed.replay is not None:
        return _replay(parsed.replay)
    if parsed.faults is not None:
        return _enumerate_faults(parsed)
    options = CampaignOptions(parsed.steps, parsed.store, scenario_family=parsed.templates)
    summary = CampaignSummary()
    for result in run_seeds(parsed.seed, options, processes=parsed.processes):
        summary.add(result)
        if result.violation is not None:
            _report(result, options, parsed.keep)
        if summary.seed_count % _PROGRESS_INTERVAL == 0:
            _print(
                f"{summary.seed_count} seeds, {len(summary.failures)} violated an invariant",
                sys.stderr,
            )
    _print_summary(summary, options)
    return EXIT_INVARIANT_VIOLATED if summary.failures else EXIT_OK


def _enumerate_faults(parsed: argparse.Namespace) -> int:
    """Raise an unexpected exception at every call of the reference runs, or at some."""
    points = [point for shape in SHAPES for point in list_points(shape, parsed.store)]
    chosen = points if parsed.faults == "all" else every_nth(points, _SAMPLED_FAULTS)
    failures = 0
    for result in run_faults(chosen, parsed.store, processes=parsed.processes):
        if result.violation is not None:
            failures += 1
            at = f"{result.fault.shape}: {result.fault.point}"
            _print(f"exception at {at} violates {result.violation}")
    _print(
        f"{len(chosen)} of {len(points)} points on the {parsed.store} store:"
        f" {failures} violated an invariant"
    )
    return EXIT_INVARIANT_VIOLATED if failures else EXIT_OK


def _replay(path: Path) -> int:
    try:
        shown = transcript.record_scenario(path.read_text())
    except (OSError, ValueError) as error:
        _print(f"{path}: {error}", sys.stderr)
        return EXIT_USAGE
    _print(shown.rstrip())
    return EXIT_INVARIANT_VIOLATED if transcript.shows_violation(shown) else EXIT_OK


def _report(result: SeedResult, options: CampaignOptions, keep: Path | None) -> None:
    _print(f"seed {result.seed} violates {result.violation}")
    _print(f"replay: {replay_command(result.seed, options)}")
    if keep is None and options.scenario_family == DRIFT:
        _print(result.scenario_text)
        return
    if keep is None:
        _print(
            "the shortest history found that violates the same invariant; save it to a file"
            " and run it with --replay:"
        )
        _print("".join(f"    {line}\n" for line in result.scenario_text.splitlines()))
        return
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"seed_{result.seed}_{options.scenario_family}_{options.store}.txt"
    path.write_text(result.scenario_text)
    is_shrunk = options.scenario_family != DRIFT
    found = "shortest history found that violates the same invariant" if is_shrunk else "history"
    _print(f"the {found} is in {path}")


def _print_summary(summary: CampaignSummary, options: CampaignOptions) -> None:
    _print(
        f"{summary.seed_count} seeds on the {options.store} store: {len(summary.failures)}"
        f" violated an invariant; {summary.event_count} events in"
        f" {summary.simulated_s / 3600:.1f} simulated hours"
    )
    for name, count in sorted(summary.occurrences.items()):
        _print(f"  {count:8} {name}")


def _print(text: str, stream: object = None) -> None:
    print(text, file=stream or sys.stdout, flush=True)  # type: ignore[arg-type]


def _seeds(text: str) -> range:
    first, dash, last = text.partition("-")
    try:
        start, end = int(first), int(last) if dash else int(first)
    except ValueError:
        raise argparse.ArgumentTypeError(f"neither a number nor a range: {text}") from None
    if not 0 < start <= end:
        raise argparse.ArgumentTypeError(f"no seeds from 1 upwards: {text}")
    return range(start, end + 1)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a number from 1 upwards: {text}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heat-convergence simulate",
        description="Run the engine and the observer in a simulated environment with faults and"
        " impatient users, and check the invariants of convergence after every step.",
    )
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--seed", type=_seeds, metavar="N[-M]", help="run one or many histories")
    mode.add_argument(
        "--faults",
        choices=("all", "sample"),
        help="raise an unexpected exception at each call of reference histories, one at a time",
    )
    mode.add_argument("--replay", type=Path, metavar="FILE", help="run a scenario")
    parser.add_argument(
        "--steps",
        type=_positive,
        default=400,
        help="number of steps of users and faults, four per simulated second (default: 400)",
    )
    parser.add_argument(
        "--templates",
        choices=FAMILIES,
        default="flat",
        help="contents of stacks: trees have nested stacks and breakpoints;"
        " below: users also send requests about nested stacks; quarantine: deletions fail and"
        " quarantine; levels: resources reach their readiness levels one after the other,"
        " and may lose their health;"
        " handover: users import, move and rename resources;"
        " drift: others change complete stacks, which are watched and repaired"
        " (--steps has no effect)",
    )
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory")
    parser.add_argument(
        "--processes",
        type=_positive,
        default=1,
        help="number of seeds to run at once (default: 1)",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="write failing scenarios to this directory"
    )
    return parser
