"""Short ways to build templates in tests.  Imported by the tests beside it."""

from __future__ import annotations

from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import Missing, StackFacts, build
from heat_convergence.template.template import Template

FACTS = StackFacts("stack-id", "stack", "project")
LATEST = "2021-04-16"


class Inputs:
    """Attributes and reference ids as given; reference ids default to ``ref-<name>``."""

    def __init__(self, attributes=None, references=None):
        self.attributes = attributes or {}
        self.references = references or {}

    def reference_id(self, resource):
        return self.references.get(resource, f"ref-{resource}")

    def attribute(self, resource, name, path):
        known = self.attributes.get(resource, {})
        return known if name is None else known.get(name)


def hot(version=LATEST, **sections):
    return {"heat_template_version": version, **sections}


def evaluated(source, environment=None, files=None, *, missing=Missing.REFUSE, **options):
    return build(
        Template.parse(source),
        Environment.parse(environment or {}),
        files or {},
        options.pop("facts", FACTS),
        missing=missing,
        **options,
    )


def one_value(value, version=LATEST, *, files=None, environment=None, **sections):
    """What a template's only property comes to, with resources ``a`` and ``b`` beside."""
    resources = {
        "a": {"type": "T"},
        "b": {"type": "T"},
        "it": {"type": "T", "properties": {"value": value}},
    }
    template = hot(version, resources=resources, **sections)
    found = evaluated(template, environment, files)
    return found.definitions["it"].properties["value"]


def one_cfn_value(value, key="AWSTemplateFormatVersion", date="2010-09-09", **sections):
    resources = {
        "a": {"Type": "T"},
        "it": {"Type": "T", "Properties": {"value": value}},
    }
    found = evaluated({key: date, "Resources": resources, **sections})
    return found.definitions["it"].properties["value"]
