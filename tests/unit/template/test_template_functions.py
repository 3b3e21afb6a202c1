"""The results of each function, and the arguments that it refuses."""

from typing import Any

import pytest

from heat_convergence.common.errors import (
    InvalidTemplateReference,
    StackValidationFailed,
)
from heat_convergence.template.evaluation.evaluation import StackContext
from tests.unit.template.template_helpers import (
    evaluate,
    evaluate_cfn_property,
    evaluate_property,
    hot_template,
)

OLD, MIDDLE = "2013-05-23", "2016-10-14"
PARAMETERS = {
    "conf": {"type": "json", "default": {"a": {"b": [1, {"c": "deep"}]}, "7": "seven"}},
    "list": {"type": "comma_delimited_list", "default": "x,y"},
    "number": {"type": "number", "default": 3},
    "flag": {"type": "boolean", "default": True},
}

RESULTS = [
    # get_param
    ({"get_param": ["conf", "a", "b", 1, "c"]}, "deep"),
    ({"get_param": ["conf", "a", "b", "0"]}, 1),
    ({"get_param": ["conf", "a", "b", "-1"]}, {"c": "deep"}),
    ({"get_param": ["conf", "a", "nothing", "more"]}, ""),
    ({"get_param": ["conf", "a", "b", 9]}, ""),
    ({"get_param": ["conf", 7]}, "seven"),
    ({"get_param": ["conf", "7", 0]}, "s"),
    ({"get_param": ["number", 0]}, ""),
    ({"get_param": ["list"]}, ["x", "y"]),
    ({"get_param": ["list", 1]}, "y"),
    ({"get_param": ["list", {"str_split": [",", "1,2", 0]}]}, "y"),
    ({"get_param": "OS::stack_name"}, "stack"),
    ({"get_param": "OS::stack_id"}, "stack-id"),
    ({"get_param": "OS::project_id"}, "project"),
    # list_join
    ({"list_join": [", ", ["a", None, "b"], ["c"], None]}, "a, , b, c"),
    ({"list_join": ["", [{"z": 1, "a": [True]}]]}, '{"a": [true], "z": 1}'),
    ({"list_join": ["", []]}, ""),
    # str_replace
    ({"str_replace": {"template": "aab", "params": {"a": "b", "aa": "A"}}}, "Ab"),
    ({"str_replace": {"template": "ab", "params": {"a": "b", "b": "a"}}}, "ba"),
    ({"str_replace": {"template": "x1y", "params": {"1": None}}}, "xy"),
    (
        {"str_replace": {"template": "v", "params": {"v": [1, {"b": 1, "a": 2}]}}},
        '[1, {"a": 2, "b": 1}]',
    ),
    ({"str_replace": {"template": "v", "params": {"v": True}}}, "True"),
    ({"str_replace": {"template": "v", "params": {"unused": "x"}}}, "v"),
    # repeat
    (
        {"repeat": {"template": "%a%-%b%", "for_each": {"%a%": ["1", "2"], "%b%": ["3", "4"]}}},
        ["1-3", "1-4", "2-3", "2-4"],
    ),
    ({"repeat": {"template": {"k%a%": ["%a%"]}, "for_each": {"%a%": ["1"]}}}, [{"k1": ["1"]}]),
    (
        {
            "repeat": {
                "template": "%a%%b%",
                "for_each": {"%a%": ["1", "2"], "%b%": ["3", "4"]},
                "permutations": False,
            }
        },
        ["13", "24"],
    ),
    ({"repeat": {"template": "%k%", "for_each": {"%k%": {"b": 1, "a": 2}}}}, ["b", "a"]),
    ({"repeat": {"template": "%k%", "for_each": {"%k%": None}}}, []),
    (
        {
            "repeat": {
                "template": "%k%%l%",
                "for_each": {"%k%": None, "%l%": ["a"]},
                "permutations": False,
            }
        },
        [],
    ),
    ({"repeat": {"template": {"get_param": ["conf", "%k%"]}, "for_each": {"%k%": ["7"]}}}, [""]),
    ({"repeat": {"template": "%k%", "for_each": {"%k%": [1, {"x": 2}]}}}, [1, {"x": 2}]),
    ({"repeat": {"template": "p%k%", "for_each": {"%k%": [80]}}}, ["p80"]),
    (
        {
            "repeat": {
                "template": {"repeat": {"template": "%a%%b%", "for_each": {"%b%": ["1", "2"]}}},
                "for_each": {"%a%": ["x", "y"]},
            }
        },
        [["x1", "x2"], ["y1", "y2"]],
    ),
    (
        {"repeat": {"template": {"list_join": ["/", ["%a%", "end"]]}, "for_each": {"%a%": ["x"]}}},
        ["x/end"],
    ),
    # digest
    (
        {"digest": ["sha256", ""]},
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ),
    ({"digest": ["md5", "é"]}, "3406877694691ddd1dfb0aca54681407"),
    # str_split
    ({"str_split": [",", "a,b,c"]}, ["a", "b", "c"]),
    ({"str_split": [",", "a,b,c", "1"]}, "b"),
    ({"str_split": [",", None]}, None),
    # maps
    ({"map_merge": [{"a": 1, "b": 1}, None, {"b": 2}]}, {"a": 1, "b": 2}),
    (
        {
            "map_replace": [
                {"k1": "v1", "k2": "v2"},
                {"keys": {"k1": "K1"}, "values": {"v2": "V2"}},
            ]
        },
        {"K1": "v1", "k2": "V2"},
    ),
    ({"map_replace": [{"k": [1]}, {"values": {"x": 1}}]}, {"k": [1]}),
    ({"map_replace": [{"k": 1}, {"values": {"1": "one"}}]}, {"k": "one"}),
    ({"map_replace": [{"k": "v"}, {}]}, {"k": "v"}),
    ({"map_replace": [{"k": "v"}, {"keys": {"k": None}, "values": {"v": None}}]}, {"k": "v"}),
    ({"map_replace": [{"k": True}, {"keys": {"k": 1}, "values": {"true": "yes"}}]}, {"1": "yes"}),
    ({"map_replace": [None, {"keys": None}]}, {}),
    # lists
    ({"list_concat": [["a"], None, ["b", "a"]]}, ["a", "b", "a"]),
    ({"list_concat_unique": [["a", 1], ["a", "1", {"x": 1}, {"x": 1}]]}, ["a", 1, "1", {"x": 1}]),
    ({"filter": [["", None], ["a", None, "", "b"]]}, ["a", "b"]),
    ({"filter": [["a"], None]}, None),
    ({"contains": ["a", ["b", "a"]]}, True),
    ({"contains": ["c", ["b", "a"]]}, False),
    # make_url
    (
        {
            "make_url": {
                "scheme": "http",
                "username": "u@x",
                "password": "p:w",
                "host": "h",
                "port": "8080",
                "path": "a b",
                "query": {"q": "1&2", "e": None},
                "fragment": "f g",
            }
        },
        "http://u%40x:p%3Aw@h:8080/a%20b?q=1%262&e=#f%20g",
    ),
    ({"make_url": {"scheme": "https", "host": "fe80::1", "port": 443}}, "https://[fe80::1]:443"),
    (
        {"make_url": {"scheme": "mysql+pymysql", "host": "h", "path": "/db"}},
        "mysql+pymysql://h/db",
    ),
    ({"make_url": {"path": "/only"}}, "/only"),
    # if
    ({"if": [True, "yes"]}, "yes"),
    ([1, {"if": [False, 2]}, 3], [1, 3]),
    ({"k": {"if": [False, 2]}, "l": 1}, {"l": 1}),
    ({"if": [{"not": {"equals": [1, 1]}}, {"get_param": "undeclared"}, "no"]}, "no"),
    ({"if": [{"get_param": "flag"}, "y", "n"]}, "y"),
    # facade of a root stack
    ({"resource_facade": "metadata"}, {}),
    # not calls at all
    ({"no_such_function": 1}, {"no_such_function": 1}),
    ({"get_param": "flag", "more": 1}, {"get_param": "flag", "more": 1}),
]

