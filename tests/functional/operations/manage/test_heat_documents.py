"""Documents of stacks for Heat, written by ``heat-convergence-manage`` and adopted again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api.services import ApiOptions
from heat_convergence.cli.manage import main
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.maintenance import schema_upgrade
from heat_convergence.db.tables import goal
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
CHILD = "file:///t/child.yaml"
HIDDEN_VALUE = "a-hidden-value"
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "parameters": {"word": {"type": "string", "hidden": True}},
    "resources": {
        "a": {
            "type": "OS::Heat::TestResource",
            "properties": {"value": {"get_param": "word"}},
            "metadata": {"of": {"get_attr": ["child", "value"]}},
        },
        "child": {"type": CHILD},
    },
}
CHILD_TEMPLATE = {
    **hot_template({"b": resource_definition(value="b")}),
    "outputs": {"value": {"value": {"get_attr": ["b", "output"]}}},
}


class Installation:
    """A service with two stacks, and the command on its database."""

    def __init__(self, folder: Path) -> None:
        url = f"sqlite:///{folder}/hc.sqlite"
        database = database_from_url(url)
        schema_upgrade.upgrade(database)
        database.close()
        self.service = LocalService(url)
        self.client = ProjectClient(self.service)
        parameters = {"word": HIDDEN_VALUE}
        files = {CHILD: json.dumps(CHILD_TEMPLATE)}
        self.client.create("shop", TEMPLATE, parameters=parameters, files=files)
        self.client.create("other", hot_template({"c": resource_definition(value="c")}))
        self._config = folder / "hc.conf"
        self._config.write_text(
            f"[DEFAULT]\nauth_encryption_key = {LocalService.encryption_key}\n"
            f"[database]\nconnection = {url}\n"
            "[heat_api]\nauth_strategy = noauth\n"
        )

    def export(self, folder: Path, *arguments: str) -> int:
        command = ["export-heat-documents", "--output", str(folder), *arguments]
        return main.main(["--config-file", str(self._config), *command])


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path)
    yield installation
    installation.service.close()


def documents(folder: Path) -> dict[str, Json]:
    found = [json.loads(path.read_text()) for path in folder.glob("p/*.json")]
    return {each["name"]: each for each in found}


def test_another_service_adopts_a_document_with_the_same_resources(
    installation: Installation, tmp_path: Path
) -> None:
    assert installation.export(tmp_path / "out") == 0
    document = documents(tmp_path / "out")["shop"]
    assert document["resources"]["a"]["metadata"] == {"of": "b"}
    other = LocalService(f"sqlite:///{tmp_path}/other.sqlite", ApiOptions(enable_stack_adopt=True))
    client = ProjectClient(other)
    body = {"adopt_stack_data": json.dumps(document), "files": document["files"]}
    client.create("shop", document["template"], environment=document["environment"], **body)
    assert client.status("shop") == "ADOPT_COMPLETE"
    before = installation.client.resource("shop", "a")["physical_resource_id"]
    assert client.resource("shop", "a")["physical_resource_id"] == before
    other.close()


def test_only_the_owner_reads_the_files_for_they_have_hidden_values(
    installation: Installation, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    installation.export(folder)
    (path,) = folder.glob("p/shop-*.json")
    assert HIDDEN_VALUE in path.read_text()
    modes = [each.stat().st_mode & 0o777 for each in (folder, path.parent, path)]
    assert modes == [0o700, 0o700, 0o600]


def test_projects_and_stacks_are_selected(installation: Installation, tmp_path: Path) -> None:
    assert installation.export(tmp_path / "one", "--stack", "other") == 0
    assert documents(tmp_path / "one").keys() == {"other"}
    assert installation.export(tmp_path / "none", "--project", "q") == 0
    assert not list((tmp_path / "none").iterdir())


def test_unknown_stacks_and_used_folders_are_refused(
    installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert installation.export(tmp_path / "out", "--stack", "none-such") == 3
    assert "there is no stack none-such" in capsys.readouterr().err
    assert installation.export(tmp_path) == 3
    assert "is not empty" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert installation.export(tmp_path / "file" / "below") == 3
    assert "cannot be used" in capsys.readouterr().err


def test_a_stack_that_cannot_be_read_leaves_the_others_alone(
    installation: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = installation.client.stack("shop")["id"]
    with installation.service.database.write() as conn:
        conn.execute(sa.delete(goal).where(goal.c.stack_id == shop))
    assert installation.export(tmp_path / "out") == 1
    assert documents(tmp_path / "out").keys() == {"other"}
    printed = capsys.readouterr().out
    assert f"p/shop ({shop}): " in printed
    assert "out: 1. Not written: 1." in printed
