"""Stories: what a user does with one stack, step by step, written as YAML.

A file has ``templates``, ``files`` and ``stories``.  A step is a verb, or a map of a verb to its
argument with the option ``until`` (the resource and status that end the step early, or a list of
those that all must be there).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Json = Any
FOLDER = Path(__file__).parent / "data" / "stories"
BODIES = frozenset({"create", "update", "patch", "preview", "preview update",
                    "preview patch", "validate"})  # fmt: skip
VERBS = BODIES | {
    "delete", "suspend", "resume", "check", "cancel_update", "cancel_without_rollback", "signal",
    "mark unhealthy", "snapshot", "restore", "delete snapshot", "abandon", "export", "adopt",
    "request", "foreign", "list",
}  # fmt: skip
_OPTIONS = frozenset({"until"})


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One request of the user, and what it waits for.

    Attributes:
        until: resources with the status or event after which the step ends; none of them waits
            for the whole action.
    """

    verb: str
    argument: Json = None
    until: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """Steps with one stack; ``cloud`` names the collections of the cloud to compare."""

    name: str
    steps: Sequence[StoryStep]
    cloud: Sequence[str] = field(default_factory=tuple)
    admin: bool = False

    @property
    def stack_name(self) -> str:
        """The name of the stack, the same in both services."""
        return self.name.replace(" ", "-")


def load_stories(folder: Path = FOLDER) -> list[Story]:
    """Return the stories of all files in a folder.

    Raises:
        ValueError: a story is malformed, or two have the same name.
    """
    stories = [
        story
        for path in sorted(folder.glob("*.yaml"))
        for story in parse_stories(yaml.safe_load(path.read_text()))
    ]
    names = [story.name for story in stories]
    if len(names) != len(set(names)):
        raise ValueError(f"stories share names: {sorted(names)}")
    return stories


def parse_stories(document: Json) -> list[Story]:
    """Return the stories of one file."""
    templates = document.get("templates", {})
    files = document.get("files", {})
    found = []
    for each in document["stories"]:
        steps = [parse_step(step, templates, files) for step in each["steps"]]
        story = Story(each["name"], steps, tuple(each.get("cloud", ())), bool(each.get("admin")))
        found.append(story)
    return found


def parse_step(step: Json, templates: Mapping[str, Json], files: Mapping[str, Json]) -> StoryStep:
    """Return a step with its templates and files filled in."""
    if isinstance(step, str):
        step = {step: None}
    verbs = [key for key in step if key not in _OPTIONS]
    if len(verbs) != 1 or verbs[0] not in VERBS:
        raise ValueError(f"a step needs one verb: {step}")
    verb = verbs[0]
    argument = copy.deepcopy(step[verb])
    if verb in BODIES:
        argument = _with_sources(argument or {}, templates, files)
    until = step.get("until") or []
    return StoryStep(verb, argument, until if isinstance(until, list) else [until])


def _with_sources(
    body: dict[str, Json], templates: Mapping[str, Json], files: Mapping[str, Json]
) -> dict[str, Json]:
    """Replace the names of a template and of files by their contents."""
    if isinstance(body.get("template"), str) and body["template"] in templates:
        body["template"] = templates[body["template"]]
    if isinstance(body.get("files"), list):
        body["files"] = {name: files[name] for name in body["files"]}
    return body