REFUSED = [
    ({"get_param": {}}, "must be a string"),
    ({"get_param": ["conf", []]}, "path"),
    ({"get_param": "undeclared"}, "undeclared"),
    ({"get_param": "OS::region"}, "OS::region"),
    ({"get_resource": ["a"]}, "must be a string"),
    ({"get_attr": "a"}, "list"),
    ({"get_file": "absent"}, "absent"),
    ({"list_join": ","}, "list of the form"),
    ({"list_join": [",", "text"]}, "must be a list"),
    ({"list_join": [1, []]}, "delimiter"),
    ({"list_join": [",", [1.5]]}, "not numbers"),
    ({"str_replace": {"template": "a"}}, '"params" is missing'),
    ({"str_replace": {"template": "a", "params": {}, "x": 1}}, '"x" is not an argument'),
    ({"str_replace": {"template": ["a"], "params": {}}}, "must be a string"),
    ({"str_replace": {"template": "a", "params": {"": 1}}}, "must not be empty"),
    ({"str_replace_strict": {"template": "a", "params": {"b": 1}}}, "not found in the"),
    ({"str_replace_vstrict": {"template": "a", "params": {"a": ""}}}, "has no value"),
    ({"repeat": {"template": 1, "for_each": ["a"]}}, "must be a map"),
    ({"repeat": {"template": 1, "for_each": {"a": "text"}}}, "must be a list"),
    ({"repeat": {"template": 1, "for_each": {}}}, "no variable"),
    ({"repeat": {"template": 1, "for_each": {"a": [1], "b": []}, "permutations": False}},
     "equally long"),
    ({"repeat": {"template": 1, "for_each": {"a": {"k": 1}}, "permutations": False}},
     "must be lists"),
    ({"repeat": {"template": 1, "for_each": {"a": [1]}, "permutations": "x"}}, "true or false"),
    ({"digest": ["none", "x"]}, "no digest algorithm"),
    ({"digest": ["md5", "\u0416"]}, "Latin-1"),
    ({"digest": ["md5"]}, "Wrong number"),
    ({"str_split": [",", "a", 1]}, "between 0 and 0, not 1"),
    ({"str_split": ["", "a"]}, "must not be empty"),
    ({"str_split": [",", "a", "x"]}, "must be a number"),
    ({"map_merge": [["a"]]}, "must be a map"),
    ({"map_merge": {"a": 1}}, "list of the form"),
    ({"map_replace": [{"a": 1, "b": 2}, {"keys": {"a": "b"}}]}, "exists already"),
    ({"map_replace": [{"a": 1}, {"kees": {}}]}, "kees"),
    ({"map_replace": [{"a": 1}, {"keys": {"a": []}}]}, "must be a string"),
    ({"map_replace": [{"a": 1, "b": 2}, {"keys": {"a": "c", "b": "c"}}]}, "exists already"),
    ({"map_replace": [{"a": 1}, {"values": []}]}, "must be a map"),
    ({"list_concat": [["a"], "b"]}, "must be a list"),
    ({"filter": ["a", []]}, "must be a list"),
    ({"contains": ["a", {"a": 1}]}, "must be a list"),
    ({"make_url": {"host": "h", "port": 0}}, "in range 1-65535"),
    ({"make_url": {"host": "h", "prot": 1}}, '"prot" is not an argument'),
    ({"if": [True]}, "Wrong number"),
    ({"if": ["undefined", 1, 2]}, 'value.if: : Invalid condition "undefined"'),
    ({"resource_facade": "other"}, "not one of"),
    ({"yaql": {"expression": "$.("}}, '"data" is missing'),
    ({"yaql": {"expression": "$.(", "data": 1}}, "Bad expression"),
    ({"yaql": {"expression": "$.data", "data": 1, "x": 1}}, "not an argument"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), RESULTS)
