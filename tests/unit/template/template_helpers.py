"""Short ways to build templates in tests.  Imported by the tests beside it."""

from __future__ import annotations

from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import (
    MissingParameters,
    StackContext,
    evaluate_template,
)
from heat_convergence.template.template import Template

STACK_CONTEXT = StackContext("stack-id", "stack", "project")
LATEST_HOT_VERSION = "2021-04-16"


class FakeResourceValues:
    """Attributes and reference ids as given; reference ids default to ``ref-<name>``."""

    def __init__(self, attributes=None, references=None):
        self.attributes = attributes or {}
        self.references = references or {}

    def reference_id(self, resource):
        return self.references.get(resource, f"ref-{resource}")

    def attribute(self, resource, name, path):
        known = self.attributes.get(resource, {})
        return known if name is None else known.get(name)


def hot_template(version=LATEST_HOT_VERSION, **sections):
    return {"heat_template_version": version, **sections}


def evaluate(source, environment=None, files=None, *, missing=MissingParameters.REJECT, **options):
    return evaluate_template(
        Template.parse(source),
        Environment.parse(environment or {}),
        files or {},
        options.pop("facts", STACK_CONTEXT),
        missing_parameters=missing,
        **options,
    )


def evaluate_property(
    value, version=LATEST_HOT_VERSION, *, files=None, environment=None, **sections
):
    """What a template's only property comes to, with resources ``a`` and ``b`` beside."""
    resources = {
        "a": {"type": "T"},
        "b": {"type": "T"},
        "it": {"type": "T", "properties": {"value": value}},
    }
    template = hot_template(version, resources=resources, **sections)
    found = evaluate(template, environment, files)
    return found.definitions["it"].properties["value"]


def evaluate_cfn_property(value, key="AWSTemplateFormatVersion", date="2010-09-09", **sections):
    resources = {
        "a": {"Type": "T"},
        "it": {"Type": "T", "Properties": {"value": value}},
    }
    found = evaluate({key: date, "Resources": resources, **sections})
    return found.definitions["it"].properties["value"]
