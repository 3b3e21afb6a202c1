"""The versions of the template language, as data.

Decides which sections, keys, functions and parameter features a version has.
Called by the parser, the evaluator and the listings.  Must not hold behaviour: a
function's variant is only named here, ``functions`` has the code.

Source: heat-facts ``template_functions.json``; a test compares every entry.
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
    """The two dialects."""

    HOT = "hot"
    CFN = "cfn"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a dialect spells the things that both have."""

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
    **{name: name for name in Dialect.__slots__}  # what they are called here
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
    """One version; maps give a function's variant by its name."""

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
        """As the API lists it."""
        return f"{self.key}.{self.date}"

    @property
    def dialect(self) -> Dialect:
        return HOT_DIALECT if self.template_format is TemplateFormat.HOT else CFN_DIALECT

    @property
    def has_conditions(self) -> bool:
        return self.dialect.conditions in self.sections

    @property
    def deletion_policies(self) -> dict[str, str]:
        """What may be written, and what it means."""
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
    before: TemplateVersion,
    date: str,
    alias: str = "",
    *,
    add: Mapping[str, str] | None = None,
    remove: Iterable[str] = (),
) -> TemplateVersion:
    """The version after another, with functions added, changed or removed."""
    removed = frozenset(remove)
    kept = {name: variant for name, variant in before.functions.items() if name not in removed}
    return replace(
        before,
        date=date,
        aliases=(alias,) if alias else (),
        functions=kept | dict(add or {}),
        removed_functions=before.removed_functions | removed,
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
"""Versions by version key and what may stand there: the date or an alias."""

EMPTY_TEMPLATE_VERSION = TEMPLATE_VERSIONS[f"{HOT_KEY}.2015-04-30"]
"""What a stack without any template is taken to be."""

KNOWN_FUNCTIONS = frozenset().union(
    *(
        version.functions.keys() | version.condition_functions
        for version in TEMPLATE_VERSIONS.values()
    )
)