def test_function_returns(value: Any, expected: Any) -> None:
    assert evaluate_property(value, parameters=PARAMETERS) == expected


@pytest.mark.parametrize(("value", "message"), REFUSED)
def test_function_refuses(value: Any, message: Any) -> None:
    with pytest.raises(StackValidationFailed, match=r"resources\.it\.properties\.value") as caught:
        evaluate_property(value, parameters=PARAMETERS)
    assert message in str(caught.value)


def test_older_versions_have_their_own_variants() -> None:
    assert evaluate_property({"list_join": ["", ["a", None]]}, OLD) == "a"
    with pytest.raises(StackValidationFailed, match="must be strings"):
        evaluate_property({"list_join": ["", [{"a": 1}]]}, OLD)
    with pytest.raises(StackValidationFailed, match="Wrong number"):
        evaluate_property({"list_join": ["", ["a"], ["b"]]}, OLD)
    with pytest.raises(StackValidationFailed, match="string or number"):
        evaluate_property({"str_replace": {"template": "a", "params": {"a": []}}}, OLD)
    with pytest.raises(StackValidationFailed, match="Wrong number"):
        evaluate_property({"get_attr": ["a"]}, OLD)
    with pytest.raises(StackValidationFailed, match="must be a list"):
        evaluate_property({"repeat": {"template": 1, "for_each": {"a": {"k": 1}}}}, "2016-04-08")
    with pytest.raises(StackValidationFailed, match="permutations"):
        evaluate_property(
            {"repeat": {"template": 1, "for_each": {"a": []}, "permutations": True}}, MIDDLE
        )
    with pytest.raises(StackValidationFailed, match="Wrong number"):
        evaluate_property({"if": [True, 1]}, MIDDLE)
    assert evaluate_property({"Fn::Select": ["k", '{"k": 1}']}, "2014-10-16") == 1


