"""Schemas of the AWS types from the package's data.

Decides where the declarations and descriptions are. Called when the types are built.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from heat_convergence.resources.driver.schema_loader import (
    load_declarations,
    load_descriptions,
    read_schema,
)
from heat_convergence.resources.protocol.type_schema import TypeSchema

PACKAGE = "heat_convergence.resources.aws"


@cache
def load_aws_schema(
    group: str, name: str, schema_class: type[TypeSchema] = TypeSchema
) -> TypeSchema:
    """Return the schema of a type, which all registries of a process share.

    Args:
        group: The name of the schemas' file.
        name: The type's name.
        schema_class: The class of the schema.
    """
    declared = load_declarations(group, PACKAGE)[name]
    return read_schema(declared, name, load_descriptions(PACKAGE), schema_class=schema_class)


@cache
def load_head(group: str, name: str) -> Mapping[str, Any]:
    """Return what is declared about a type in addition to its schema."""
    found: Mapping[str, Any] = load_declarations(group, PACKAGE)[name]["head"]
    return found
