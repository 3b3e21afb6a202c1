"""All functions of the language by name and variant.

Called by the evaluator.  ``template_versions`` states which version has which; functions
of plug-ins are passed to the evaluator separately.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.template.functions import (
    condition_functions,
    lists_and_maps,
    lookups,
    mappings,
    strings,
    urls,
    yaql,
)
from heat_convergence.template.functions.function import Function

PLUGIN_VARIANT = "plugin"
"""The variant of functions that entry points add."""

BUILTIN_FUNCTIONS: Mapping[tuple[str, str], Function] = {
    ("get_param", "standard"): lookups.GET_PARAM,
    ("get_resource", "standard"): lookups.GET_RESOURCE,
    ("get_attr", "attr_then_select"): lookups.GET_ATTR_BY_NAME,
    ("get_attr", "attr_with_path_passed_to_resource"): lookups.GET_ATTR_BY_NAME,
    ("get_attr", "attr_optional_name"): lookups.GET_ATTR,
    ("get_file", "standard"): lookups.GET_FILE,
    ("resource_facade", "standard"): lookups.RESOURCE_FACADE,
    ("list_join", "single_list"): strings.LIST_JOIN,
    ("list_join", "multi_list_json_items"): strings.LIST_JOIN_MULTIPLE,
    ("str_replace", "scalars_only"): strings.STR_REPLACE,
    ("str_replace", "json_serialises_collections"): strings.STR_REPLACE_JSON,
    ("str_replace_strict", "standard"): strings.STR_REPLACE_STRICT,
    ("str_replace_vstrict", "standard"): strings.STR_REPLACE_VSTRICT,
    ("str_split", "standard"): strings.STR_SPLIT,
    ("digest", "standard"): strings.DIGEST,
    ("repeat", "lists_only"): lists_and_maps.REPEAT_OVER_LISTS,
    ("repeat", "lists_or_maps"): lists_and_maps.REPEAT_OVER_LISTS_OR_MAPS,
    ("repeat", "lists_or_maps_permutations_flag"): lists_and_maps.REPEAT_WITH_PERMUTATIONS,
    ("map_merge", "standard"): lists_and_maps.MAP_MERGE,
    ("map_replace", "standard"): lists_and_maps.MAP_REPLACE,
    ("list_concat", "standard"): lists_and_maps.LIST_CONCAT,
    ("list_concat_unique", "standard"): lists_and_maps.LIST_CONCAT_UNIQUE,
    ("filter", "standard"): lists_and_maps.FILTER,
    ("contains", "standard"): lists_and_maps.CONTAINS,
    ("make_url", "standard"): urls.MAKE_URL,
    ("yaql", "standard"): yaql.YAQL,
    ("if", "three_args"): condition_functions.IF,
    ("if", "two_or_three_args"): condition_functions.IF,
    ("equals", "standard"): condition_functions.EQUALS,
    ("and", "standard"): condition_functions.AND,
    ("or", "standard"): condition_functions.OR,
    ("not", "standard"): condition_functions.NOT,
    ("Ref", "param_or_resource"): lookups.REF,
    ("Ref", "param_only"): lookups.REF_TO_PARAMETER,
    ("Fn::GetAtt", "two_args_only"): lookups.FN_GET_ATT,
    ("Fn::FindInMap", "standard"): mappings.FN_FIND_IN_MAP,
    ("Fn::GetAZs", "standard"): mappings.FN_GET_AZS,
    ("Fn::Select", "standard"): lists_and_maps.FN_SELECT,
    ("Fn::Join", "single_list"): strings.LIST_JOIN,
    ("Fn::Split", "standard"): strings.FN_SPLIT,
    ("Fn::Replace", "scalars_only"): strings.FN_REPLACE,
    ("Fn::Base64", "standard"): strings.FN_BASE64,
    ("Fn::MemberListToMap", "standard"): lists_and_maps.FN_MEMBER_LIST_TO_MAP,
    ("Fn::ResourceFacade", "standard"): lookups.RESOURCE_FACADE,
    ("Fn::If", "three_args"): condition_functions.IF,
    ("Fn::Equals", "standard"): condition_functions.EQUALS,
    ("Fn::And", "standard"): condition_functions.AND,
    ("Fn::Or", "standard"): condition_functions.OR,
    ("Fn::Not", "standard"): condition_functions.FN_NOT,
}
