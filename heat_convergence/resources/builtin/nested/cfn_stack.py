"""``AWS::CloudFormation::Stack``: a nested stack of a template that a URL names.

Source: heat-facts ``resource_groups.md``, "Small types".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

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
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType

Json = Any
_OUTPUTS = "Outputs."


class CloudFormationStack(NestedType):
    name = "AWS::CloudFormation::Stack"
    schema = NestedTypeSchema(
        description="A stack within the stack.",
        accepts_any_attribute=True,
        properties={
            "TemplateURL": PropertySchema(
                type=PropertyType.STRING,
                description="Where the template is, as the files of the request name it.",
                required=True,
                update_allowed=True,
            ),
            "TimeoutInMinutes": PropertySchema(
                type=PropertyType.INTEGER,
                description="How long making the stack may take; its parent's time if not given.",
                update_allowed=True,
            ),
            "Parameters": PropertySchema(
                type=PropertyType.MAP,
                description="The parameters of the stack.",
                update_allowed=True,
            ),
        },
    )

    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        url = ask.properties["TemplateURL"]
        ask.files.template(url)  # tells what is wrong with it
        return NestedStackSource(
            ask.files[url],
            parameters=ask.properties.get("Parameters") or {},
            timeout_mins=ask.properties.get("TimeoutInMinutes"),
        )

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        url = ask.properties.get("TemplateURL")
        if not isinstance(url, str):
            return None
        given = ask.properties.get("Parameters")
        parameters = replace_unresolved(given) if isinstance(given, dict) else {}
        ask.files.template(url)
        return NestedStackSource(ask.files[url], parameters=parameters)

    def error_path_suffix(self, ask: NestedStackRequest) -> str:
        url = ask.properties.get("TemplateURL")
        return f"<{url}>" if isinstance(url, str) else self.error_path_label

    def read_attributes(
        self, behind: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        values, untold = behind.evaluate_outputs()
        outputs = {f"{_OUTPUTS}{name}": value for name, value in values.items()}
        reading = AttributeRecorder()
        reading.errors = {
            attribute_path_key((f"{_OUTPUTS}{name}",)): why for name, why in untold.items()
        }
        for read in reads:
            if read[0] not in outputs:
                reading.errors[attribute_path_key(read)] = (
                    f"The template has no output for {read[0]}"
                )
        stack = behind.stack
        return {
            **outputs,
            REFERENCE_ID_KEY: stack_arn(stack.project_id, stack.name, stack.id),
        } | reading.as_attributes()

    def reference_id(self, context: ResourceContext) -> Json:
        found = context.attributes.get(REFERENCE_ID_KEY)
        if found is None and context.physical_id is not None:
            return stack_arn(context.project_id, context.physical_name, context.physical_id)
        return found or context.name
