"""``AWS::CloudFormation::Stack``: a nested stack of a template that a URL names.

Source: heat-facts ``resource_groups.md``, "Small types".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from heat_convergence.resources.nesting.kinds import (
    REFERENCE,
    Ask,
    Behind,
    ChildSource,
    NestedSchema,
    NestedType,
    Read,
    Reading,
    arn,
    known_or_unknown,
    read_key,
)
from heat_convergence.resources.plugin import View
from heat_convergence.resources.schema import PropertySchema, PropertyType

Json = Any
_OUTPUTS = "Outputs."


class CloudFormationStack(NestedType):
    name = "AWS::CloudFormation::Stack"
    schema = NestedSchema(
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

    def source(self, ask: Ask) -> ChildSource:
        url = ask.properties["TemplateURL"]
        ask.files.template(url)  # tells what is wrong with it
        return ChildSource(
            ask.files[url],
            parameters=ask.properties.get("Parameters") or {},
            timeout_mins=ask.properties.get("TimeoutInMinutes"),
        )

    def sample(self, ask: Ask) -> ChildSource | None:
        url = ask.properties.get("TemplateURL")
        if not isinstance(url, str):
            return None
        given = ask.properties.get("Parameters")
        parameters = known_or_unknown(given) if isinstance(given, dict) else {}
        ask.files.template(url)
        return ChildSource(ask.files[url], parameters=parameters)

    def where(self, ask: Ask) -> str:
        url = ask.properties.get("TemplateURL")
        return f"<{url}>" if isinstance(url, str) else self.path_word

    def read(self, behind: Behind, reads: Collection[Read]) -> dict[str, Json]:
        values, untold = behind.outputs()
        outputs = {f"{_OUTPUTS}{name}": value for name, value in values.items()}
        reading = Reading()
        reading.untold = {read_key((f"{_OUTPUTS}{name}",)): why for name, why in untold.items()}
        for read in reads:
            if read[0] not in outputs:
                reading.untold[read_key(read)] = f"The template has no output for {read[0]}"
        stack = behind.stack
        return {
            **outputs,
            REFERENCE: arn(stack.project_id, stack.name, stack.id),
        } | reading.recorded()

    def reference_id(self, view: View) -> Json:
        found = view.attributes.get(REFERENCE)
        if found is None and view.physical_id is not None:
            return arn(view.project_id, view.physical_name, view.physical_id)
        return found or view.name
