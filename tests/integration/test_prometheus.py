"""A real Prometheus scrapes the daemons and evaluates the alert rules that are shipped."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from heat_convergence.testing.daemon_processes import free_port, wait_until
from tests.integration.conftest import Deploy
from tests.integration.harness import HeatUser

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {"r": {"type": "OS::Heat::RandomString"}},
}


def configure(folder: Path, ports: dict[str, int]) -> Path:
    """Return the shipped configuration with the ports of the daemons and a short interval."""
    config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    for job in config["scrape_configs"]:
        port = ports[job["job_name"].removeprefix("heat-convergence-")]
        job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
    (folder / "alerts.yaml").write_text((MONITORING / "alerts.yaml").read_text())
    found = folder / "prometheus.yaml"
    found.write_text(yaml.safe_dump(config))
    return found


@pytest.mark.timeout(300)
def test_prometheus_scrapes_every_daemon(deploy: Deploy, mariadb_url: str, tmp_path: Path) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed")
    ports = {name: free_port() for name in ("api", "engine", "observer")}
    deployment = deploy(mariadb_url)
    deployment.reconfigure({"metrics": {f"{name}_port": port for name, port in ports.items()}})
    deployment.start()
    HeatUser(deployment.endpoint).create("scraped", TEMPLATE)
    address = f"127.0.0.1:{free_port()}"
    config = configure(tmp_path, ports)
    process = subprocess.Popen(
        [
            *(program, f"--config.file={config}", f"--web.listen-address={address}"),
            f"--storage.tsdb.path={tmp_path / 'data'}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def request(path: str) -> Any:
        try:
            with urllib.request.urlopen(f"http://{address}/api/v1/{path}", timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.URLError:
            return {}

    def query(expression: str) -> list[float]:
        found = request("query?" + urllib.parse.urlencode({"query": expression}))
        return [float(each["value"][1]) for each in found.get("result", ())]

    try:
        wait_until(lambda: query("sum(up)") == [3.0], "all daemons are scraped")
        wait_until(
            lambda: query('heat_convergence_stacks{status="COMPLETE"}') == [1.0],
            "the stack is counted",
        )
        assert query("sum(heat_convergence_api_request_seconds_count)")[0] > 0
        groups = request("rules")["groups"]
        wait_until(
            lambda: all(
                rule["health"] == "ok"
                for group in request("rules")["groups"]
                for rule in group["rules"]
            ),
            "every rule can be evaluated",
        )
        assert sum(len(group["rules"]) for group in groups) >= 10
    finally:
        process.terminate()
        process.wait()
