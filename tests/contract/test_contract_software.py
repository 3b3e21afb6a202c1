"""Software configurations and deployments on every database."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.db.tables import software_config, software_deployment
from heat_convergence.testing.sample_rows import time_at

CONFIG = SoftwareConfigRow("c1", "p", "b", "script", {"config": "planted-secret"}, time_at(1))
DEPLOYED = SoftwareDeploymentRow(
    "d1",
    "p",
    "server",
    "c1",
    "CREATE",
    "IN_PROGRESS",
    "",
    time_at(2),
    stack_user_project_id="users",
    input_values={"a": "planted-secret"},
)


def insert_configs_and_deployments(conn):
    for config in (
        CONFIG,
        replace(CONFIG, id="c2", name="a"),
        replace(CONFIG, id="c3", project_id="q", created_at=time_at(3)),
    ):
        software.insert_config(conn, config)
    software.insert_deployment(conn, DEPLOYED)
    software.insert_deployment(
        conn, replace(DEPLOYED, id="d2", config_id="c2", stack_user_project_id=None)
    )


def test_software_config_values_are_encrypted(database):
    with database.write() as conn:
        insert_configs_and_deployments(conn)
        software.update_deployment(conn, "d1", {"output_values": {"o": "planted-secret"}})
        assert software.get_config(conn, "c1") == CONFIG
        found = software.get_deployment(conn, "d1")
        assert found == replace(DEPLOYED, output_values={"o": "planted-secret"})
        for table, names in (
            (software_config, ["body"]),
            (software_deployment, ["input_values", "output_values"]),
        ):
            raw = sa.select(*(sa.type_coerce(table.c[name], sa.Text) for name in names))
            for row in conn.execute(raw):
                assert all(text is None or text.startswith("sealed:") for text in row)


def test_software_config_pagination(database):
    with database.write() as conn:
        insert_configs_and_deployments(conn)
        ids = [found.id for found in software.list_configs(conn, "p", None, None)]
        assert ids == ["c2", "c1"]
        assert [c.id for c in software.list_configs(conn, "p", 1, "c2")] == ["c1"]
        assert [c.id for c in software.list_configs(conn, None, None, "c3")] == ["c2", "c1"]
        assert [c.id for c in software.list_configs(conn, "p", 1, "c3")] == ["c2"]
        assert software.count_configs(conn, "p") == 2


def test_deployments_are_visible_to_both_projects(database):
    with database.write() as conn:
        insert_configs_and_deployments(conn)
        assert [d.id for d in software.list_deployments(conn, "p")] == ["d1", "d2"]
        assert [d.id for d in software.list_deployments(conn, "users", "server")] == ["d1"]
        assert software.list_deployments(conn, "p", "other") == []
        assert [c.name for c in software.list_server_configs(conn, "p", "server")] == ["a", "b"]
        assert [c.name for c in software.list_server_configs(conn, "users", "server")] == ["b"]
        assert software.is_config_in_use(conn, "c1")
        software.delete_deployment(conn, "d1")
        assert not software.is_config_in_use(conn, "c1")
        software.delete_config(conn, "c1")
        assert software.get_config(conn, "c1") is None
        assert software.count_deployments(conn, "p") == 1


def test_configs_of_one_name_are_in_the_order_of_their_deployments(database):
    with database.write() as conn:
        for name, created_s in (("b", 3), ("a", 4), ("c", 2)):
            config_id = f"c-{name}"
            software.insert_config(conn, replace(CONFIG, id=config_id))
            software.insert_deployment(
                conn,
                replace(DEPLOYED, id=name, config_id=config_id, created_at=time_at(created_s)),
            )
        found = software.list_server_configs(conn, "p", "server")
    assert [each.id for each in found] == ["c-c", "c-b", "c-a"]
