"""Processor time and statements of the watch of thousands of resources that nobody changes.

Starts the service in one process with the emulated cloud, creates stacks of 20 resources of 12
types in several projects, and waits until the watch has become slow. Prints one JSON line. The
process holds the API, an engine, an observer and the emulation: the observer has less than it
shows. Run it as ``python -m benchmarks.watch.idle_watch`` in the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import requests

from benchmarks.instrumented_daemon import COUNTS_FOLDER_VARIABLE, read_counts
from benchmarks.process_usage import cpu_seconds_by_component
from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until

Json = Any
INSTRUMENTED_DAEMON = Path(__file__).parents[1] / "instrumented_daemon.py"
TIMEOUT_S = 1800.0
_PLAIN = {
    "router": "OS::Neutron::Router",
    "group": "OS::Neutron::SecurityGroup",
    "scope": "OS::Neutron::AddressScope",
    "qos": "OS::Neutron::QoSPolicy",
    "servers": "OS::Nova::ServerGroup",
}


def twelve_types() -> Json:
    """Return a template of 20 resources of 12 types that are read."""
    net = {"get_resource": "net0"}
    properties: dict[str, tuple[str, Json]] = {
        **{name: (each, {}) for name, each in _PLAIN.items()},
        **{f"net{number}": ("OS::Neutron::Net", {}) for number in range(9)},
        "subnet": ("OS::Neutron::Subnet", {"network": net, "cidr": "10.90.0.0/24"}),
        "pool": ("OS::Neutron::SubnetPool", {"prefixes": ["10.0.0.0/8"]}),
        "port": ("OS::Neutron::Port", {"network": net}),
        "address": ("OS::Neutron::FloatingIP", {"floating_network": "public"}),
        "volume": ("OS::Cinder::Volume", {"size": 1}),
        "server": (
            "OS::Nova::Server",
            {
                "image": "cirros",
                "flavor": "m1.nano",
                "networks": [{"port": {"get_resource": "port"}}],
            },
        ),
    }
    resources = {
        name: {"type": type_name, "properties": values}
        for name, (type_name, values) in properties.items()
    }
    return {"heat_template_version": "2021-04-16", "resources": resources}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=5)
    parser.add_argument("--stacks", type=int, default=20, help="stacks of each project")
    parser.add_argument("--settle", type=float, default=180.0, help="seconds before")
    parser.add_argument("--minutes", type=float, default=5.0, help="minutes that are measured")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts"
        counts.mkdir()
        os.environ[COUNTS_FOLDER_VARIABLE] = str(counts)
        with ServiceDeployment(
            Path(folder),
            database_url=f"sqlite:///{folder}/stacks.sqlite",
            transport_url="fake://",
            launcher=[sys.executable, str(INSTRUMENTED_DAEMON)],
        ) as deployment:
            deployment.start_standalone("--cloud", "emulated")
            found = _measure(deployment, counts, arguments)
    print(json.dumps(found), flush=True)


def _measure(
    deployment: ServiceDeployment, counts: Path, arguments: argparse.Namespace
) -> dict[str, Json]:
    """Return what the idle process needs in a minute."""
    template = twelve_types()
    for project in range(arguments.projects):
        _create_stacks(f"{deployment.endpoint}/v1/p{project}", template, arguments.stacks)
    time.sleep(arguments.settle)
    pid = deployment.daemons[0].pid
    statements, _ = read_counts(counts)
    cpu_s = cpu_seconds_by_component({pid: "service"})["service"]
    started_s = time.monotonic()
    time.sleep(arguments.minutes * 60)
    minutes = (time.monotonic() - started_s) / 60
    used_s = cpu_seconds_by_component({pid: "service"})["service"] - cpu_s
    return {
        "resources": arguments.projects * arguments.stacks * len(template["resources"]),
        "types": len({each["type"] for each in template["resources"].values()}),
        "processor_share": round(used_s / minutes / 60, 4),
        "statements_per_minute": round((read_counts(counts)[0] - statements) / minutes, 1),
    }


def _create_stacks(url: str, template: Json, count: int) -> None:
    """Create stacks of a project, one after the other."""
    for number in range(count):
        body = {"stack_name": f"s{number}", "template": template}
        response = requests.post(f"{url}/stacks", json=body, timeout=60)
        response.raise_for_status()
        path = f"{url}/stacks/s{number}/{response.json()['stack']['id']}"

        def is_complete(path: str = path) -> bool:
            stack = requests.get(path, timeout=60).json()["stack"]
            assert "FAILED" not in stack["stack_status"], stack["stack_status_reason"]
            return bool(stack["stack_status"] == "CREATE_COMPLETE")

        wait_until(is_complete, f"{path} is complete", timeout_s=TIMEOUT_S)


if __name__ == "__main__":
    main()
