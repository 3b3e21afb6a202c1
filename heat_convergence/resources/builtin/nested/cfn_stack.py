"""``AWS::CloudFormation::Stack``: a nested stack whose template is at a URL.

Decides the nested stack's template, parameters and timeout. It must not fetch: the template is
among the request's files.

Source: docs/reference/resource-groups.rst, "Small types".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from heat_convergence.resources.nested.nested_type import (
    REFERENCE_ID_KEY,
    AttributePath,
    AttributeRecorder,
    NestedStackRequest,
    NestedStackSource,
    NestedStackView,
    NestedType,
    NestedTypeSchema,
    attribute_path_key,
    replace_unresolved,
    stack_arn,
)
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
_OUTPUTS = "Outputs."


class CloudFormationStack(NestedType):
    """A nested stack of a template that a URL names."""

    name = "AWS::CloudFormation::Stack"
    generated_types: ClassVar[frozenset[str] | None] = frozenset()
    schema = NestedTypeSchema(
        description="Represents a child stack to allow composition of templates.",
        accepts_any_attribute=True,
        properties={
            "TemplateURL": PropertySchema(
                type=PropertyType.STRING,
                description="The URL of a template that specifies the stack to be created.",
                required=True,
                update_allowed=True,
            ),
            "TimeoutInMinutes": PropertySchema(
                type=PropertyType.INTEGER,
                description="The length of time, in minutes, to wait for the nested stack.",
                update_allowed=True,
            ),
            "Parameters": PropertySchema(
                type=PropertyType.MAP,
                description="The set of parameters passed to this nested stack.",
                update_allowed=True,
            ),
        },
    )

    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the template at the URL."""
        url = request.properties["TemplateURL"]
        request.files.template(url)  # raises the template's errors
        return NestedStackSource(
            request.files[url],
            parameters=request.properties.get("Parameters") or {},
            timeout_mins=request.properties.get("TimeoutInMinutes"),
        )

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the template, if the URL is known, for validation."""
        url = request.properties.get("TemplateURL")
        if not isinstance(url, str):
            return None
        values = request.properties.get("Parameters")
        parameters = replace_unresolved(values) if isinstance(values, dict) else {}
        request.files.template(url)
        timeout_mins = request.properties.get("TimeoutInMinutes")
        return NestedStackSource(
            request.files[url],
            parameters=parameters,
            timeout_mins=timeout_mins if isinstance(timeout_mins, int) else None,
        )

    def error_path_suffix(self, request: NestedStackRequest) -> str:
        """Return the URL, for the path of errors."""
        url = request.properties.get("TemplateURL")
        return f"<{url}>" if isinstance(url, str) else self.error_path_label

    def read_attributes(
        self, nested_stack: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """Return the outputs, named ``Outputs.NAME``, and the stack's ARN."""
        values, errors = nested_stack.evaluate_outputs()
        outputs = {f"{_OUTPUTS}{name}": value for name, value in values.items()}
        reading = AttributeRecorder()
        reading.errors = {
            attribute_path_key((f"{_OUTPUTS}{name}",)): error for name, error in errors.items()
        }
        for read in reads:
            if read[0] not in outputs:
                reading.errors[attribute_path_key(read)] = (
                    f"The template has no output for {read[0]}"
                )
        stack = nested_stack.stack
        return {
            **outputs,
            REFERENCE_ID_KEY: stack_arn(stack.project_id, stack.name, stack.id),
        } | reading.as_attributes()

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the nested stack's ARN."""
        found = context.attributes.get(REFERENCE_ID_KEY)
        if found is None and context.physical_id is not None:
            return stack_arn(context.project_id, context.physical_name, context.physical_id)
        return found or context.name