CFN_RESULTS = [
    ({"Ref": "p"}, "v"),
    ({"Ref": "AWS::StackName"}, "stack"),
    ({"Ref": "AWS::Region"}, "ap-southeast-1"),
    ({"Ref": "AWS::StackId"}, "arn:openstack:heat::project:stacks/stack/stack-id"),
    ({"Fn::FindInMap": ["m", {"Ref": "p"}, "s"]}, 1),
    ({"Fn::Select": ["0", ["x", "y"]]}, "x"),
    ({"Fn::Select": [5, ["x"]]}, ""),
    ({"Fn::Select": ["k", {"k": None}]}, ""),
    ({"Fn::Select": ["k", '{"k": "json"}']}, "json"),
    ({"Fn::Join": ["-", ["a", {"Ref": "p"}]]}, "a-v"),
    ({"Fn::If": ["c", 1, 2]}, 2),
    ({"Fn::ResourceFacade": "Metadata"}, {}),
]


@pytest.mark.parametrize(("value", "expected"), CFN_RESULTS)
def test_cfn_function_returns(value: Any, expected: Any) -> None:
    sections = {
        "Parameters": {"p": {"Type": "String", "Default": "v"}},
        "Mappings": {"m": {"v": {"s": 1}}},
        "Conditions": {"c": {"Fn::Not": [{"Fn::Equals": [{"Ref": "p"}, "v"]}]}},
    }
    assert evaluate_cfn_property(value, **sections) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"Fn::FindInMap": ["m", "k", "absent"]},
        {"Fn::FindInMap": ["absent", "k", "s"]},
        {"Fn::Select": ["x", ["a"]]},
        {"Fn::Select": [0, 5]},
        {"Fn::Select": [0, "{"]},
        {"Fn::GetAtt": ["a", "b", "c"]},
        {"Fn::GetAtt": "a.b"},
        {"Fn::Join": [",", "a"]},
        {"Fn::MemberListToMap": ["a", "b", [1]]},
        {"Fn::Base64": []},
        {"Fn::ResourceFacade": "metadatum"},
    ],
)
def test_cfn_function_refuses(value: Any) -> None:
    with pytest.raises(StackValidationFailed):
        evaluate_cfn_property(value, Mappings={"m": {"k": {"s": 1}}})


