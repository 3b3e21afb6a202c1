"""One story on one service: send each step, wait until it has ended, read every view."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from tests.cloud.differential.cloud_contents import change_cloud, read_contents
from tests.cloud.differential.normalisation import Normaliser
from tests.cloud.differential.service_side import Answer, ServiceSide
from tests.cloud.differential.story import BODIES, Story, StoryStep
from tests.cloud.differential.views import StackViews

Json = Any
STEP_LIMIT_S = 150.0
_START_LIMIT_S = 8.0
# A loaded Heat stores the events of an action some time after its statuses.
_ACTION_START_LIMIT_S = 90.0
_LAST_EVENT_LIMIT_S = 20.0
_DELETE_LIMIT_S = 30.0
_QUIET_POLLS = 5
_READS = frozenset({"preview", "preview update", "preview patch", "validate", "list", "export"})
_ACTIONS = frozenset({"suspend", "resume", "check", "cancel_update", "cancel_without_rollback"})
_PLACEHOLDER = re.compile(r"\{(stack|name|id|project|saved|id:[^{}]+|snapshot:[^{}]+)\}")


class Playback:
    """A story on one side; ``play`` is called for each step in turn."""

    def __init__(self, story: Story, side: ServiceSide) -> None:
        self._story = story
        self._side = side
        self._name = story.stack_name
        self._path = ""
        self._document: Json = None
        self._views = StackViews(side, self._name)
        self._normaliser = Normaliser({
            side.url: "<api>", side.root: "<root>", side.project_id: "<project>",
            str(side.session.get_user_id()): "<user>",
            side.catalog_root(): "<root>", f"{side.catalog_root()}/{side.project_id}": "<api>",
            side.region: "<region>",
        }, self._name, str(story))  # fmt: skip

    def play(self, step: StoryStep) -> Json:
        """Run a step and return its normalised record."""
        before = self._newest_event()
        answer = self._send(step)
        self._note(step, answer)
        record: dict[str, Json] = {"answer": answer.as_json()}
        if answer.code < 300 and step.verb not in _READS and not _is_read(step):
            record["ended"] = self._settle(step, before)
        if step.verb not in _READS and not _is_read(step):
            record["views"] = self._views.read(self._path)
            self._normaliser.learn_views(record["views"])
            if self._story.cloud:
                record["cloud"] = read_contents(self._side, self._story.cloud)
        return self._normaliser.apply(record)

    def clean(self) -> None:
        """Delete the story's stack, and one of its name that an earlier run left."""
        self._path = ""
        path = self._side.find_stack(self._name)
        if not path:
            return
        self._side.send("DELETE", path)
        self._side.wait(
            lambda: self._side.stack_status(path) in ("DELETE_COMPLETE", "DELETE_FAILED"),
            STEP_LIMIT_S,
        )
        self._side.wait(lambda: not self._side.find_stack(self._name), _DELETE_LIMIT_S)

    def _send(self, step: StoryStep) -> Answer:
        argument = self._fill(step.argument)
        if step.verb in BODIES:
            return self._send_body(step.verb, argument)
        if step.verb in _ACTIONS:
            return self._side.send("POST", f"{self._path}/actions", {step.verb: argument})
        sender: Callable[[Json], Answer] = getattr(self, f"_{step.verb.replace(' ', '_')}")
        return sender(argument)

    def _send_body(self, verb: str, body: Json) -> Answer:
        method, path = {
            "create": ("POST", "/stacks"), "preview": ("POST", "/stacks/preview"),
            "update": ("PUT", self._path), "patch": ("PATCH", self._path),
            "preview update": ("PUT", f"{self._path}/preview"),
            "preview patch": ("PATCH", f"{self._path}/preview"), "validate": ("POST", "/validate"),
        }[verb]  # fmt: skip
        query = body.pop("query", "")
        if verb in ("create", "preview"):
            body.setdefault("stack_name", self._name)
        return self._side.send(method, path + query, body)

    def _delete(self, _argument: Json) -> Answer:
        return self._side.send("DELETE", self._path)

    def _signal(self, argument: Json) -> Answer:
        target = self._resource_path(argument)
        return self._side.send("POST", f"{target}/signal", argument.get("data"))

    def _mark_unhealthy(self, argument: Json) -> Answer:
        body = {"mark_unhealthy": not argument.get("clear", False)}
        if "reason" in argument:
            body["resource_status_reason"] = argument["reason"]
        return self._side.send("PATCH", self._resource_path(argument), body)

    def _resource_path(self, argument: Json) -> str:
        path = self._path
        for name in argument.get("in", ()):
            found = self._side.get(f"{path}/resources/{quote(name, safe='')}")
            physical = found.body["resource"]["physical_resource_id"]
            path = self._side.find_stack(physical)
        return f"{path}/resources/{quote(argument['resource'], safe='')}"

    def _snapshot(self, name: Json) -> Answer:
        return self._side.send("POST", f"{self._path}/snapshots", {"name": name} if name else {})

    def _restore(self, name: Json) -> Answer:
        found = self._snapshot_id(name)
        return self._side.send("POST", f"{self._path}/snapshots/{found}/restore")

    def _delete_snapshot(self, name: Json) -> Answer:
        return self._side.send("DELETE", f"{self._path}/snapshots/{self._snapshot_id(name)}")

    def _snapshot_id(self, name: str) -> str:
        listed = self._side.get(f"{self._path}/snapshots").body["snapshots"]
        return next((each["id"] for each in listed if each["name"] == name), name)

    def _abandon(self, _argument: Json) -> Answer:
        return self._side.send("DELETE", f"{self._path}/abandon")

    def _export(self, _argument: Json) -> Answer:
        return self._side.get(f"{self._path}/export")

    def _adopt(self, argument: Json) -> Answer:
        body = {"stack_name": self._name, "adopt_stack_data": json.dumps(self._document),
                **(argument or {})}  # fmt: skip
        return self._side.send("POST", "/stacks", body)

    def _request(self, argument: Json) -> Answer:
        return self._side.send(
            argument["method"], argument["path"], argument.get("body"), argument.get("text"),
            argument.get("headers"),
        )  # fmt: skip

    def _list(self, query: Json) -> Answer:
        return self._side.get(f"/stacks{query}")

    def _foreign(self, argument: Json) -> Answer:
        return change_cloud(self._side, argument)

    def _note(self, step: StoryStep, answer: Answer) -> None:
        """Remember the stack that a step has created, or its exported document."""
        if answer.code == 201 and step.verb in ("create", "adopt"):
            self._path = f"/stacks/{self._name}/{answer.body['stack']['id']}"
            self._normaliser.learn(self._name, answer.body["stack"]["id"])
        if answer.code == 200 and step.verb in ("abandon", "export"):
            self._document = answer.body

    def _fill(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {key: self._fill(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._fill(each) for each in value]
        return _PLACEHOLDER.sub(self._word, value) if isinstance(value, str) else value

    def _word(self, match: re.Match[str]) -> str:
        word, _, name = match[1].partition(":")
        if word == "id" and name:
            found = self._side.get(f"{self._path}/resources/{quote(name, safe='')}")
            return str(found.body["resource"]["physical_resource_id"])
        if word == "snapshot":
            return self._snapshot_id(name)
        words = {"stack": self._path, "name": self._name, "id": self._path.split("/")[-1],
                 "project": self._side.project_id,
                 "saved": json.dumps(self._document)}  # fmt: skip
        return words[word]

    def _newest_event(self) -> str:
        if not self._path:
            return ""
        answer = self._side.get(f"{self._path}/events?sort_dir=desc&limit=1")
        events = answer.body["events"] if answer.code == 200 else []
        return str(events[0]["id"]) if events else ""

    def _settle(self, step: StoryStep, before: str) -> bool:
        """Wait until the step's action has ended, or what ``until`` names has happened."""
        if not self._path:
            return True
        side, path = self._side, self._path
        if step.until:
            reached = side.wait(lambda: all(map(self._reached, step.until)), STEP_LIMIT_S)
            if step.verb == "signal":
                self._wait_until_quiet()
            return reached
        acts = step.verb in BODIES or step.verb in _ACTIONS
        limit_s = _ACTION_START_LIMIT_S if acts else _START_LIMIT_S
        side.wait(lambda: self._newest_event() != before, limit_s)
        ended = side.wait(lambda: side.is_settled(path), STEP_LIMIT_S)
        if acts:
            side.wait(self._last_event_is_stored, _LAST_EVENT_LIMIT_S)
        if not acts or side.stack_status(path).endswith("FAILED"):
            # Heat fails a stack while some of its resources are still at work.
            self._wait_until_quiet()
        time.sleep(0.3)  # events of resources may come after that of the stack
        if step.verb == "delete":
            listed = f"/stacks?name={self._name}"
            side.wait(lambda: not side.get(listed).body.get("stacks"), _DELETE_LIMIT_S)
        return ended

    def _wait_until_quiet(self) -> None:
        """Wait until no event has been added for some polls, as by a group that scales."""
        counts = [0]

        def is_quiet() -> bool:
            listed = self._side.get(f"{self._path}/events?nested_depth=5").body or {}
            counts.append(len(listed.get("events", [])))
            return len(counts) > _QUIET_POLLS and len(set(counts[-_QUIET_POLLS:])) == 1

        self._side.wait(is_quiet, STEP_LIMIT_S)

    def _last_event_is_stored(self) -> bool:
        """Return whether the newest event of the stack itself has its status."""
        query = f"events?sort_dir=desc&limit=1&resource_name={self._name}"
        events = (self._side.get(f"{self._path}/{query}").body or {}).get("events", [])
        status = self._side.stack_status(self._path)
        return bool(events) and events[0]["resource_status"] == status

    def _reached(self, until: Mapping[str, str]) -> bool:
        target = f"{self._path}/resources/{until['resource']}"
        if "event" in until:
            listed = self._side.get(f"{self._path}/events?nested_depth=5&sort_dir=asc").body
            return any(until["event"] in each["resource_status_reason"]
                       and each["resource_name"] == until["resource"]
                       for each in listed.get("events", []))  # fmt: skip
        shown = self._side.get(target)
        return shown.code == 200 and shown.body["resource"]["resource_status"] == until["status"]


def _is_read(step: StoryStep) -> bool:
    return step.verb == "request" and step.argument["method"] == "GET"
