"""heat-cfntools, the tools in servers: they read metadata and signal through this API."""

from __future__ import annotations

import json
import logging
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from boto.cloudformation.connection import CloudFormationConnection
from boto.exception import BotoServerError
from heat_cfntools.cfntools import cfn_helper

from heat_convergence.clients import signed_urls
from heat_convergence.clients.stack_users import Ec2Keys
from heat_convergence.db.reads import stacks
from heat_convergence.db.reads.stacks import StackFilter
from tests.functional.cfn_api.conftest import DOMAIN, Connect, SignatureKeystone
from tests.functional.harness import LocalService

Json = Any
AGENT_KEYS = Ec2Keys("agent", "agent-secret")
INIT = {"config": {"files": {"/etc/motd": {"content": "<é>"}}}}
METADATA = {"AWS::CloudFormation::Init": INIT, "role": "web"}


@pytest.fixture
def stack_id(service: LocalService, keystone: SignatureKeystone, connect: Connect) -> str:
    """The id of a stack with an agent, whose keys sign."""
    resources = {"one": {"type": "Test::Agent", "metadata": METADATA}}
    outputs = {"signal": {"value": {"get_attr": ["one", "signal"]}}}
    body = {"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs}
    connect().create_stack(StackName="s", TemplateBody=json.dumps(body))
    with service.database.read() as conn:
        (found,) = stacks.list_page(conn, StackFilter("p"))
    keystone.keys[AGENT_KEYS.access] = AGENT_KEYS.secret
    keystone.tokens[AGENT_KEYS.access] = f"{DOMAIN}/users/{found.id}/heat_stack_user"
    return str(found.id)


@pytest.fixture
def tool_settings(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure the tools as the user data of a server do."""
    address = urlsplit(url)
    # boto has read them from its file, which user data write, when it was imported.
    monkeypatch.setattr(CloudFormationConnection, "DefaultRegionName", "heat")
    monkeypatch.setattr(CloudFormationConnection, "DefaultRegionEndpoint", address.hostname)
    monkeypatch.setattr(cfn_helper, "metadata_server_port", lambda: address.port)


def read_metadata(**changes: str) -> Json:
    """Return what ``cfn-get-metadata`` and ``cfn-init`` read."""
    keys = {"access_key": AGENT_KEYS.access, "secret_key": AGENT_KEYS.secret}
    values = {"stack": "s", "resource": "one", **keys, **changes}
    return cfn_helper.Metadata(**values).remote_metadata()


@pytest.mark.usefixtures("tool_settings", "stack_id")
def test_metadata_of_the_own_resource_are_read() -> None:
    assert read_metadata() == METADATA


@pytest.mark.usefixtures("tool_settings", "stack_id")
@pytest.mark.parametrize(
    "changes", [{"secret_key": "wrong"}, {"resource": "two"}, {"stack": "other"}]
)
def test_metadata_of_others_are_refused(changes: dict[str, str]) -> None:
    with pytest.raises(BotoServerError):
        read_metadata(**changes)


@pytest.mark.parametrize(("code", "status"), [("0", "SUCCESS"), ("1", "FAILURE")])
def test_cfn_signal_signals_the_resource(
    url: str, connect: Connect, stack_id: str, monkeypatch: pytest.MonkeyPatch,
    code: str, status: str,
) -> None:  # fmt: skip
    arn = f"arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/s/{stack_id}/resources/one"
    signed = signed_urls.sign_url(f"{url}waitcondition/{arn}", AGENT_KEYS, http_method="PUT")
    run_tool(monkeypatch, "cfn-signal", "-e", code, "-i", "id", "-r", "done", "-d", "x", signed)
    (stack,) = connect().describe_stacks(StackName="s")["Stacks"]
    (output,) = stack["Outputs"]
    expected = {"Status": status, "Reason": "done", "UniqueId": "id", "Data": "x"}
    assert json.loads(output["OutputValue"]) == expected


def run_tool(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str) -> None:
    """Run a tool in this process, without its log file below ``/var``."""
    program = shutil.which(name, path=str(Path(sys.executable).parent))
    assert program is not None
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    monkeypatch.setattr(logging, "basicConfig", lambda **_options: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(program, run_name="__main__")
    assert ended.value.code == 0
