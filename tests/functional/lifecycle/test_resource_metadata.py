"""A resource's metadata: evaluated for its type and for whoever reads it, stored once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.tables import resource
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.type_schema import AttributeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
LONG = "a line of a long text\n" * 1000


class MetadataRecorder(LocalType):
    """Shows what metadata its verbs were given."""

    name = "Test::MetadataRecorder"
    schema = TypeSchema(
        description="Keeps its metadata.",
        properties={"value": PropertySchema(type=PropertyType.ANY, description="Anything.",
                                            update_allowed=True)},
        attributes={"given": AttributeSchema(description="The metadata of the last verb.")},
    )  # fmt: skip

    def create(self, view: ResourceContext) -> VerbResult:
        return VerbResult(
            ObservedState.READY, physical_id="it", attributes={"given": dict(view.metadata)}
        )

    def update(self, view: ResourceContext, after: Json, changed: frozenset[str]) -> VerbResult:
        return VerbResult(
            ObservedState.READY, physical_id="it", attributes={"given": dict(view.metadata)}
        )


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    options = ApiOptions(enable_stack_abandon=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options, [MetadataRecorder()])
    yield ProjectClient(service)
    service.close()


METADATA = {
    "read": {"list_join": ["-", ["seen", {"get_attr": ["a", "output"]}]]},
    "plain": [1, {"$call": "is data"}],
    "long": {"get_file": "long"},
}
EVALUATED = {"read": "seen-first", "plain": [1, {"$call": "is data"}], "long": LONG}


def template(value: str = "first", kept: int = 1) -> Json:
    recorder = {
        "type": "Test::MetadataRecorder",
        "metadata": METADATA,
        "properties": {"value": kept},
    }
    return hot_template({"a": resource_definition(value=value), "k": recorder},
               outputs={"given": {"get_attr": ["k", "given"]}})  # fmt: skip


def test_type_receives_evaluated_metadata(heat: ProjectClient) -> None:
    heat.create("s", template(), files={"long": LONG})
    assert heat.outputs("s")["given"] == EVALUATED
    heat.update("s", template("second", 2), files={"long": LONG})
    assert heat.outputs("s")["given"] == {**EVALUATED, "read": "seen-second"}


def test_readers_receive_evaluated_metadata(heat: ProjectClient) -> None:
    heat.create("s", template(), files={"long": LONG})
    shown = heat.send("GET", f"{heat.path('s')}/resources/k/metadata").json["metadata"]
    assert shown == EVALUATED
    exported = heat.send("GET", f"{heat.path('s')}/export").json
    assert exported["resources"]["k"]["metadata"] == EVALUATED
    abandoned = heat.send("DELETE", f"{heat.path('s')}/abandon").json
    assert abandoned["resources"]["k"]["metadata"] == EVALUATED


def test_snapshot_keeps_metadata_with_references_unevaluated(heat: ProjectClient) -> None:
    heat.create("s", template(), files={"long": LONG})
    heat.send("POST", f"{heat.path('s')}/snapshots", {"name": "n"})
    (saved,) = heat.send("GET", f"{heat.path('s')}/snapshots").json["snapshots"]
    assert saved["data"]["resources"]["k"]["metadata"] == {
        "read": {"list_join": ["-", ["seen", {"get_attr": ["a", "output"]}]]},
        "plain": [1, {"$call": "is data"}],
        "long": LONG,
    }


def test_long_texts_are_stored_once(heat: ProjectClient) -> None:
    keepers = {
        f"k{at}": {"type": "Test::MetadataRecorder", "metadata": {"long": {"get_file": "long"}},
                   "properties": {"value": at}}
        for at in range(50)
    }  # fmt: skip
    heat.create("s", hot_template(keepers), files={"long": LONG})
    with heat.service.database.read() as conn:
        size = sa.func.sum(sa.func.length(sa.type_coerce(resource.c.definition, sa.Text)))
        assert conn.scalar(sa.select(size)) < 50 * 500
    shown = heat.send("GET", f"{heat.path('s')}/resources/k7?detail=definition").json["resource"]
    assert shown["definition"]["metadata"] == {"long": LONG}
