"""The properties that events show."""

from __future__ import annotations

from typing import Any

from heat_convergence.common.failures import ResourceFailure
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.scripted_type import ScriptedType

Json = Any


def shown_properties(heat: ProjectClient, status: str) -> Json:
    """Return the properties of the event in which a resource has a status."""
    key = ("r", status)
    found = next(
        each
        for each in heat.events("s")
        if (each["resource_name"], each["resource_status"]) == key
    )
    link = next(each["href"] for each in found["links"] if each["rel"] == "self")
    return heat.send("GET", link.split("/v1/p", 1)[1]).json["event"]["resource_properties"]


def test_a_deletion_shows_the_properties_of_the_creation_that_failed(tmp_path: Any) -> None:
    """Nothing was created, so that no properties of a physical resource are known."""
    scripted = ScriptedType()
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(scripted,))
    heat = ProjectClient(service)
    scripted.fail("create", "r", lambda: ResourceFailure("refused"))
    definition = {"type": "Test::Scripted", "properties": {"size": 3}}
    heat.create("s", hot_template({"r": definition}), disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    for status in ("CREATE_FAILED", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"):
        assert shown_properties(heat, status) == {"size": 3}, status
    service.close()
