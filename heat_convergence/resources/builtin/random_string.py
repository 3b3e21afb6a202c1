"""``OS::Heat::RandomString``: a secret that is generated once and kept in its row.

Decides which characters and how many of each. Loaded by entry point. It must use the system's
randomness alone: what a context's seed could repeat is no secret.

Source: docs/reference/resource-groups.rst, "Small types".
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.parameters.constraints import AllowedValues, Range

Json = Any
MAX_LENGTH = 512

CHARACTERS: Mapping[str, str] = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}
_CLASS = AllowedValues(tuple(CHARACTERS))
_MINIMUM = PropertySchema(
    type=PropertyType.INTEGER,
    description="The minimum number of characters from this class or sequence.",
    default=1,
    constraints=(Range(min=1, max=MAX_LENGTH),),
)


class RandomString(LocalType):
    """A random text, generated on create."""

    name = "OS::Heat::RandomString"
    secret_data = frozenset({"value"})
    schema = TypeSchema(
        description="A resource which generates a random string, such as a password.",
        support_status=SupportStatus(version="2014.1"),
        properties={
            "length": PropertySchema(
                type=PropertyType.INTEGER,
                description="Length of the string to generate.",
                default=32,
                constraints=(Range(min=1, max=MAX_LENGTH),),
            ),
            "sequence": PropertySchema(
                type=PropertyType.STRING,
                description="Class of all characters; superseded by character_classes.",
                constraints=(_CLASS,),
                support_status=SupportStatus(
                    SupportLevel.HIDDEN,
                    version="5.0.0",
                    previous=SupportStatus(SupportLevel.DEPRECATED, version="2014.2"),
                ),
            ),
            "character_classes": PropertySchema(
                type=PropertyType.LIST,
                description="Character classes, with the minimum number of characters of each.",
                default=[{"class": "lettersdigits", "min": 1}],
                item=PropertySchema(
                    type=PropertyType.MAP,
                    schema={
                        "class": PropertySchema(
                            type=PropertyType.STRING,
                            description="Name of a character class.",
                            default="lettersdigits",
                            constraints=(_CLASS,),
                        ),
                        "min": _MINIMUM,
                    },
                ),
            ),
            "character_sequences": PropertySchema(
                type=PropertyType.LIST,
                description="Character sequences, with the minimum number of characters of each.",
                item=PropertySchema(
                    type=PropertyType.MAP,
                    schema={
                        "sequence": PropertySchema(
                            type=PropertyType.STRING,
                            description="Characters to choose from.",
                            required=True,
                        ),
                        "min": _MINIMUM,
                    },
                ),
            ),
            "salt": PropertySchema(
                type=PropertyType.STRING,
                description="Any text; a change of it generates another random string.",
            ),
        },
        attributes={
            "value": AttributeSchema(
                PropertyType.STRING,
                "The random string, which stays the same as long as the resource exists.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Generate the string.

        Raises:
            StackValidationFailed: The properties leave no character to choose from.
        """
        self.validate(context.properties, None)
        value = generate_string(context.properties)
        return VerbResult(
            ObservedState.READY,
            physical_id=context.physical_name,
            attributes={"value": value},
            data={"value": value},
        )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Return None: the string does not follow from the properties."""
        return None  # generated once, never again from the properties

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the string."""
        return context.data.get("value", context.name)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the string from the resource's data."""
        return context.data.get("value") if name == "value" else super().attribute(context, name)

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check that there are characters to choose from, and that the length suffices."""
        if "character_classes" not in properties:
            return  # not known yet
        pools = _pools(properties)
        if not pools or not all(characters for characters, _ in pools):
            raise StackValidationFailed(
                "character_classes and character_sequences leave no character to choose"
            )
        least = sum(count for _, count in pools)
        length = properties.get("length", least)
        if length < least:
            raise StackValidationFailed(
                "Length property cannot be smaller than combined character class and character"
                f" sequence minimums: {length} is less than {least}, the sum of the minimums of"
                " character_classes and character_sequences"
            )


def generate_string(properties: Mapping[str, Json]) -> str:
    """Return a random string with the minimum number of characters from each pool.

    The other characters come from any pool, in random order.
    """
    pools = _pools(properties)
    letters = [secrets.choice(pool) for pool, least in pools for _ in range(least)]
    while len(letters) < properties["length"]:
        letters.append(secrets.choice(secrets.choice(pools)[0]))
    secrets.SystemRandom().shuffle(letters)
    return "".join(letters)


def _pools(properties: Mapping[str, Json]) -> Sequence[tuple[str, int]]:
    """Return the characters of each pool with their minimum number."""
    classes = properties.get("character_classes") or []
    if properties.get("sequence"):
        classes = [{"class": properties["sequence"], "min": 1}]
    return [(CHARACTERS.get(item["class"], ""), item["min"]) for item in classes] + [
        (item["sequence"], item["min"]) for item in properties.get("character_sequences") or []
    ]
