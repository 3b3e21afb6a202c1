#!/usr/bin/env python3
"""The benchmark of a TripleO overcloud, through python-heatclient.

    python tools/process-templates.py -p . -o RENDERED      # in tripleo-heat-templates
    python -m benchmarks.overcloud RENDERED --database mariadb --engines 2
    python -m benchmarks.overcloud RENDERED --controllers 3 --computes 100

No cloud is needed: types of other services are mapped to ``OS::Heat::None``.  Parameters that
have no default and that no template passes on, such as passwords, get a value of their type,
as a deployer gives them; what the templates derive from each other they derive here, too.
The stack is created, updated without a change, updated in one setting of one service, in a
setting that no template reads and by one node more, and deleted.  Each phase prints the
seconds, the processor seconds of the workers and their peak memory so far.
"""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from heatclient.client import Client
from heatclient.common import template_utils
from heatclient.exc import HTTPNotFound
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from benchmarks import process_usage
from benchmarks.instrumented_daemon import read_counts
from benchmarks.run import argument_parser, benchmark_deployment
from heat_convergence.testing.daemon_processes import ServiceDeployment

NAME, PROJECT = "overcloud", "benchmark"
REGISTRY = "overcloud-resource-registry-puppet.yaml"
NOOP_TYPE = "OS::Heat::None"
SETTING = "MysqlMaxConnections"  # of one service
_OWN = ("OS::Heat::", "OS::TripleO::")
_EMPTY = {"number": 0, "json": {}, "comma_delimited_list": [], "boolean": False}
_TEXTS = ("bench", "A" * 38 + "==", str(uuid.UUID(int=0)))
_DEPTH = 8
# The options that TripleO's own installer sets, and the time of expressions over a thousand nodes.
_OPTIONS = {
    "DEFAULT": {"max_nested_stack_depth": _DEPTH},
    "yaql": {"memory_quota": 10_000_000, "limit_iterators": 10_000, "time_limit": 5},
}
_POLL_S, _GIVE_UP_S = 0.1, 1800


class OvercloudRequest:
    """The body that the client sends for a tree of rendered templates."""

    def __init__(self, rendered: Path, controllers: int = 0, computes: int = 0) -> None:
        templates = [found for path in _yaml_files(rendered) if (found := _template(path))]
        files, environment = template_utils.process_multiple_environments_and_files(
            [str(rendered / REGISTRY)]
        )
        registry = environment["resource_registry"]
        types = {name for each in templates for name in _types(each)}
        types |= {name for name in registry.values() if isinstance(name, str)}
        registry.update({name: NOOP_TYPE for name in types if _is_foreign(name)})
        user_defaults = environment.get("parameter_defaults") or {}
        environment["parameter_defaults"] = {
            **_deployer_values(templates),
            **user_defaults,
            **_no_nodes(templates),
            "ControllerCount": controllers,
            "ComputeCount": computes,
        }
        found, template = template_utils.get_template_contents(str(rendered / "overcloud.yaml"))
        self.changes: dict[str, dict[str, Any]] = {
            "change one setting": {SETTING: 8192},
            "change a default that nothing reads": {SETTING: 8192, "UnknownSetting": 1},
            "one node more": {SETTING: 8192, "UnknownSetting": 1, "ComputeCount": computes + 1},
        }
        self.request = {
            "template": template,
            "files": {**files, **found},
            "environment": environment,
        }

    def with_defaults(self, **values: Any) -> dict[str, Any]:
        """Return the request with other parameter defaults."""
        environment = self.request["environment"]
        defaults = {**environment["parameter_defaults"], **values}
        return {
            **self.request,
            "environment": {**environment, "parameter_defaults": defaults},
        }


def _yaml_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.yaml")) if "plan-samples" not in path.parts)


def _template(path: Path) -> dict[str, Any] | None:
    try:
        found = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None  # Not a template: playbooks have tags of their own.
    return found if isinstance(found, dict) and "heat_template_version" in found else None


def _types(template: dict[str, Any]) -> Iterator[str]:
    for definition in (template.get("resources") or {}).values():
        if isinstance(definition, dict) and isinstance(definition.get("type"), str):
            yield definition["type"]


def _is_foreign(name: str) -> bool:
    return name.startswith("OS::") and not name.startswith(_OWN)


