"""Conversations that run every ``openstack`` command of the orchestration plug-in.

Used against the service in process and against a real Keystone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from heat_convergence.testing.daemon_processes import wait_until
from tests import openstack_own_commands as own_commands
from tests.openstack_shell import TEMPLATE, OpenStackShell, TemplateDirectory


def stack_lifecycle(run: OpenStackShell, files: TemplateDirectory, name: str) -> None:
    """One stack from its preview to its deletion."""
    preview = run.json("stack", "create", "--dry-run", "-t", files.template, name)
    assert preview["stack_name"] == name
    made = run("stack", "create", "--wait", "--poll", "1", "-t", files.template,
               "-e", files.environment, "--parameter", "size=7", "--tags", "x,y",
               "--timeout", "10", "--enable-rollback", name, "-f", "json")  # fmt: skip
    assert '"stack_status": "CREATE_COMPLETE"' in made
    shown = run.json("stack", "show", name)
    assert shown["parameters"]["size"] == "7"
    assert shown["parameters"]["kind"] == "from-a-file"
    assert shown["tags"] == ["x", "y"]
    assert (shown["timeout_mins"], shown["disable_rollback"]) == (10, False)
    _lists(run, name)
    _reads(run, name)
    run("stack", "create", "-t", files.template, name, status=1)  # the name is taken
    _changes(run, files, name)
    run("stack", "delete", "--yes", "--wait", name)
    assert name not in {row["Stack Name"] for row in run.json("stack", "list")}
    run("stack", "show", name, status=1)
    run("stack", "delete", "--yes", name, status=1)


def _lists(run: OpenStackShell, name: str) -> None:
    for options in (("--short",), ("--tags", "x,z", "--tag-mode", "any"), ("--limit", "1000"),
                    ("--property", f"name={name}"), ("--sort", "stack_name:asc"),
                    ("--deleted",), ("--nested",), ("--hidden",),
                    ("--tags", "z", "--tag-mode", "not"), ("--tags", "x"),
                    ("--tags", "z,q", "--tag-mode", "not-any"),
                    ("--marker", "0" * 8)):  # fmt: skip
        listed = run.json("stack", "list", *options)
        assert name in {row["Stack Name"] for row in listed}, options
    assert run.json("stack", "list", "--tags", "z") == []


def _reads(run: OpenStackShell, name: str) -> None:
    rows = run.json("stack", "resource", "list", name, "--long")
    assert {row["resource_name"] for row in rows} == {"kept", "secret"}
    assert len(run.json("stack", "resource", "list", name, "--filter", "name=kept")) == 1
    assert "digraph" in run("stack", "resource", "list", name, "-f", "dot")
    shown = run.json("stack", "resource", "show", name, "kept", "--with-attr", "value")
    assert (shown["resource_status"], len(shown["attributes"]["value"])) == ("CREATE_COMPLETE", 7)
    assert run.json("stack", "resource", "metadata", name, "kept") == {"told": "from-a-file"}
    run("stack", "resource", "signal", name, "kept", status=1)  # it takes none
    outputs = run.json("stack", "output", "show", "--all", name)
    assert len(json.loads(outputs["shown"])["output_value"] if isinstance(outputs["shown"], str)
               else outputs["shown"]["output_value"]) == 7  # fmt: skip
    assert len(run.json("stack", "output", "show", name, "shown")["output_value"]) == 7
    run("stack", "output", "show", name, "none", status=1)
    assert [row["output_key"] for row in run.json("stack", "output", "list", name)] == ["shown"]
    assert "What the command line makes" in run("stack", "template", "show", name)
    environment = run.json("stack", "environment", "show", name)
    assert environment["parameters"]["kind"] == "from-a-file"
    assert "template.yaml" not in run("stack", "file", "list", name)
    list_events(run, name)
    assert run("stack", "failures", "list", name).strip() == ""


def list_events(run: OpenStackShell, name: str) -> None:
    log = run("stack", "event", "list", name)
    assert "Stack CREATE completed successfully" in log
    listed = run.json("stack", "event", "list", name)
    (last,) = run.json("stack", "event", "list", name, "--sort", "event_time:desc",
                       "--limit", "1")  # fmt: skip
    assert last["id"] == listed[-1]["id"]
    of_one = run.json("stack", "event", "list", name, "--resource", "kept")
    assert {each["resource_name"] for each in of_one} == {"kept"}
    shown = run.json("stack", "event", "show", name, "kept", of_one[0]["id"])
    assert shown["resource_type"] == "OS::Heat::Value"
    after = run.json("stack", "event", "list", name, "--marker", listed[0]["id"])
    assert len(after) == len(listed) - 1


def _changes(run: OpenStackShell, files: TemplateDirectory, name: str) -> None:
    dry = run.json("stack", "update", "--dry-run", "--existing", "--parameter", "size=8", name)
    assert dry["unchanged"] == []
    dry = run.json("stack", "update", "--dry-run", "--show-nested", "-t", files.template, name)
    assert set(dry) == {"added", "deleted", "replaced", "unchanged", "updated"}
    run("stack", "update", "--wait", "--existing", "--parameter", "size=8", name)
    shown = run.json("stack", "show", name)
    assert (shown["stack_status"], shown["parameters"]["size"]) == ("UPDATE_COMPLETE", "8")
    run("stack", "update", "--wait", "--existing", "--clear-parameter", "size",
        "--rollback", "disabled", "--tags", "z", name)  # fmt: skip
    shown = run.json("stack", "show", name)
    assert (shown["parameters"]["size"], shown["tags"]) == ("4", ["z"])
    assert shown["disable_rollback"] is True
    run("stack", "update", "--wait", "--converge", "-t", files.template, name)
    assert run.json("stack", "show", name)["parameters"]["kind"] == "plain"
    run("stack", "check", "--wait", name)
    run("stack", "suspend", "--wait", name)
    assert run.json("stack", "show", name)["stack_status"] == "SUSPEND_COMPLETE"
    run("stack", "resume", "--wait", name)
    run("stack", "resource", "mark", "unhealthy", name, "kept", "it smokes")
    shown = run.json("stack", "resource", "show", name, "kept")
    assert (shown["resource_status"], shown["resource_status_reason"]) == (
        "CHECK_FAILED", "it smokes")  # fmt: skip
    run("stack", "resource", "mark", "unhealthy", "--reset", name, "kept")


def snapshot_and_restore(
    run: OpenStackShell, files: TemplateDirectory, name: str, settled: Callable[[], None]
) -> None:
    """``make_idle_wait`` waits until nothing is under way."""
    run("stack", "create", "--wait", "-t", files.template, name)
    saved = run.json("stack", "snapshot", "create", "--name", "n", name)
    settled()
    shown = run.json("stack", "snapshot", "show", name, saved["ID"])
    shown = shown.get("snapshot", shown)
    assert (shown["name"], shown["status"]) == ("n", "COMPLETE")
    run("stack", "update", "--wait", "--existing", "--parameter", "size=8", name)
    run("stack", "snapshot", "restore", name, saved["ID"])
    settled()
    stack = run.json("stack", "show", name)
    assert (stack["stack_status"], stack["parameters"]["size"]) == ("RESTORE_COMPLETE", "4")
    (row,) = run.json("stack", "snapshot", "list", name)
    assert (row["name"], row["action"]) == ("n", "CREATE")
    run("stack", "snapshot", "delete", "--yes", name, saved["ID"])
    settled()
    assert run.json("stack", "snapshot", "list", name) == []
    run("stack", "delete", "--yes", "--wait", name)


def abandon_and_adopt(run: OpenStackShell, files: TemplateDirectory, name: str) -> None:
    run("stack", "create", "--wait", "-t", files.template, name)
    document = str(files.directory / f"{name}.json")
    run("stack", "export", name, "--output-file", document)
    exported = json.loads(Path(document).read_text())
    assert exported["resources"].keys() == {"kept", "secret"}
    run("stack", "abandon", name, "--output-file", document)
    run("stack", "show", name, status=1)
    run("stack", "adopt", "--adopt-file", document, "--wait", name)
    assert run.json("stack", "show", name)["stack_status"] == "ADOPT_COMPLETE"
    run("stack", "delete", "--yes", "--wait", name)


def nested_breakpoints(
    run: OpenStackShell, files: TemplateDirectory, name: str, settled: Callable[[], None]
) -> None:
    """``make_idle_wait`` waits until nothing is under way but what waits for a user."""
    run("stack", "create", "-t", files.root, "--pre-create", "n/a*", name)
    settled()
    (found,) = run.json("stack", "hook", "poll", name, "--nested-depth", "5")
    assert found["Resource Status"] == "INIT_COMPLETE", found
    rows = run.json("stack", "resource", "list", "-n", "5", name)
    assert {row["resource_name"] for row in rows} == {"n", "a"}
    waits = "CREATE waits at breakpoints: n/a (pre-create)"
    assert run.json("stack", "show", name)["stack_status_reason"] == "Stack CREATE started"
    (row,) = run.json("stack", "resource", "list", "--filter", "name=n", name)
    shown = run.json("stack", "resource", "show", name, row["resource_name"])
    assert shown["resource_status_reason"] == waits
    assert waits in run("stack", "event", "list", name)
    run("stack", "hook", "clear", name, "n/a")
    settled()
    assert run.json("stack", "show", name)["stack_status"] == "CREATE_COMPLETE"
    run("stack", "update", "-t", files.root, "--parameter", "fail=true", name)
    settled()
    assert f"{name}.n.a:" in run("stack", "failures", "list", name)
    assert f"{name}.n.a:" in run("stack", "failures", "list", "--long", name)
    log = run("stack", "event", "list", "--nested-depth", "3", name)
    assert "Hook pre-create is cleared" in log
    run("stack", "delete", "--yes", "--wait", name)


def cancel_update(
    run: OpenStackShell, files: TemplateDirectory, name: str, settled: Callable[[], None]
) -> None:
    run("stack", "create", "--wait", "-t", files.template, name)
    assert run.json("stack", "why", name) == []
    assert run.json("stack", "timeline", name)
    assert isinstance(run.json("stack", "inventory"), list)
    run("stack", "cancel", name, status=1)  # nothing is under way
    again = ("stack", "update", "--existing", "--parameter", "size=9", "--pre-update", "secret")
    run(*again, name)
    settled()
    assert run.json("stack", "show", name)["stack_status"] == "UPDATE_IN_PROGRESS"
    (waiting, *_) = run.json("stack", "why", name, "--limit", "1")
    assert (waiting["Resource"], waiting["Resource Type"]) == ("secret", "OS::Heat::RandomString")
    assert "pre-update" in waiting["Reason"]
    run("stack", "cancel", "--wait", name)
    shown = run.json("stack", "show", name)
    assert (shown["stack_status"], shown["parameters"]["size"]) == ("ROLLBACK_COMPLETE", "4")
    run(*again, name)
    settled()
    run("stack", "cancel", "--no-rollback", name)
    settled()
    assert run.json("stack", "show", name)["stack_status"] == "UPDATE_FAILED"
    run("stack", "delete", "--yes", "--wait", name)


def service_information(run: OpenStackShell, files: TemplateDirectory) -> None:
    assert "OS::Heat::Value" in run("orchestration", "resource", "type", "list")
    assert "OS::Heat::Value" in run(
        "orchestration", "resource", "type", "list", "--filter", "name=OS::Heat::V.*", "--long"
    )
    show = ("orchestration", "resource", "type", "show", "OS::Heat::Value")
    assert "properties" in run(*show)
    for form in ("hot", "cfn"):
        assert "OS::Heat::Value" in run(*show, "--template-type", form)
    version = "heat_template_version.2018-08-31"
    assert "2018-08-31" in run("orchestration", "template", "version", "list")
    assert "get_attr" in run("orchestration", "template", "function", "list", version)
    assert "contains" in run(
        "orchestration", "template", "function", "list", version, "--with_conditions"
    )
    assert "What the command line makes" in run(
        "orchestration", "template", "validate", "-t", files.template
    )
    nested = run("orchestration", "template", "validate", "-t", files.root, "--show-nested")
    assert "NestedParameters" in nested
    bad = files.write("bad.yaml", TEMPLATE.replace("OS::Heat::Value", "OS::Heat::Nothing"))
    assert "Nothing" in run("orchestration", "template", "validate", "-t", bad, status=1)
    assert "revision" in run("orchestration", "build", "info")


def software_configs(run: OpenStackShell, files: TemplateDirectory) -> None:
    """The client has the configuration validated as a resource first."""
    script = files.write("script.sh", "#!/bin/sh\necho done\n")
    declared = files.write("declared.yaml", "inputs: [{name: colour, default: blue}]\n"
                                            "outputs: [{name: made}]\n")  # fmt: skip
    config = run.json("software", "config", "create", "--config-file", script,
                      "--definition-file", declared, "--group", "script", "setup")  # fmt: skip
    shown = run.json("software", "config", "show", config["id"])
    assert (shown["name"], shown["group"]) == ("setup", "script")
    assert "echo done" in run("software", "config", "show", config["id"], "--config-only")
    run("software", "config", "delete", config["id"])


def software_deployments(run: OpenStackShell, server_id: str) -> None:
    deploy = ("software", "deployment", "create", "--server", server_id, "--signal-transport",
              "NO_SIGNAL", "--input-value", "colour=red", "--action", "UPDATE")  # fmt: skip
    made = run.json(*deploy, "deployed")
    deployment = made["id"]
    listed = run.json("software", "deployment", "list", "--server", server_id)
    assert [row["id"] for row in listed] == [deployment]
    shown = run.json("software", "deployment", "show", deployment, "--long")
    assert (shown["server_id"], shown["action"]) == (server_id, "UPDATE")
    config = run.json("software", "config", "show", shown["config_id"])
    assert config["name"] == "deployed"
    assert config["id"] in {row["id"] for row in run.json("software", "config", "list")}
    (metadata,) = json.loads(run("software", "deployment", "metadata", "show", server_id))
    assert (metadata["id"], metadata["name"]) == (config["id"], "deployed")
    values = {each["name"]: each["value"] for each in metadata["inputs"]}
    assert values["deploy_server_id"] == server_id
    run("software", "deployment", "output", "show", deployment, "--all")
    run("software", "deployment", "delete", deployment)
    assert run.json("software", "deployment", "list", "--server", server_id) == []
    run("software", "config", "show", config["id"], status=1)  # goes with it
    run("software", "deployment", "show", deployment, status=1)


def follow_events(
    run: OpenStackShell,
    files: TemplateDirectory,
    name: str,
    environment: Mapping[str, str],
    log: Path,
) -> None:
    """Follow the events of a stack with ``event list --follow``.

    The command writes to a file, so its output must not be buffered.
    """
    run("stack", "create", "--wait", "-t", files.template, name)
    command = [sys.executable, "-m", "openstackclient.shell", "stack", "event", "list",
               "--follow", name]  # fmt: skip
    variables = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=variables)
    try:
        _wait_for_text(log, process, "CREATE completed successfully")
        run("stack", "update", "--wait", "--existing", "--parameter", "size=3", name)
        _wait_for_text(log, process, "UPDATE completed successfully")
    finally:
        process.terminate()  # SIGINT is ignored below a shell's background job
        process.wait(60)
    run("stack", "delete", "--yes", "--wait", name)


def _wait_for_text(log: Path, process: subprocess.Popen[bytes], text: str) -> None:
    def is_logged() -> bool:
        output = log.read_text(errors="replace")
        assert process.poll() is None, output
        return text in output

    wait_until(is_logged, f"events are followed: {text}", timeout_s=120)


def conversation_names() -> Iterator[str]:
    """Yield the names of all conversations."""
    yield from ("life", "snapshots", "handover", "hooks", "cancelled")
    yield from ("service", "software", "configs", "drift", "repairs", "plans", "quarantine")
    yield "places"


def run_conversation(
    run: OpenStackShell, files: TemplateDirectory, which: str, settled: Callable[[], None]
) -> None:
    """Run one of ``conversation_names``."""
    name = f"cli-{which}"
    steps: dict[str, Callable[[], None]] = {
        "life": lambda: stack_lifecycle(run, files, name),
        "snapshots": lambda: snapshot_and_restore(run, files, name, settled),
        "handover": lambda: abandon_and_adopt(run, files, name),
        "hooks": lambda: nested_breakpoints(run, files, name, settled),
        "cancelled": lambda: cancel_update(run, files, name, settled),
        "service": lambda: service_information(run, files),
        "software": lambda: software_deployments(run, f"server-of-{name}"),
        "configs": lambda: software_configs(run, files),
        "quarantine": lambda: own_commands.list_quarantine(run),
        "plans": lambda: own_commands.plan_and_execute(run, files, name),
        "places": lambda: own_commands.hand_over_resources(run, files, name),
        "repairs": lambda: own_commands.control_repairs(run, files, name),
        "drift": lambda: own_commands.show_and_repair_drift(run, files, name, settled),
    }
    steps[which]()
