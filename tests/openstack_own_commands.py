"""Conversations about the ``openstack`` commands that only this service has.

Part of ``openstack_commands``: drift, repairs, plans, handover and quarantine.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.openstack_shell import OpenStackShell, TemplateDirectory


def show_and_repair_drift(
    run: OpenStackShell, files: TemplateDirectory, name: str, settled: Callable[[], None]
) -> None:
    """The drift of a stack that nobody else has changed, and its repair."""
    run("stack", "create", "--wait", "--poll", "1", "-t", files.template, name)
    assert run.json("stack", "drift", "show", name, "--status", "MODIFIED") == []
    listed = run.json("stack", "drift", "list", "--status", "MODIFIED", "--status", "DELETED")
    assert name not in {row["Stack Name"] for row in listed}
    assert run.json("stack", "repair", name, "--dry-run") == []
    (row,) = run.json("stack", "repair", name, "--resource", "secret", "--dry-run")
    assert (row["Resource Name"], row["Repair Action"]) == ("secret", "observe")
    assert run.json("stack", "show", name)["stack_status"] == "CREATE_COMPLETE"
    run("stack", "repair", name, "--resource", "secret")
    settled()
    assert run.json("stack", "show", name)["stack_status"] == "UPDATE_COMPLETE"
    assert "missing" in run("stack", "repair", name, "--resource", "missing", status=1)
    assert "Stack not found" in run("stack", "drift", "show", "nothing", status=1)
    run("stack", "delete", "--yes", "--wait", name)


def control_repairs(run: OpenStackShell, files: TemplateDirectory, name: str) -> None:
    """The drift policy of a stack that has had no repairs, and refusals for mass losses."""
    run("stack", "create", "--wait", "-t", files.template, name)
    change = ("stack", "drift", "policy", "set", name)
    window = ("--repair-window", "0 2 * * mon-fri", "--window-timezone", "Europe/Berlin")
    changed = run.json(*change, "--policy", "repair", "--pause", *window)
    assert (changed["policy"], changed["paused"]) == ("repair", True)
    run.json(*change, "--resume", "--no-policy")
    shown = run.json("stack", "drift", "policy", "show", name)
    assert (shown["policy"], shown["paused"]) == (None, False)
    assert shown["repair_window"]["timezone"] == "Europe/Berlin"
    assert "cron expression" in run(*change, "--repair-window", "sometimes", status=1)
    assert "Nothing to set" in run(*change, status=1)
    assert run.json("stack", "drift", "repair", "list", name) == []
    run("stack", "drift", "repair", "resume", name)
    assert "absent" not in {row["ID"] for row in run.json("stack", "drift", "breaker", "list")}
    assert "Mass loss not found" in run("stack", "drift", "breaker", "confirm", "absent", status=1)
    run("stack", "delete", "--yes", "--wait", name)


def plan_and_execute(run: OpenStackShell, files: TemplateDirectory, name: str) -> None:
    """A plan of each action: made, listed, shown, executed, refused and deleted."""
    created = run.json("stack", "plan", "create", "--action", "create", "-t", files.template, name)
    assert created["resource_counts"]["add"] > 0
    run("stack", "plan", "execute", created["id"], "--wait")
    assert run.json("stack", "show", name)["stack_status"] == "CREATE_COMPLETE"
    same = run.json("stack", "plan", "create", "--existing", name)
    assert not same["has_changes"]
    removal = run.json("stack", "plan", "create", "--action", "delete", name)
    listed = run.json("stack", "plan", "list", name)
    assert {created["id"], same["id"], removal["id"]} == {row["ID"] for row in listed}
    shown = run.json("stack", "plan", "show", removal["id"])
    assert shown["changes"] == removal["changes"]
    run("stack", "plan", "execute", same["id"], "--wait")
    refused = run("stack", "plan", "execute", removal["id"], status=1)
    assert "UPDATE_COMPLETE in version 2" in refused
    run("stack", "plan", "delete", removal["id"])
    assert "Plan not found" in run("stack", "plan", "show", removal["id"], status=1)
    run("stack", "delete", "--yes", "--wait", name)


_ONE_TEXT = (
    "heat_template_version: 2018-08-31\nresources:\n  {name}: {{type: OS::Heat::RandomString}}\n"
)


def hand_over_resources(run: OpenStackShell, files: TemplateDirectory, name: str) -> None:
    """A resource gets another name and another stack; an import is refused."""
    texts = {each: files.write(f"{each}.yaml", _ONE_TEXT.format(name=each)) for each in "ab"}
    empty = files.write("empty.yaml", "heat_template_version: 2018-08-31\nresources: {}\n")
    for stack, source in ((name, texts["a"]), (f"{name}-target", empty)):
        run("stack", "create", "--wait", "--poll", "1", "-t", source, stack)
    before = run.json("stack", "resource", "show", name, "a")
    rename = ("stack", "resource", "rename", "-t", texts["b"], name, "a=b")
    planned = run.json(*rename)
    assert planned["resource_counts"]["rename"] == 1
    assert "= b (OS::Heat::RandomString): a until now" in run(*rename, "--execute")
    move = ("stack", "resource", "move", "-t", empty, "--target-template", texts["a"])
    moved = run.json(*move, "--execute", name, f"{name}-target", "b=a")
    assert (moved["action"], moved["plan_status"]) == ("move", "EXECUTED")
    after = run.json("stack", "resource", "show", f"{name}-target", "a")
    assert after["physical_resource_id"] == before["physical_resource_id"]
    assert after["attributes"] == before["attributes"]
    refused = run("stack", "resource", "import", "-t", texts["b"], name, "b=1", status=1)
    assert "cannot be imported" in refused or "your credentials" in refused
    assert "must have the form" in run("stack", "resource", "import", name, "b", status=1)
    for stack in (name, f"{name}-target"):
        run("stack", "delete", "--yes", "--wait", stack)


def list_quarantine(run: OpenStackShell) -> None:
    """The quarantine of the project, and refusals for what is not in it."""
    assert "absent" not in {row["ID"] for row in run.json("stack", "quarantine", "list")}
    for command in ("retry", "dismiss"):
        refused = run("stack", "quarantine", command, "absent", status=1)
        assert "Quarantined resource not found: absent" in refused
