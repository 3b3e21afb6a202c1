"""A tree of ten groups of ten stacks of five resources over two real engines."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from heat_convergence.testing.daemon_processes import ENGINE, wait_until
from heat_convergence.testing.file_cloud import FILE_TYPE, FileCloudAudit
from tests.integration.conftest import Deploy
from tests.integration.harness import (
    SETTLE_TIMEOUT_S,
    HeatUser,
    error_log_lines,
    query_rows,
    user_for,
)

WIDTH, LEAVES = 10, 5
CALL_S = 0.5  # of each leaf; its engine has the lease meanwhile, so that it is seen to work
# Rows of the innermost stacks, each with its stack.
_LEAF_ROWS = (
    " FROM resource AS leaf JOIN stack AS child ON child.id = leaf.stack_id"
    f" WHERE leaf.type = '{FILE_TYPE}'"
)
_LEASES = f"SELECT child.owner_id, leaf.lease_owner {_LEAF_ROWS} AND leaf.lease_owner IS NOT NULL"
_UNFINISHED = f"SELECT leaf.id {_LEAF_ROWS} AND leaf.job IS NOT NULL"
_COUNT = f"SELECT count(*) {_LEAF_ROWS}"
_LEASED = "SELECT id FROM resource WHERE lease_owner = "


def _tree() -> tuple[dict[str, Any], dict[str, str]]:
    leaf = {
        "heat_template_version": "2021-04-16",
        "resources": {
            f"r{at}": {
                "type": FILE_TYPE,
                "properties": {"value": str(at), "latency_s": CALL_S},
            }
            for at in range(LEAVES)
        },
    }
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": WIDTH, "resource_def": {"type": "leaf.yaml"}},
    }
    root = {
        "heat_template_version": "2021-04-16",
        "resources": {f"g{at}": group for at in range(WIDTH)},
    }
    return root, {"leaf.yaml": json.dumps(leaf)}


def _engines(user: HeatUser) -> set[str]:
    return {one.engine_id for one in user.heat.services.list() if "engine" in one.binary}


def test_the_other_engine_finishes_a_tree_when_one_is_killed(
    deploy: Deploy, mariadb_url: str, cloud: Path
) -> None:
    """The jobs of the killed engine wait until its leases expire; all others finish.

    Before, children of one parent run on both engines; each resource is created once.
    """
    deployment = deploy(mariadb_url).start(engines=1)
    user = user_for(deployment)
    first = _engines(user)
    second = deployment.add_daemon(ENGINE)
    second.start()
    wait_until(lambda: len(_engines(user)) == 2, "the second engine reports")
    (dead,) = _engines(user) - first
    template, files = _tree()
    user.heat.stacks.create(stack_name="tree", template=template, files=files)

    ran_on: dict[str, set[str]] = defaultdict(set)

    def on_both() -> bool:
        for parent, engine in query_rows(mariadb_url, _LEASES):
            ran_on[parent].add(engine)
        shared = any(len(engines) == 2 for engines in ran_on.values())
        return shared and bool(query_rows(mariadb_url, f"{_LEASED}'{dead}'"))

    wait_until(on_both, "children of one parent run on both", timeout_s=SETTLE_TIMEOUT_S)
    second.kill()
    held = {row.id for row in query_rows(mariadb_url, f"{_LEASED}'{dead}'")}

    def others_are_done() -> bool:
        undone = {row.id for row in query_rows(mariadb_url, _UNFINISHED)}
        all_there = query_rows(mariadb_url, _COUNT)[0][0] == WIDTH * WIDTH * LEAVES
        return (all_there and undone <= held) or _stack_waits_for(mariadb_url, held)

    wait_until(others_are_done, "all others are done", timeout_s=SETTLE_TIMEOUT_S)
    user.wait_for_status("tree", "CREATE_COMPLETE")
    made = user.heat.resources.list("tree", nested_depth=3)
    assert len(made) == WIDTH + WIDTH * WIDTH * (1 + LEAVES)
    assert {one.resource_status for one in made} == {"CREATE_COMPLETE"}
    leaves = [one for one in made if one.resource_type == FILE_TYPE]
    assert len({one.physical_resource_id for one in leaves}) == WIDTH * WIDTH * LEAVES
    # Not by the noted calls: the killed engine may have created a file without noting it.
    assert FileCloudAudit.of_directory(cloud).duplicated_names() == []
    user.heat.stacks.delete("tree")
    user.wait_deleted("tree")
    assert query_rows(mariadb_url, "SELECT id FROM resource") == []
    assert error_log_lines(deployment) == []


def _stack_waits_for(database_url: str, held: set[str]) -> bool:
    """Return whether all unfinished resources belong to jobs of the killed engine."""
    undone = {row.id for row in query_rows(database_url, "SELECT id FROM resource WHERE job IS NOT NULL"  # noqa: E501
                                     " AND job_state NOT IN ('blocked', 'watched')")}  # fmt: skip
    return undone <= held
