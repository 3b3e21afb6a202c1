"""Every function of the language by name and variant.

Called by the evaluator.  ``versions`` says which version has which; functions of
plug-ins are handed to the evaluator beside these.
"""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.template.functions import (
    collections,
    conditions,
    mappings,
    references,
    strings,
    urls,
    yaql,
)
from heat_convergence.template.functions.base import Function

PLUGIN = "plugin"
"""The variant of functions that entry points add."""

BUILTIN: Mapping[tuple[str, str], Function] = {
    ("get_param", "standard"): references.GET_PARAM,
    ("get_resource", "standard"): references.GET_RESOURCE,
    ("get_attr", "attr_then_select"): references.GET_ATTR_BY_NAME,
    ("get_attr", "attr_with_path_passed_to_resource"): references.GET_ATTR_BY_NAME,
    ("get_attr", "attr_optional_name"): references.GET_ATTR,
    ("get_file", "standard"): references.GET_FILE,
    ("resource_facade", "standard"): references.RESOURCE_FACADE,
    ("list_join", "single_list"): strings.LIST_JOIN,
    ("list_join", "multi_list_json_items"): strings.LIST_JOIN_MANY,
    ("str_replace", "scalars_only"): strings.STR_REPLACE,
    ("str_replace", "json_serialises_collections"): strings.STR_REPLACE_JSON,
    ("str_replace_strict", "standard"): strings.STR_REPLACE_STRICT,
    ("str_replace_vstrict", "standard"): strings.STR_REPLACE_VSTRICT,
    ("str_split", "standard"): strings.STR_SPLIT,
    ("digest", "standard"): strings.DIGEST,
    ("repeat", "lists_only"): collections.REPEAT_LISTS,
    ("repeat", "lists_or_maps"): collections.REPEAT_MAPS,
    ("repeat", "lists_or_maps_permutations_flag"): collections.REPEAT_FLAG,
    ("map_merge", "standard"): collections.MAP_MERGE,
    ("map_replace", "standard"): collections.MAP_REPLACE,
    ("list_concat", "standard"): collections.LIST_CONCAT,
    ("list_concat_unique", "standard"): collections.LIST_CONCAT_UNIQUE,
    ("filter", "standard"): collections.FILTER,
    ("contains", "standard"): collections.CONTAINS,
    ("make_url", "standard"): urls.MAKE_URL,
    ("yaql", "standard"): yaql.YAQL,
    ("if", "three_args"): conditions.IF,
    ("if", "two_or_three_args"): conditions.IF,
    ("equals", "standard"): conditions.EQUALS,
    ("and", "standard"): conditions.AND,
    ("or", "standard"): conditions.OR,
    ("not", "standard"): conditions.NOT,
    ("Ref", "param_or_resource"): references.REF,
    ("Ref", "param_only"): references.REF_TO_PARAMETER,
    ("Fn::GetAtt", "two_args_only"): references.FN_GET_ATT,
    ("Fn::FindInMap", "standard"): mappings.FN_FIND_IN_MAP,
    ("Fn::GetAZs", "standard"): mappings.FN_GET_AZS,
    ("Fn::Select", "standard"): collections.FN_SELECT,
    ("Fn::Join", "single_list"): strings.LIST_JOIN,
    ("Fn::Split", "standard"): strings.FN_SPLIT,
    ("Fn::Replace", "scalars_only"): strings.FN_REPLACE,
    ("Fn::Base64", "standard"): strings.FN_BASE64,
    ("Fn::MemberListToMap", "standard"): collections.FN_MEMBER_LIST_TO_MAP,
    ("Fn::ResourceFacade", "standard"): references.RESOURCE_FACADE,
    ("Fn::If", "three_args"): conditions.IF,
    ("Fn::Equals", "standard"): conditions.EQUALS,
    ("Fn::And", "standard"): conditions.AND,
    ("Fn::Or", "standard"): conditions.OR,
    ("Fn::Not", "standard"): conditions.FN_NOT,
}
