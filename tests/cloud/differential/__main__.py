"""Run stories against two services that are running, and print the report.

python -m tests.cloud.differential CLOUD.json --heat URL --ours URL [--region R] [NAME …]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cloud.differential.comparison import load_accepted
from tests.cloud.differential.generation import generate_stories
from tests.cloud.differential.projects import side_pairs
from tests.cloud.differential.report import StoryResult, describe, run_stories
from tests.cloud.differential.result_file import ResultFile
from tests.cloud.differential.story import Story, load_stories
from tests.cloud.testbed import CloudTestbed


def main(arguments: list[str]) -> int:
    """Run the stories whose names contain one of the given words, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.cloud.differential")
    parser.add_argument("cloud")
    parser.add_argument("--heat", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--region", default="RegionOne")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--generated", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--written", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="print every difference")
    parser.add_argument("--results", type=Path, help="a file whose stories do not run again")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args(arguments)
    stories = load_stories() if options.written else []
    stories += generate_stories(options.seed, options.generated)
    chosen = [each for each in stories if any(word in each.name for word in options.names or [""])]
    results = _run(chosen, options)
    for result in results if options.all else ():
        for each in result.differences:
            print(f"[{result.story.name}] {each}")
    print(describe(results, load_accepted()))
    return 0


def _run(stories: Sequence[Story], options: argparse.Namespace) -> list[StoryResult]:
    """Return the results of the stories; those in the file of results do not run again."""
    file = ResultFile(options.results) if options.results else None
    known = file.read(stories) if file else []
    names = {each.story.name for each in known}
    left = [each for each in stories if each.name not in names]
    cloud = CloudTestbed.from_file(options.cloud)
    with side_pairs(cloud, options.heat, options.ours, options.region, options.pairs) as pairs:
        return known + run_stories(left, pairs, file.append if file else None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
