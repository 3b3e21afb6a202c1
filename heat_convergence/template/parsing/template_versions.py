"""The versions of the template language, as data.

Decides which sections, keys, functions and parameter features a version has.
Called by the parser, the evaluator and the listings.  Must not hold behaviour: a
function's variant is only named here, ``functions`` has the code.

Source: docs/reference/template-language.rst; a test compares every entry with
tests/unit/template/data/functions.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

HOT_KEY = "heat_template_version"
CFN_KEY = "AWSTemplateFormatVersion"
LEGACY_CFN_KEY = "HeatTemplateFormatVersion"
VERSION_KEYS = (HOT_KEY, LEGACY_CFN_KEY, CFN_KEY)


class TemplateFormat(Enum):
    """The two dialects of the language."""

    HOT = "hot"
    CFN = "cfn"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The spelling of the keys that both dialects have."""

    description: str
    parameters: str
    parameter_groups: str
    resources: str
    outputs: str
    conditions: str
    mappings: str
    type: str
    properties: str
    metadata: str
    depends_on: str
    deletion_policy: str
    update_policy: str
    condition: str
    external_id: str
    value: str


HOT_DIALECT = Dialect(
    **{name: name for name in Dialect.__slots__}  # the fields carry HOT's spellings
)
CFN_DIALECT = Dialect(
    description="Description",
    parameters="Parameters",
    parameter_groups="ParameterGroups",
    resources="Resources",
    outputs="Outputs",
    conditions="Conditions",
    mappings="Mappings",
    type="Type",
    properties="Properties",
    metadata="Metadata",
    depends_on="DependsOn",
    deletion_policy="DeletionPolicy",
    update_policy="UpdatePolicy",
    condition="Condition",
    external_id="ExternalId",
    value="Value",
)


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One version of the language.

    Attributes:
        functions: The variant of each function, by the function's name.
        condition_functions: The same for the functions allowed in conditions.
        removed_functions: Functions of earlier versions that this one rejects.
        aliases: Release names that may stand instead of the date.
    """

    key: str
    date: str
    template_format: TemplateFormat
    sections: tuple[str, ...]
    resource_keys: frozenset[str]
    output_keys: frozenset[str]
    functions: Mapping[str, str]
    parameter_keys: frozenset[str]
    parameter_types: tuple[str, ...]
    parameter_constraints: tuple[str, ...]
    pseudo_parameters: tuple[str, ...]
    condition_functions: Mapping[str, str] = field(default_factory=dict)
    removed_functions: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    lower_case_policies: bool = False

    @property
    def id(self) -> str:
        """The identifier in the API's list of versions."""
        return f"{self.key}.{self.date}"

    @property
    def dialect(self) -> Dialect:
        """The key spellings of this version's format."""
        return HOT_DIALECT if self.template_format is TemplateFormat.HOT else CFN_DIALECT

    @property
    def has_conditions(self) -> bool:
        """True if templates of this version may have a conditions section."""
        return self.dialect.conditions in self.sections

    @property
    def deletion_policies(self) -> dict[str, str]:
        """The accepted spellings of deletion policies, each with its canonical name."""
        policies = {name: name for name in ("Delete", "Retain", "Snapshot")}
        if self.lower_case_policies:
            policies |= {name.lower(): name for name in tuple(policies)}
        return policies


def _standard(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "standard")


_CFN_FUNCTIONS = _standard(
    "Fn::Base64 Fn::FindInMap Fn::GetAZs Fn::MemberListToMap Fn::ResourceFacade"
    " Fn::Select Fn::Split"
) | {
    "Fn::GetAtt": "two_args_only",
    "Fn::Join": "single_list",
    "Fn::Replace": "scalars_only",
    "Ref": "param_or_resource",
}

_CFN_2012 = TemplateVersion(
    key=LEGACY_CFN_KEY,
    date="2012-12-12",
    template_format=TemplateFormat.CFN,
    sections=(
        CFN_KEY,
        LEGACY_CFN_KEY,
        "Description",
        "Mappings",
        "Parameters",
        "Resources",
        "Outputs",
    ),
    resource_keys=frozenset(
        "Type Properties Metadata DependsOn DeletionPolicy UpdatePolicy Description".split()
    ),
    output_keys=frozenset({"Description", "Value"}),
    functions=_CFN_FUNCTIONS,
    parameter_keys=frozenset(
        "Type Default NoEcho AllowedValues AllowedPattern MaxLength MinLength MaxValue MinValue"
        " Description ConstraintDescription Label".split()
    ),
    parameter_types=("String", "Number", "CommaDelimitedList", "Json", "Boolean"),
    parameter_constraints=(
        "AllowedValues",
        "AllowedPattern",
        "MinLength",
        "MaxLength",
        "MinValue",
        "MaxValue",
    ),
    pseudo_parameters=("AWS::StackId", "AWS::StackName", "AWS::Region"),
)

_CFN_2010 = replace(
    _CFN_2012,
    key=CFN_KEY,
    date="2010-09-09",
    sections=(*_CFN_2012.sections, "Conditions"),
    resource_keys=_CFN_2012.resource_keys | {"Condition"},
    output_keys=_CFN_2012.output_keys | {"Condition"},
    functions=_CFN_FUNCTIONS | {"Fn::If": "three_args"},
    condition_functions=_standard("Fn::And Fn::Equals Fn::FindInMap Fn::Not Fn::Or")
    | {"Ref": "param_only"},
)

