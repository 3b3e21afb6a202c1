"""A preview that exceeds the limit of a request is refused, instead of shown in part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.template.limits import TemplateLimits
from tests.functional.harness import LocalService
from tests.functional.project_client import hot_template

VALUES = hot_template({"r": {"type": "OS::Heat::Value", "properties": {"value": [1] * 5_000}}})
NESTED = [f"nested-{number}.yaml" for number in range(3)]
BODY: dict[str, Any] = {
    "stack_name": "s",
    "template": hot_template({name.partition(".")[0]: {"type": name} for name in NESTED}),
    "files": {name: json.dumps({**VALUES, "description": name}) for name in NESTED},
}


@pytest.mark.parametrize(("steps", "status"), [(25_000, 400), (35_000, 200)])
def test_preview_shows_all_nested_stacks_or_names_the_limit(
    tmp_path: Path, steps: int, status: int
) -> None:
    """Three evaluations use them up while the nested stacks are previewed, not validated."""
    limits = TemplateLimits(max_evaluation_steps=steps)
    service = LocalService(f"sqlite:///{tmp_path}/stacks.sqlite", limits=limits)
    answer = service.send("POST", "/stacks/preview", BODY)
    assert answer.status_int == status, answer.text
    if status == 200:
        shown = answer.json["stack"]["resources"]
        assert [type(each) for each in shown] == [list] * len(NESTED)
    else:
        assert answer.json["error"]["type"] == "RequestLimitExceeded"
        assert f"{3 * steps} steps together" in answer.json["error"]["message"]
    service.close()
