"""``heat-convergence simulate``: the service's own code in a simulated world.

Parses arguments, prints what came of the seeds and how to see a failure again.
Decides nothing about histories: ``testing`` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import (
    SCENARIO_GENERATORS,
    CampaignOptions,
    CampaignSummary,
    SeedResult,
    replay_command,
    run_seeds,
)

EXIT_OK, EXIT_INVARIANT_VIOLATED, EXIT_USAGE = 0, 1, 2
_EVERY = 500  # seeds between two lines of progress


def main(arguments: Sequence[str]) -> int:
    """Exit codes: 0 no rule was broken, 1 one was, 2 wrong arguments or scenario."""
    parsed = _parser().parse_args(arguments)
    if parsed.replay is not None:
        return _replay(parsed.replay)
    kind = CampaignOptions(parsed.steps, parsed.store, scenario_family=parsed.templates)
    tally = CampaignSummary()
    for verdict in run_seeds(parsed.seed, kind, processes=parsed.processes):
        tally.add(verdict)
        if verdict.violation is not None:
            _report(verdict, kind, parsed.keep)
        if tally.seed_count % _EVERY == 0:
            _say(f"{tally.seed_count} seeds, {len(tally.failures)} broke a rule", sys.stderr)
    _sum_up(tally, kind)
    return EXIT_INVARIANT_VIOLATED if tally.failures else EXIT_OK


def _replay(path: Path) -> int:
    try:
        shown = transcript.record_scenario(path.read_text())
    except (OSError, ValueError) as error:
        _say(f"{path}: {error}", sys.stderr)
        return EXIT_USAGE
    _say(shown.rstrip())
    return EXIT_INVARIANT_VIOLATED if transcript.shows_violation(shown) else EXIT_OK


def _report(verdict: SeedResult, kind: CampaignOptions, keep: Path | None) -> None:
    _say(f"seed {verdict.seed} breaks {verdict.violation}")
    _say(f"again: {replay_command(verdict.seed, kind)}")
    if keep is None:
        _say(
            "the smallest history found that breaks the same rule, to be kept in a file"
            " and seen again with --replay:"
        )
        _say("".join(f"    {line}\n" for line in verdict.scenario_text.splitlines()))
        return
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"seed_{verdict.seed}_{kind.scenario_family}_{kind.store}.txt"
    path.write_text(verdict.scenario_text)
    _say(f"the smallest history found that breaks the same rule is in {path}")


def _sum_up(tally: CampaignSummary, kind: CampaignOptions) -> None:
    _say(
        f"{tally.seed_count} seeds on the {kind.store} store: {len(tally.failures)} broke a rule;"
        f" {tally.event_count} events in {tally.simulated_s / 3600:.1f} simulated hours"
    )
    for name, count in sorted(tally.occurrences.items()):
        _say(f"  {count:8} {name}")


def _say(text: str, stream: object = None) -> None:
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
        description="Run the engine and the observer in a simulated world full of faults and"
        " hurried users, and check the rules of convergence after every step.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=_seeds, metavar="N[-M]", help="one history, or many")
    what.add_argument("--replay", type=Path, metavar="FILE", help="run a scenario")
    parser.add_argument(
        "--steps",
        type=_positive,
        default=400,
        help="how long users and faults go on, four to a simulated second (default: 400)",
    )
    parser.add_argument(
        "--templates",
        choices=sorted(SCENARIO_GENERATORS),
        default="flat",
        help="what stacks are made of: trees have nested stacks and breakpoints;"
        " below: users make requests about the nested ones, too",
    )
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory")
    parser.add_argument(
        "--processes", type=_positive, default=1, help="how many seeds at once (default: 1)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="write failing scenarios there"
    )
    return parser