_HOT_2013 = TemplateVersion(
    key=HOT_KEY,
    date="2013-05-23",
    template_format=TemplateFormat.HOT,
    sections=(HOT_KEY, "description", "parameter_groups", "parameters", "resources", "outputs"),
    resource_keys=frozenset(
        "type properties metadata depends_on deletion_policy update_policy description".split()
    ),
    output_keys=frozenset({"description", "value"}),
    functions=_standard(
        "Fn::Base64 Fn::GetAZs Fn::MemberListToMap Fn::ResourceFacade Fn::Select Fn::Split"
        " get_file get_param get_resource resource_facade"
    )
    | {
        "Fn::Join": "single_list",
        "Fn::Replace": "scalars_only",
        "Ref": "param_or_resource",
        "get_attr": "attr_then_select",
        "list_join": "single_list",
        "str_replace": "scalars_only",
    },
    parameter_keys=frozenset(
        "type description default schema constraints hidden label immutable".split()
    ),
    parameter_types=("string", "number", "comma_delimited_list", "json", "boolean"),
    parameter_constraints=(
        "length",
        "range",
        "allowed_values",
        "allowed_pattern",
        "custom_constraint",
    ),
    pseudo_parameters=("OS::stack_id", "OS::stack_name", "OS::region", "OS::project_id"),
)


def _next(
    previous: TemplateVersion,
    date: str,
    alias: str = "",
    *,
    add: Mapping[str, str] | None = None,
    remove: Iterable[str] = (),
) -> TemplateVersion:
    """Return the version after another, with functions added, changed or removed."""
    removed = frozenset(remove)
    kept = {name: variant for name, variant in previous.functions.items() if name not in removed}
    return replace(
        previous,
        date=date,
        aliases=(alias,) if alias else (),
        functions=kept | dict(add or {}),
        removed_functions=previous.removed_functions | removed,
    )


_HOT_2014 = _next(
    _HOT_2013,
    "2014-10-16",
    add={"get_attr": "attr_with_path_passed_to_resource"},
    remove=(
        "Fn::Base64 Fn::GetAZs Fn::Join Fn::MemberListToMap Fn::Replace Fn::ResourceFacade"
        " Fn::Split Ref"
    ).split(),
)
_HOT_2015A = _next(_HOT_2014, "2015-04-30", add={"digest": "standard", "repeat": "lists_only"})
_HOT_2015B = _next(
    _HOT_2015A,
    "2015-10-15",
    add={
        "get_attr": "attr_optional_name",
        "list_join": "multi_list_json_items",
        "str_replace": "json_serialises_collections",
        "str_split": "standard",
    },
    remove=("Fn::Select",),
)
_HOT_2016A = _next(_HOT_2015B, "2016-04-08", add={"map_merge": "standard"})
_HOT_2016B = replace(
    _next(
        _HOT_2016A,
        "2016-10-14",
        "newton",
        add={
            "if": "three_args",
            "map_replace": "standard",
            "repeat": "lists_or_maps",
            "yaql": "standard",
        },
    ),
    sections=(*_HOT_2016A.sections, "conditions"),
    resource_keys=_HOT_2016A.resource_keys | {"external_id", "condition"},
    output_keys=_HOT_2016A.output_keys | {"condition"},
    lower_case_policies=True,
    condition_functions=_standard("and equals get_param not or"),
)
_HOT_2017A = replace(
    _next(
        _HOT_2016B,
        "2017-02-24",
        "ocata",
        add={"filter": "standard", "str_replace_strict": "standard"},
    ),
    parameter_constraints=(*_HOT_2016B.parameter_constraints, "modulo"),
)
_HOT_2017B = replace(
    _next(
        _HOT_2017A,
        "2017-09-01",
        "pike",
        add=_standard("contains list_concat list_concat_unique make_url str_replace_vstrict")
        | {"repeat": "lists_or_maps_permutations_flag"},
    ),
    condition_functions=_standard("and contains equals get_param not or yaql"),
)
_HOT_2018A = replace(
    _next(_HOT_2017B, "2018-03-02", "queens"),
    parameter_keys=_HOT_2017B.parameter_keys | {"tags"},
)
_HOT_2018B = _next(_HOT_2018A, "2018-08-31", "rocky")
_HOT_2021 = _next(_HOT_2018B, "2021-04-16", "wallaby", add={"if": "two_or_three_args"})

TEMPLATE_VERSIONS: Mapping[str, TemplateVersion] = {
    version.id: version
    for version in (
        _CFN_2010,
        _CFN_2012,
        _HOT_2013,
        _HOT_2014,
        _HOT_2015A,
        _HOT_2015B,
        _HOT_2016A,
        _HOT_2016B,
        _HOT_2017A,
        _HOT_2017B,
        _HOT_2018A,
        _HOT_2018B,
        _HOT_2021,
    )
}
TEMPLATE_VERSIONS_BY_NAME: Mapping[tuple[str, str], TemplateVersion] = {
    (version.key, name): version
    for version in TEMPLATE_VERSIONS.values()
    for name in (version.date, *version.aliases)
}
"""Versions by version key and its value, which is the date or an alias."""

EMPTY_TEMPLATE_VERSION = TEMPLATE_VERSIONS[f"{HOT_KEY}.2015-04-30"]
"""The version assumed for a stack that has no template."""

KNOWN_FUNCTIONS = frozenset().union(
    *(
        version.functions.keys() | version.condition_functions
        for version in TEMPLATE_VERSIONS.values()
    )
)