def _deployer_values(templates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return samples for the parameters without a default that no template passes on."""
    passed = {name for template in templates for name in _passed_names(template.get("resources"))}
    return {
        name: _sample(schema)
        for template in templates
        for name, schema in (template.get("parameters") or {}).items()
        if "default" not in schema and name not in passed
    }


def _passed_names(resources: Any) -> Iterator[str]:
    """Yield the keys of all maps in the properties of resources."""
    for definition in (resources or {}).values():
        yield from _keys(definition.get("properties"))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _no_nodes(templates: list[dict[str, Any]]) -> dict[str, int]:
    names = {name for template in templates for name in template.get("parameters") or {}}
    return {name: 0 for name in names if name.endswith("Count")}


def _sample(schema: dict[str, Any]) -> Any:
    for constraint in schema.get("constraints") or ():
        if constraint.get("allowed_values"):
            return constraint["allowed_values"][0]
        if constraint.get("allowed_pattern"):
            return next(filter(re.compile(constraint["allowed_pattern"]).fullmatch, _TEXTS))
    return _EMPTY.get(str(schema.get("type")), _TEXTS[0])


class OvercloudBenchmark:
    """Runs the phases and prints a line for each."""

    def __init__(self, deployment: ServiceDeployment, counts: Path) -> None:
        self._counts = counts
        self._groups = {daemon.pid: daemon.log.stem for daemon in deployment.daemons}
        endpoint = f"{deployment.endpoint}/v1/{PROJECT}"
        self._heat = Client("1", session=Session(auth=NoAuth(endpoint=endpoint)))

    def run(self, overcloud: OvercloudRequest) -> None:
        """Create, update and delete the overcloud."""
        stacks, request = self._heat.stacks, overcloud.request
        self._phase("create", lambda: stacks.create(stack_name=NAME, **request))
        self._size()
        self._timeline()
        self._phase("no-op", lambda: stacks.update(NAME, **request))
        for phase, values in overcloud.changes.items():
            changed = overcloud.with_defaults(**values)
            self._phase(phase, partial(stacks.update, NAME, **changed))
        self._phase("delete", lambda: stacks.delete(NAME))

    def _size(self) -> None:
        resources = self._heat.resources.list(NAME, nested_depth=_DEPTH)
        stacks = list(self._heat.stacks.list(show_nested=True))
        print(f"{len(resources)} resources in {len(stacks)} stacks", flush=True)

    def _timeline(self) -> None:
        """Print how much of the creation's duration its critical path explains."""
        identifier = self._heat.stacks.get(NAME, resolve_outputs=False).identifier
        path = f"/stacks/{identifier}/timeline?nested_depth={_DEPTH}"
        timeline = self._heat.stacks.client.get(path).json()["timeline"]
        trace = self._heat.stacks.client.get(f"{path}&format=chrome").json()
        print(
            f"critical path of {len(timeline['critical_path'])} resources: "
            f"{timeline['critical_path_s']:.2f} of {timeline['wall_time_s']:.2f} s; "
            f"{len(trace['traceEvents'])} events in the trace",
            flush=True,
        )

    def _phase(self, phase: str, request: Callable[[], object]) -> None:
        before, counts = (
            process_usage.cpu_seconds_by_component(self._groups),
            read_counts(self._counts),
        )
        started_at = time.monotonic()
        request()
        answered_s = time.monotonic() - started_at
        self._wait()
        total_s = time.monotonic() - started_at
        after, counts_after = (
            process_usage.cpu_seconds_by_component(self._groups),
            read_counts(self._counts),
        )
        used = {part: round(after[part] - before[part], 2) for part in sorted(after)}
        statements, messages = (new - old for new, old in zip(counts_after, counts, strict=True))
        peaks = process_usage.peak_memory_mb_by_component(self._groups)
        print(
            f"{phase}: {total_s:.1f} s ({answered_s:.1f} until answered), "
            f"{sum(used[part] for part in self._groups.values()):.1f} processor s of the service, "
            f"{statements} statements, {messages} messages, peak {max(peaks.values()):.0f} MB\n"
            f"  processor s {used}\n  peak MB {dict(sorted(peaks.items()))}",
            flush=True,
        )

    def _wait(self) -> None:
        give_up_at = time.monotonic() + _GIVE_UP_S
        while True:
            try:
                stack = self._heat.stacks.get(NAME, resolve_outputs=False)
            except HTTPNotFound:
                return
            if stack.stack_status.endswith("_COMPLETE"):
                return
            if stack.stack_status.endswith("_FAILED") or time.monotonic() > give_up_at:
                raise SystemExit(f"{stack.stack_status}: {stack.stack_status_reason}")
            time.sleep(_POLL_S)


def main() -> int:
    """Run the benchmark."""
    parser = argument_parser(__doc__)
    parser.add_argument("rendered", type=Path, help="folder of the rendered templates")
    parser.add_argument("--controllers", type=int, default=0)
    parser.add_argument("--computes", type=int, default=0)
    options = parser.parse_args()
    overcloud = OvercloudRequest(options.rendered, options.controllers, options.computes)
    print(f"{options.database}, {options.bus}, {options.backend}, {os.cpu_count()} processors")
    with benchmark_deployment(options, _OPTIONS) as (deployment, counts):
        OvercloudBenchmark(deployment, counts).run(overcloud)
    return 0


if __name__ == "__main__":
    sys.exit(main())
