"""``heat-convergence simulate``: the service's own code in a simulated world.

Parses arguments, prints what came of the seeds and how to see a failure again.
Decides nothing about histories: ``testing`` does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from heat_convergence.testing import transcript
from heat_convergence.testing.campaign import HISTORIES, Kind, Tally, Verdict, command, verdicts

FINE, BROKEN, WRONG = 0, 1, 2
_EVERY = 500  # seeds between two lines of progress


def main(arguments: Sequence[str]) -> int:
    """Exit codes: 0 no rule was broken, 1 one was, 2 wrong arguments or scenario."""
    parsed = _parser().parse_args(arguments)
    if parsed.replay is not None:
        return _replay(parsed.replay)
    kind = Kind(parsed.steps, parsed.store, templates=parsed.templates)
    tally = Tally()
    for verdict in verdicts(parsed.seed, kind, processes=parsed.processes):
        tally.add(verdict)
        if verdict.broken is not None:
            _report(verdict, kind, parsed.keep)
        if tally.seeds % _EVERY == 0:
            _say(f"{tally.seeds} seeds, {len(tally.broken)} broke a rule", sys.stderr)
    _sum_up(tally, kind)
    return BROKEN if tally.broken else FINE


def _replay(path: Path) -> int:
    try:
        shown = transcript.rewritten(path.read_text())
    except (OSError, ValueError) as error:
        _say(f"{path}: {error}", sys.stderr)
        return WRONG
    _say(shown.rstrip())
    return BROKEN if transcript.is_broken(shown) else FINE


def _report(verdict: Verdict, kind: Kind, keep: Path | None) -> None:
    _say(f"seed {verdict.seed} breaks {verdict.broken}")
    _say(f"again: {command(verdict.seed, kind)}")
    if keep is None:
        _say("the smallest history found that breaks the same rule, to be kept in a file"
             " and seen again with --replay:")
        _say("".join(f"    {line}\n" for line in verdict.scenario.splitlines()))
        return
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"seed_{verdict.seed}_{kind.templates}_{kind.store}.txt"
    path.write_text(verdict.scenario)
    _say(f"the smallest history found that breaks the same rule is in {path}")


def _sum_up(tally: Tally, kind: Kind) -> None:
    _say(
        f"{tally.seeds} seeds on the {kind.store} store: {len(tally.broken)} broke a rule;"
        f" {tally.events} events in {tally.virtual_s / 3600:.1f} simulated hours"
    )
    for name, count in sorted(tally.happened.items()):
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
        "--steps", type=_positive, default=400,
        help="how long users and faults go on, four to a simulated second (default: 400)",
    )
    parser.add_argument(
        "--templates", choices=sorted(HISTORIES), default="flat",
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
