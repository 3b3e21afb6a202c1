"""Run stories on both services side by side, and say in what they differ."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.cloud.differential.comparison import (
    AcceptedDifference,
    Difference,
    FoundDifferences,
    compare,
    unaccepted,
)
from tests.cloud.differential.playback import Playback
from tests.cloud.differential.service_side import ServiceSide
from tests.cloud.differential.stack_state import describe_state
from tests.cloud.differential.story import Story, StoryStep

Json = Any
_EXAMPLES = 2


@dataclass(frozen=True, slots=True)
class StoryResult:
    """The differences of one story, each with the number and verb of its step.

    Attributes:
        states: what both services show after each step.
    """

    story: Story
    step_count: int
    differences: Sequence[Difference]
    error: str = ""
    states: Sequence[str] = ()

    @property
    def found(self) -> FoundDifferences:
        """The differences as rules are matched with them."""
        return FoundDifferences(self.story.name, self.differences, self.states)


def run_story(story: Story, heat: ServiceSide, ours: ServiceSide) -> StoryResult:
    """Run a story; the same step runs on both sides at the same time."""
    sides = [Playback(story, heat), Playback(story, ours)]
    found: list[Difference] = []
    states: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(Playback.clean, sides))
        try:
            for number, step in enumerate(story.steps, 1):
                records = list(pool.map(_player(step), sides))
                states.append(describe_state(*records, states[-1] if states else ""))
                _require_answers(records)
                if not _diverged(records):
                    found += compare(*records, f"{number} {step.verb}")
                    continue
                found += compare(*(record["answer"] for record in records),
                                 f"{number} {step.verb}/answer")  # fmt: skip
                if step.verb == "create":
                    list(pool.map(Playback.clean, sides))
                elif step.verb != "request":
                    break
        finally:
            list(pool.map(Playback.clean, sides))
    return StoryResult(story, len(states), found, states=states)


def _require_answers(records: Sequence[Json]) -> None:
    """Check that no service was too slow to answer, which says nothing about the other one.

    Raises:
        TimeoutError: the API of Heat has given up its engine.
    """
    for record in records:
        body = record["answer"]["body"]
        error = body.get("error") if isinstance(body, dict) else None
        if isinstance(error, dict) and error.get("type") == "MessagingTimeout":
            raise TimeoutError("Heat's engine did not answer its API in time")


def _diverged(records: Sequence[Json]) -> bool:
    """Return whether one side did the step and the other refused it."""
    done = [record["answer"]["code"] < 300 for record in records]
    return done[0] is not done[1]


def _player(step: StoryStep) -> Callable[[Playback], Json]:
    return lambda side: side.play(step)


def run_stories(
    stories: Sequence[Story],
    pairs: Sequence[tuple[ServiceSide, ServiceSide]],
    on_result: Callable[[StoryResult], None] | None = None,
) -> list[StoryResult]:
    """Run stories, as many at a time as there are pairs of sides.

    Args:
        on_result: called with the result of each story as soon as it has run.
    """
    waiting = list(reversed(stories))
    results: list[StoryResult] = []
    lock = threading.Lock()

    def work(pair: tuple[ServiceSide, ServiceSide]) -> None:
        while True:
            with lock:
                if not waiting:
                    return
                story = waiting.pop()
            result = _guarded(story, pair)
            with lock:
                results.append(result)
                if on_result is not None:
                    on_result(result)
                print(f"{len(results)} of {len(stories)}: {story.name}", file=sys.stderr)

    with ThreadPoolExecutor(len(pairs)) as pool:
        list(pool.map(work, pairs))
    return sorted(results, key=lambda result: result.story.name)


def _guarded(story: Story, pair: tuple[ServiceSide, ServiceSide]) -> StoryResult:
    """Return the result of a story, also when the harness failed in it."""
    try:
        return run_story(story, *pair)
    except Exception as error:  # noqa: BLE001 - one story's error must not end the others
        return StoryResult(story, 0, [], f"{type(error).__name__}: {error}")


def describe(results: Sequence[StoryResult], rules: Sequence[AcceptedDifference]) -> str:
    """Return a report: the differences that no rule accepts, grouped by their places."""
    groups: dict[str, list[tuple[str, Difference]]] = defaultdict(list)
    accepted = 0
    for result in results:
        rest = unaccepted(result.found, rules)
        accepted += len(result.differences) - len(rest)
        for each in rest:
            groups[each.place_pattern.partition(" ")[2]].append((result.story.name, each))
    lines = [
        f"{len(results)} stories, {sum(each.step_count for each in results)} steps, "
        f"{accepted} accepted differences, {sum(map(len, groups.values()))} others"
    ]
    lines += [f"ERROR in {each.story.name}: {each.error}" for each in results if each.error]
    for place_pattern, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        lines.append(f"{len(members)} x {place_pattern}")
        lines += [f"  [{story}] {each}" for story, each in members[:_EXAMPLES]]
    return "\n".join(lines)
