"""The harness of the differential run, without any service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cloud.differential.comparison import (
    ABSENT,
    AcceptedDifference,
    Difference,
    FoundDifferences,
    compare,
    load_accepted,
    unaccepted,
)
from tests.cloud.differential.generation import generate_stories
from tests.cloud.differential.normalisation import Normaliser
from tests.cloud.differential.report import StoryResult
from tests.cloud.differential.result_file import ResultFile
from tests.cloud.differential.stack_state import describe_state
from tests.cloud.differential.story import load_stories, parse_step
from tests.cloud.differential.test_differential import GENERATED, SEED

DIFFERENCES = Path(__file__).parents[3] / "docs" / "reference" / "differences.rst"
STACK_ID = "0b9c1f6e-52f2-4b11-9f4d-2f3a0e4d7a11"


def test_at_least_150_stories() -> None:
    assert len(load_stories()) + len(generate_stories(SEED, GENERATED)) >= 150


def test_generated_stories_depend_on_their_seed_alone() -> None:
    assert generate_stories(7, 5) == generate_stories(7, 5) != generate_stories(8, 5)


def test_generated_templates_have_one_failing_resource_at_most() -> None:
    templates = [
        step.argument["template"]
        for story in generate_stories(SEED, GENERATED)
        for step in story.steps
        if step.argument and "template" in step.argument
    ]
    counts = [
        sum("fail" in each.get("properties", {}) for each in template["resources"].values())
        for template in templates
    ]
    assert max(counts) == 1


def test_generated_failures_come_last() -> None:
    steps = [step for story in generate_stories(SEED, GENERATED) for step in story.steps]
    bodies = [step.argument for step in steps if "timeout_mins" in (step.argument or {})]
    checked = 0
    for resources in (body["template"]["resources"] for body in bodies):
        for name in (each for each in resources if "fail" in resources[each]["properties"]):
            earlier = set(resources[name].get("depends_on", ()))
            later = {other: resources[other] for other in resources.keys() - earlier - {name}}
            for definition in later.values():
                waits_for = re.findall(r"\w+", str(definition))
                assert {name, *later} & set(waits_for)
            checked += bool(earlier)
    assert checked > 20


def test_a_step_needs_a_known_verb() -> None:
    with pytest.raises(ValueError, match="one verb"):
        parse_step({"dance": None}, {}, {})


def test_a_step_may_wait_for_several_resources() -> None:
    first, second = ({"resource": name, "status": "CREATE_COMPLETE"} for name in "ab")
    assert parse_step("delete", {}, {}).until == []
    assert parse_step({"delete": None, "until": first}, {}, {}).until == [first]
    assert parse_step({"delete": None, "until": [first, second]}, {}, {}).until == [first, second]


def test_ids_times_and_random_names_are_normalised() -> None:
    normaliser = Normaliser({"http://127.0.0.1:1/v1/p": "<api>"})
    text = f"http://127.0.0.1:1/v1/p/stacks/s/{STACK_ID} s-a-abcdefghij23 2026-01-02T03:04:05Z"
    assert normaliser.text(text) == "<api>/stacks/s/<uuid> s-a-<random> <time>"


def test_a_second_physical_id_of_a_resource_shows_as_another_one() -> None:
    normaliser = Normaliser({})
    for identifier in ("first-physical-id", "first-physical-id", "second-physical-id"):
        normaliser.learn("a", identifier)
    assert normaliser.apply(["first-physical-id", {"x": "second-physical-id"}]) == [
        "<id of a 1>",
        {"x": "<id of a 2>"},
    ]


def test_ids_of_nested_resources_are_numbered_for_each_stack() -> None:
    normaliser = Normaliser({}, "s")
    line = "CREATE_COMPLETE | {} | state changed"
    events = {"@s-b-abcdefghij23 0": [line.format("inner-id-of-b")],
              "@s-b-abcdefghij23 s-b-abcdefghij23": [line.format("stack-id-of-b")],
              "@s b": [line.format("stack-id-of-b")]}  # fmt: skip
    normaliser.learn_views({"events": events})
    assert normaliser.apply(["stack-id-of-b", "inner-id-of-b"]) == [
        "<id of b 1>",
        "<id of s-b-<random> 0 1>",
    ]


def test_id_of_a_nested_stack_is_that_of_its_resource_also_where_its_name_came_first() -> None:
    normaliser = Normaliser({}, "s")
    line = "CREATE_IN_PROGRESS | {} | Stack CREATE started"
    name = "s-n-abcdefghij23"
    normaliser.learn_views({"events": {"@s n": [line.format(name)]}})
    normaliser.learn_views({"events": {f"@{name} {name}": [line.format("stack-id-of-n")]}})
    assert normaliser.apply([name, "stack-id-of-n"]) == ["<id of n 1>", "<id of n 2>"]


def test_members_of_groups_are_numbered_with_and_without_digits_in_their_names() -> None:
    normaliser = Normaliser({}, "s", "a story with a resource twelveletter")
    names = ("abcdefghij23", "abcdefghijkl", "twelveletter")
    normaliser.learn_views({"events": {f"@s-g-zyxwvutsrq23 {name}": [] for name in names}})
    assert normaliser.apply(list(names)) == ["<member 1>", "<member 2>", "twelveletter"]


def test_maps_and_sets_have_one_order() -> None:
    first = {"snapshots": [{"name": "b"}, {"name": "a"}], "text": '{"b": 1, "a": 2}'}
    second = {"snapshots": [{"name": "a"}, {"name": "b"}], "text": '{"a": 2, "b": 1}'}
    assert Normaliser({}).apply(first) == Normaliser({}).apply(second)


def test_differences_are_found_at_any_depth() -> None:
    heat = {"@a": {"status": "X", "list": [1, 2], "only": 1}, "same": None}
    ours = {"@a": {"status": "Y", "list": [1, 3]}, "same": None}
    found = list(compare(heat, ours, "1 create"))
    assert [(each.place, each.heat, each.ours) for each in found] == [
        ("1 create/@a/list/1", 2, 3),
        ("1 create/@a/only", 1, ABSENT),
        ("1 create/@a/status", "X", "Y"),
    ]
    assert found[0].place_pattern == "1 create/@*/list/1"


def test_truth_and_number_differ() -> None:
    assert list(compare({"a": 1}, {"a": True}))


def test_an_accepted_difference_needs_all_its_patterns() -> None:
    rule = AcceptedDifference("texts", place="message$", longer=True)
    longer = Difference("1 create/message", "No.", "No. Line 3.")
    other = Difference("1 create/message", "No.", "Nay.")
    assert unaccepted(FoundDifferences("s", [longer, other]), [rule]) == [other]


def test_a_rule_with_a_cause_holds_for_the_same_resource_from_that_step_on() -> None:
    cause = r"@{name}/resource_status \| ROLLBACK_COMPLETE \|"
    rule = AcceptedDifference("brought back", place="@(?P<name>[^/]+)/output$", cause=cause)
    status = Difference("2 update/@a/resource_status", "ROLLBACK_COMPLETE", "CREATE_COMPLETE")
    places = ("1 create/@a", "2 update/@a", "2 update/@b", "3 check/@a")
    outputs = [Difference(f"{place}/output", None, "x") for place in places]
    found = FoundDifferences("s", [*outputs, status])
    assert unaccepted(found, [rule]) == [outputs[0], outputs[2], status]


def test_a_rule_with_a_state_holds_where_the_resource_has_it() -> None:
    state = r"^ours @s {name} \S+ CREATE_(IN_PROGRESS|FAILED)$"
    rule = AcceptedDifference("not created", place="@(?P<name>[^/]+)_out$", state=f"(?m){state}")
    records = [
        {"views": {"stack": {"stack_status": f"CREATE_{status}"},
                   "resources": {"@s a": {"resource_type": "T", "resource_status": a_status}}}}
        for status, a_status in (("FAILED", "CREATE_FAILED"), ("COMPLETE", "CREATE_COMPLETE"))
    ]  # fmt: skip
    states = [describe_state(each, each, "") for each in records]
    states.append(describe_state({}, {}, states[-1]))
    found = [Difference(f"{place}_out", 1, None)
             for place in ("1 create/@a", "1 create/@b", "2 update/@a", "3 list/@a")]  # fmt: skip
    assert unaccepted(FoundDifferences("s", found, states), [rule]) == found[1:]


def test_a_run_is_continued_where_it_ended(tmp_path: Path) -> None:
    first, second, third = generate_stories(1, 3)
    file = ResultFile(tmp_path / "results")
    assert file.read([first]) == []
    done = StoryResult(first, 3, [Difference("1 create/code", 201, ABSENT)], states=["a"])
    file.append(done)
    file.append(StoryResult(second, 0, [], "TimeoutError: the service"))
    assert file.read([first, second, third]) == [done]


def test_every_accepted_difference_is_documented() -> None:
    headings = re.findall(r"^(.+)\n[=-]{3,}$", DIFFERENCES.read_text(), re.MULTILINE)
    assert {rule.reason for rule in load_accepted()} <= set(headings)
