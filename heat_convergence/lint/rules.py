"""The rules of the linter as data: id, severity, title, explanation and remedy.

Ids begin with the severity: E for errors, which keep a stack from being created, W for warnings
and I for information.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from heat_convergence.template.diagnostics import ValidationPhase


class LintSeverity(StrEnum):
    """The weight of a finding."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_SEVERITIES = {"E": LintSeverity.ERROR, "W": LintSeverity.WARNING, "I": LintSeverity.INFO}


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule.

    Attributes:
        id: The id, which users switch off.
        title: The rule in a few words.
        explanation: Why it matters.
        remedy: How to follow it.
    """

    id: str
    title: str
    explanation: str
    remedy: str

    @property
    def severity(self) -> LintSeverity:
        """The severity, which is the first letter of the id."""
        return _SEVERITIES[self.id[0]]


UNREADABLE = LintRule(
    "E001",
    "file cannot be read",
    "The file does not exist, is no text in UTF-8, or is neither YAML nor JSON within the limits "
    "of size and depth.",
    "Correct the place that the message names.",
)
VERSION = LintRule(
    "E002",
    "version of the template is invalid",
    "A template names its language by heat_template_version, AWSTemplateFormatVersion or "
    "HeatTemplateFormatVersion.",
    "Give one of the versions that the message lists.",
)
UNREADABLE_REFERENCE = LintRule(
    "E003",
    "file that the template names cannot be read",
    "get_file, the type of a resource or the resource registry names a file that is not there.",
    "Correct the name; it is relative to the file that names it.",
)
CHECK_FAILED = LintRule(
    "W001",
    "check has failed",
    "The linter itself, or a plug-in, has a defect that this document shows. All other checks "
    "were made.",
    "Report the defect with the error id and the log.",
)
SECTION = LintRule(
    "E100",
    "section of the template is invalid",
    "The service refuses sections that the template version does not have.",
    "Correct the name of the section or the version of the template.",
)
PARAMETER = LintRule(
    "E101",
    "parameter is invalid",
    "The declaration of a parameter, or a value given for it, is invalid.",
    "Correct the declaration or the value.",
)
PARAMETER_GROUP = LintRule(
    "E102",
    "parameter group is invalid",
    "A parameter group names each declared parameter at most once.",
    "Correct the parameters that the group names.",
)
CONDITION = LintRule(
    "E103",
    "condition is invalid",
    "A condition is true, false or a function of conditions and parameters.",
    "Correct the definition of the condition, or its use.",
)
DEFINITION = LintRule(
    "E104",
    "definition of a resource is invalid",
    "Each resource is a map with a type and with the keys that the template version has.",
    "Correct the keys of the resource.",
)
FUNCTION = LintRule(
    "E105",
    "function is used in a wrong way",
    "The function is unknown, its arguments are wrong, or they refer to something that is not "
    "declared.",
    "Correct the arguments of the function.",
)
NAME_CONFLICT = LintRule(
    "E106",
    "name is used twice",
    "A parameter and a resource have the same name, so that a reference means either.",
    "Rename one of them.",
)
DEPENDENCY = LintRule(
    "E107",
    "dependency is invalid",
    "A resource depends on one that does not exist, or on itself through others.",
    "Remove or correct the dependency.",
)
RESOURCE = LintRule(
    "E108",
    "resource is invalid",
    "Its type does not exist, or the type refuses a property, an attribute or a policy.",
    "Correct the type or the property that the message names.",
)
OUTPUT = LintRule(
    "E109",
    "output is invalid",
    "An output reads something that does not exist.",
    "Correct the value of the output.",
)
ENVIRONMENT = LintRule(
    "E200",
    "environment is invalid",
    "The service refuses environments with unknown sections or entries.",
    "Correct the section or the entry.",
)
UNUSED_PARAMETER = LintRule(
    "W201",
    "parameter is never read",
    "Users are asked for a value that changes nothing.",
    "Remove the parameter, or read it by get_param.",
)
UNUSED_CONDITION = LintRule(
    "W202",
    "condition is never used",
    "A condition that nothing uses decides nothing.",
    "Remove the condition, or name it where it should decide.",
)
SECRET_NOT_HIDDEN = LintRule(
    "W203",
    "secret parameter is not hidden",
    "The value is shown to everybody who may read the stack, and is stored unencrypted.",
    "Add hidden: true (NoEcho: true in CFN templates) to the parameter.",
)
SECRET_OUTPUT = LintRule(
    "W204",
    "output shows a hidden parameter",
    "The value is hidden in the parameters of the stack and shown in its outputs.",
    "Remove the output, or let its readers have the secret in another way.",
)
DUPLICATE_KEY = LintRule(
    "W205",
    "key stands twice in a map",
    "Only the last value counts; what the first one says is lost without a message.",
    "Rename or remove one of the keys.",
)
UNUSED_MAPPING = LintRule(
    "W206",
    "mapping is never read",
    "A mapping that no Fn::FindInMap reads changes nothing.",
    "Remove the mapping, or read it.",
)
DEPRECATED_TYPE = LintRule(
    "W301",
    "resource type is deprecated",
    "A later release may refuse the type.",
    "Use the type that the message names.",
)
DEPRECATED_PROPERTY = LintRule(
    "W302",
    "property is deprecated",
    "A later release may refuse the property.",
    "Use the property that the message names.",
)
LITERAL_ID = LintRule(
    "W303",
    "id of an object is written into the template",
    "The template works in one cloud and one project only, and fails once the object is made "
    "anew.",
    "Use a parameter, the name of the object or a reference to a resource.",
)
NEEDLESS_DEPENDENCY = LintRule(
    "W304",
    "depends_on repeats a reference",
    "A resource waits for those whose values it reads anyway.",
    "Remove the name from depends_on.",
)
REPLACED_BY_UPDATE = LintRule(
    "I301",
    "update of a property replaces the server",
    "A change of these properties cannot be made in place: the server and its data are deleted "
    "and a new one is made.",
    "Keep the values as they are, or choose an update policy that keeps the server.",
)

RULES: tuple[LintRule, ...] = tuple(
    each for each in list(vars().values()) if isinstance(each, LintRule)
)
RULES_BY_ID: Mapping[str, LintRule] = {each.id: each for each in RULES}
RULES_BY_PHASE: Mapping[ValidationPhase, LintRule] = {
    ValidationPhase.TEMPLATE: SECTION,
    ValidationPhase.PARAMETERS: PARAMETER,
    ValidationPhase.PARAMETER_GROUPS: PARAMETER_GROUP,
    ValidationPhase.CONDITIONS: CONDITION,
    ValidationPhase.DEFINITIONS: DEFINITION,
    ValidationPhase.FUNCTIONS: FUNCTION,
    ValidationPhase.NAME_CONFLICTS: NAME_CONFLICT,
    ValidationPhase.DEPENDENCIES: DEPENDENCY,
    ValidationPhase.RESOURCES: RESOURCE,
    ValidationPhase.OUTPUTS: OUTPUT,
}
"""The rule of each check of the service's own validation."""
