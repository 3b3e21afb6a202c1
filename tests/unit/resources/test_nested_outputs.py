"""The outputs of a nested stack, which are evaluated as attributes of its resource."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heat_convergence.resources.nested.nested_type import NestedStackView
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.template.limits import TemplateLimits
from tests.unit.template.template_helpers import FakeResourceValues


def test_all_outputs_share_one_budget() -> None:
    read = Expression("get_attr", "attr_optional_name", ["r", "x"])
    outputs = {f"o{n}": OutputDefinition(f"o{n}", [read]).dump() for n in range(9)}
    inputs: Any = FakeResourceValues({"r": {"x": [1] * 300}})
    view = NestedStackView(
        stack=SimpleNamespace(),  # type: ignore[arg-type]
        goal=SimpleNamespace(outputs=outputs),  # type: ignore[arg-type]
        owner_resource=SimpleNamespace(),  # type: ignore[arg-type]
        load_inputs=lambda _names: inputs,
        load_resource_names=tuple,
        limits=TemplateLimits(max_evaluation_steps=1000),
    )
    values, errors = view.evaluate_outputs()
    assert len(values["o0"][0]) == 300
    assert values["o8"] is None
    assert "steps" in errors["o8"]
