"""Shortcuts to build and evaluate templates in tests."""

from __future__ import annotations

from typing import Any

from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import (
    MissingParameters,
    StackContext,
    evaluate_template,
)
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.limits import DEFAULT_LIMITS
from heat_convergence.template.template import Template

STACK_CONTEXT = StackContext("stack-id", "stack", "project")
LATEST_HOT_VERSION = "2021-04-16"


class FakeResourceValues:
    """Fixed attributes and reference ids; a reference id defaults to ``ref-<name>``."""

    def __init__(self, attributes: Any = None, references: Any = None) -> None:
        self.attributes = attributes or {}
        self.references = references or {}

    def reference_id(self, resource: str) -> Any:
        return self.references.get(resource, f"ref-{resource}")

    def attribute(self, resource: str, name: str | None, path: tuple[Any, ...]) -> Any:
        known = self.attributes.get(resource, {})
        return known if name is None else known.get(name)


def hot_template(version: str = LATEST_HOT_VERSION, **sections: Any) -> Any:
    """Return a HOT template with the sections."""
    return {"heat_template_version": version, **sections}


def evaluate(
    source: Any,
    environment: Any = None,
    files: Any = None,
    *,
    missing: Any = MissingParameters.REJECT,
    **options: Any,
) -> Any:
    """Parse and evaluate a template with an environment."""
    return evaluate_template(
        Template.parse(source, limits=options.pop("limits", DEFAULT_LIMITS)),
        Environment.parse(environment or {}),
        files or {},
        options.pop("facts", STACK_CONTEXT),
        EvaluationOptions(missing_parameters=missing, **options),
    )


def evaluate_property(
    value: Any,
    version: str = LATEST_HOT_VERSION,
    *,
    files: Any = None,
    environment: Any = None,
    **sections: Any,
) -> Any:
    """Evaluate the only property of a resource that has the siblings ``a`` and ``b``."""
    resources = {
        "a": {"type": "T"},
        "b": {"type": "T"},
        "it": {"type": "T", "properties": {"value": value}},
    }
    template = hot_template(version, resources=resources, **sections)
    result = evaluate(template, environment, files)
    return result.definitions["it"].properties["value"]


def evaluate_cfn_property(
    value: Any, key: Any = "AWSTemplateFormatVersion", date: Any = "2010-09-09", **sections: Any
) -> Any:
    """Evaluate the only property of a CFN resource that has the sibling ``a``."""
    resources = {
        "a": {"Type": "T"},
        "it": {"Type": "T", "Properties": {"value": value}},
    }
    result = evaluate({key: date, "Resources": resources, **sections})
    return result.definitions["it"].properties["value"]