def test_cfn_references_become_hot_references() -> None:
    assert evaluate_cfn_property({"Ref": "a"}).function == "get_resource"
    assert evaluate_cfn_property({"Fn::GetAtt": ["a", "x"]}).arguments == ["a", "x"]
    with pytest.raises(InvalidTemplateReference):
        evaluate_cfn_property({"Ref": "absent"})


def test_resource_facade_reads_the_parent_resource() -> None:
    facts = StackContext("i", "n", "p", facade={"metadata": {"a": 1}, "deletion_policy": "Retain"})
    resources = {
        "it": {
            "type": "T",
            "properties": {
                "m": {"resource_facade": "metadata"},
                "d": {"resource_facade": "deletion_policy"},
            },
        }
    }
    found = evaluate(hot_template(resources=resources), facts=facts).definitions["it"]
    assert found.properties == {"m": {"a": 1}, "d": "Retain"}


YAQL = [
    ("$.data.where($ > 1).select($ * 2)", [1, 2, 3], [4, 6]),
    ("dict($.data.items().select([$[0] + 'x', $[1]]))", {"a": 1}, {"ax": 1}),
    ("$.data.toSet().orderBy($)", [2, 1, 2], [1, 2]),
    ("regex('a.c').matches($.data)", "abc", True),
    ("$.data.replace(regex('b.'), 'x')", "abcabc", "axax"),
    ("$.data.matches('^a')", "abc", True),
    ("$.data =~ 'z'", "abc", False),
    ("{1 => true}", None, {"1": True}),
    ("coalesce($.data, []).first(null)", None, None),
    ("pow(2, 10)", None, 1024),
    ("[1, $.data] * 2 + 2 * ['b']", "a", [1, "a", 1, "a", "b", "b"]),
    ("'ab' * 2 + 'c'", None, "ababc"),
    ("2 * 3 + 1", None, 7),
    ("'{0}.client.{1}-{0}'.format($.data, 2)", "a", "a.client.2-a"),
    ("format('{{{0}}}', $.data)", None, "{None}"),
    ("'{1}{0}'.format('{0}', $.data)", True, "True{0}"),
    ("'{0}'.format($.data).split('/')[-1]", "arn:a/b", "b"),
]

UNSAFE_FORMATS = [
    ("'{0.__class__}'", r"takes \{0\}"),
    ("'{0[a]}'", r"takes \{0\}"),
    ("'{0!r}'", r"takes \{0\}"),
    ("'{0:>99999999}'", r"takes \{0\}"),
    ("'{}'", r"takes \{0\}"),
    ("'{name}'", r"takes \{0\}"),
    ("'{0'", r"takes \{0\}"),
    ("'0}'", r"takes \{0\}"),
    ("'{9}'", r"no argument for \{9\}"),
    ("'{1}'", "not a FrozenDict"),
    ("('{0}' * 2000).replace('0', '2')", "too long"),
]


@pytest.mark.parametrize(("expression", "data", "expected"), YAQL)
def test_yaql_returns(expression: Any, data: Any, expected: Any) -> None:
    assert evaluate_property({"yaql": {"expression": expression, "data": data}}) == expected


@pytest.mark.parametrize(("template", "message"), UNSAFE_FORMATS)
def test_yaql_format_takes_numbered_texts_only(template: str, message: str) -> None:
    expression = f"{template}.format($.data.a, $.data, $.data.long)"
    data = {"a": "x", "long": "y" * 1000}
    with pytest.raises(StackValidationFailed, match=f"YAQL: .*{message}"):
        evaluate_property({"yaql": {"expression": expression, "data": data}})
