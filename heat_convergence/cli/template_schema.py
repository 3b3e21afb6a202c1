"""``heat-convergence schema``: print JSON Schema of templates or environments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from heat_convergence.lint.json_schema import environment_schema, template_schema
from heat_convergence.resources.registry import ResourceTypeRegistry


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="heat-convergence schema",
        description="Print JSON Schema, with which editors complete and check documents: of "
        "templates with the properties of all resource types, or of environments.",
    )
    parser.add_argument(
        "document", nargs="?", choices=("template", "environment"), default="template"
    )
    parsed = parser.parse_args(arguments)
    if parsed.document == "template":
        schema = template_schema(ResourceTypeRegistry.load())
    else:
        schema = environment_schema()
    print(json.dumps(schema, indent=2))
    return 0
