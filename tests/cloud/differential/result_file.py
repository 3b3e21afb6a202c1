"""A file with a line of JSON for each story that has run, so that a run can be continued."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cloud.differential.comparison import Difference
from tests.cloud.differential.report import StoryResult
from tests.cloud.differential.story import Story


class ResultFile:
    """The results of a run, written as its stories end."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, result: StoryResult) -> None:
        """Add the result of a story."""
        found = [[each.place, each.heat, each.ours] for each in result.differences]
        line = {"name": result.story.name, "step_count": result.step_count,
                "differences": found, "error": result.error,
                "states": list(result.states)}  # fmt: skip
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def read(self, stories: Sequence[Story]) -> list[StoryResult]:
        """Return the results of these stories, except those that ended with an error."""
        if not self._path.exists():
            return []
        lines = [json.loads(text) for text in self._path.read_text().splitlines()]
        newest = {line["name"]: line for line in lines}
        return [_result(story, newest[story.name]) for story in stories
                if story.name in newest and not newest[story.name]["error"]]  # fmt: skip


def _result(story: Story, line: dict[str, Any]) -> StoryResult:
    found = [Difference(*each) for each in line["differences"]]
    return StoryResult(story, line["step_count"], found, states=line["states"])
