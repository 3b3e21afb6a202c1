"""Tests of the resource types that need no cloud."""

from __future__ import annotations

import string
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.delay import Delay
from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.builtin.random_string import CHARACTERS, RandomString
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.builtin.value import Value
from heat_convergence.resources.protocol.schema import changed_property_names, resolve_properties
from heat_convergence.resources.protocol.verb_values import ResourceContext

ContextBuilder = Callable[..., ResourceContext]


class TestTestResource:
    type = TestResource()

    def test_create_is_busy_until_the_wait_ends(self, build_context: ContextBuilder) -> None:
        properties = {"wait_secs": 5}
        result = self.type.create(build_context(self.type, properties, after_s=2))
        assert (result.observed, result.poll_after_s) == (ObservedState.BUSY, 3)
        assert result.physical_id == "web-r-0123456789ab"
        known = {"physical_id": result.physical_id}
        assert (
            self.type.observe(
                build_context(self.type, properties, after_s=4, **known)
            ).poll_after_s
            == 1
        )
        ready = self.type.observe(build_context(self.type, properties, after_s=5, **known))
        assert ready.observed is ObservedState.READY
        assert ready.attributes == {"output": "test_string"}

    @pytest.mark.parametrize(
        ("action", "wait_s"), [(Action.CREATE, 1), (Action.UPDATE, 7), (Action.DELETE, 0)]
    )
    def test_action_wait_secs_override_wait_secs(
        self, build_context: ContextBuilder, action: Action, wait_s: float
    ) -> None:
        properties = {"wait_secs": 7, "action_wait_secs": {"create": 1, "delete": 0}}
        done = ObservedState.ABSENT if action is Action.DELETE else ObservedState.READY
        for after_s in (0, wait_s / 2, wait_s):
            context = build_context(
                self.type, properties, action, after_s=after_s, physical_id="x"
            )
            expected = done if after_s >= wait_s else ObservedState.BUSY
            assert self.type.observe(context).observed is expected

    @pytest.mark.parametrize("action", [Action.CREATE, Action.UPDATE, Action.DELETE])
    def test_negative_wait_never_ends(self, build_context: ContextBuilder, action: Action) -> None:
        context = build_context(self.type, {"wait_secs": -1}, action, after_s=1e8, physical_id="x")
        result = self.type.observe(context)
        assert result.observed is ObservedState.BUSY
        assert result.poll_after_s is not None
        assert 0 < result.poll_after_s < float("inf")

    @pytest.mark.parametrize(("action", "wait_s"), [(Action.CREATE, 2), (Action.UPDATE, 0)])
    def test_creation_fails_after_the_wait_and_an_update_at_once(
        self, build_context: ContextBuilder, action: Action, wait_s: int
    ) -> None:
        properties = {"fail": True, "wait_secs": 2}
        early = build_context(self.type, properties, action, after_s=1, physical_id="x")
        assert (self.type.observe(early).observed is ObservedState.BUSY) is (wait_s > 1)
        late = build_context(self.type, properties, action, after_s=wait_s, physical_id="x")
        result = self.type.observe(late)
        assert result.observed is ObservedState.FAILED
        assert "r" in result.reason

    def test_update_uses_the_new_properties(self, build_context: ContextBuilder) -> None:
        after = resolve_properties(self.type.schema, {"fail": True})
        context = build_context(self.type, {}, Action.UPDATE)
        assert (
            self.type.update(context, after, frozenset({"fail"})).observed is ObservedState.FAILED
        )
        after = resolve_properties(self.type.schema, {"value": "new"})
        result = self.type.update(context, after, frozenset({"value"}))
        assert result.attributes == {"output": "new"}

    def test_failing_resource_can_be_deleted(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {"fail": True}, Action.DELETE)
        assert self.type.delete(context).observed is ObservedState.ABSENT

    @pytest.mark.parametrize(
        ("before", "after", "replaced"),
        [
            ({"value": "a"}, {"value": "b"}, False),
            ({"value": "a"}, {"value": "b", "update_replace": True}, True),
            ({"value": "a", "update_replace": True}, {"value": "b"}, False),
            ({"update_replace": True}, {"update_replace": True, "wait_secs": 1}, False),
        ],
    )
    def test_needs_replace_when_update_replace_is_set(
        self, before: dict[str, Any], after: dict[str, Any], replaced: bool
    ) -> None:
        old, new = (
            resolve_properties(self.type.schema, properties) for properties in (before, after)
        )
        assert self.type.needs_replace(old, new, changed_property_names(old, new)) is replaced

    def test_unchanged_value_needs_no_replacement(self) -> None:
        properties = resolve_properties(self.type.schema, {"update_replace": True})
        assert not self.type.needs_replace(properties, properties, frozenset(properties))

    def test_update_replace_value_cannot_be_updated(self) -> None:
        assert not self.type.schema.update_allowed("update_replace_value")
        assert self.type.schema.update_allowed("value")

    def test_attr_wait_secs_extend_the_wait(self, build_context: ContextBuilder) -> None:
        properties = {"wait_secs": 1, "attr_wait_secs": 2}
        busy = self.type.observe(build_context(self.type, properties, after_s=2, physical_id="x"))
        assert (busy.observed, busy.attributes) == (ObservedState.BUSY, None)
        ready = self.type.observe(build_context(self.type, properties, after_s=3, physical_id="x"))
        assert ready.observed is ObservedState.READY

    def test_check_observes_the_resource(self, build_context: ContextBuilder) -> None:
        present = build_context(self.type, {"wait_secs": 9}, Action.CHECK)
        assert self.type.check(present).observed is ObservedState.READY
        lost = build_context(self.type, {}, Action.CHECK, physical_id=None)
        assert self.type.check(lost).observed is ObservedState.ABSENT

    def test_suspend_resume_and_snapshot_do_nothing(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {}, Action.SUSPEND)
        assert self.type.suspend(context) is None
        assert self.type.resume(context) is None
        assert self.type.snapshot(context) is None


class TestDelay:
    type = Delay()

    def test_waits_during_create_only_by_default(self, build_context: ContextBuilder) -> None:
        properties = {"min_wait": 10}
        assert (
            self.type.create(build_context(self.type, properties)).observed is ObservedState.BUSY
        )
        for action, verb in (
            (Action.SUSPEND, self.type.suspend),
            (Action.RESUME, self.type.resume),
        ):
            assert (
                verb(build_context(self.type, properties, action)).observed is ObservedState.READY
            )
        deleting = build_context(self.type, properties, Action.DELETE)
        assert self.type.delete(deleting).observed is ObservedState.ABSENT

    @pytest.mark.parametrize("action", ["CREATE", "DELETE", "SUSPEND", "RESUME"])
    def test_waits_during_listed_actions(self, build_context: ContextBuilder, action: str) -> None:
        properties = {"min_wait": 10, "actions": [action]}
        verb = getattr(self.type, action.lower())
        busy = verb(build_context(self.type, properties, Action(action), after_s=4))
        assert (busy.observed, busy.poll_after_s) == (ObservedState.BUSY, 6)
        waiting = build_context(self.type, properties, Action(action), after_s=9, physical_id="x")
        assert self.type.observe(waiting).observed is ObservedState.BUSY
        passed = build_context(self.type, properties, Action(action), after_s=10, physical_id="x")
        assert self.type.observe(passed).observed is not ObservedState.BUSY

    def test_update_does_not_wait(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {"min_wait": 10}, Action.UPDATE)
        after = resolve_properties(self.type.schema, {"min_wait": 20})
        assert (
            self.type.update(context, after, frozenset({"min_wait"})).observed
            is ObservedState.READY
        )

    def test_jitter_is_bounded_and_repeatable(self, build_context: ContextBuilder) -> None:
        properties = {"min_wait": 1, "max_jitter": 2, "jitter_multiplier": 3}
        results = [self.type.create(build_context(self.type, properties)) for _ in range(3)]
        waits = {result.poll_after_s or 0 for result in results}
        assert len(waits) == 1
        assert 1 < waits.pop() < 1 + 2 * 3
        assert (
            self.type.create(build_context(self.type, properties, after_s=7)).observed
            is ObservedState.READY
        )

    def test_wait_must_fit_into_the_timeout(self) -> None:
        properties = resolve_properties(
            self.type.schema, {"min_wait": 1, "max_jitter": 2, "jitter_multiplier": 3}
        )
        self.type.validate(properties, 7)
        self.type.validate(properties, None)
        self.type.validate({}, 7)
        with pytest.raises(StackValidationFailed, match=r"7 s.*6 s"):
            self.type.validate(properties, 6)


class TestRandomString:
    type = RandomString()

    def make(self, build_context: ContextBuilder, properties: dict[str, Any]) -> str:
        result = self.type.create(build_context(self.type, properties))
        assert result.data is not None
        value = result.data["value"]
        assert isinstance(value, str)
        assert result.data == result.attributes == {"value": value}
        return value

    def test_default_length_and_characters(self, build_context: ContextBuilder) -> None:
        value = self.make(build_context, {})
        assert len(value) == 32
        assert set(value) <= set(string.ascii_letters + string.digits)

    def test_strings_differ_for_the_same_seed(self, build_context: ContextBuilder) -> None:
        made = {self.make(build_context, {}) for _ in range(20)}
        assert len(made) == 20

    @pytest.mark.parametrize("name", sorted(CHARACTERS))
    def test_characters_come_from_the_class(
        self, build_context: ContextBuilder, name: str
    ) -> None:
        value = self.make(build_context, {"length": 300, "character_classes": [{"class": name}]})
        assert set(value) <= set(CHARACTERS[name])
        old_way = self.make(build_context, {"length": 300, "sequence": name})
        assert set(old_way) <= set(CHARACTERS[name])

    def test_minimums_are_met(self, build_context: ContextBuilder) -> None:
        properties = {
            "length": 20,
            "character_classes": [
                {"class": "digits", "min": 8},
                {"class": "uppercase", "min": 5},
            ],
            "character_sequences": [{"sequence": "%&", "min": 7}],
        }
        for _ in range(10):
            classes = Counter(
                "d" if c.isdigit() else "u" if c.isupper() else "s"
                for c in self.make(build_context, properties)
            )
            assert classes == {"d": 8, "u": 5, "s": 7}

    def test_minimum_characters_are_shuffled(self, build_context: ContextBuilder) -> None:
        properties = {
            "length": 60,
            "character_classes": [{"class": "digits", "min": 30}, {"class": "letters", "min": 30}],
        }
        assert not self.make(build_context, properties)[:30].isdigit()

    @pytest.mark.parametrize(
        ("properties", "text"),
        [
            ({"length": 3, "character_classes": [{"min": 2}, {"min": 2}]}, "3 is less than 4"),
            ({"character_classes": []}, "no character"),
            ({"character_sequences": [{"sequence": ""}]}, "no character"),
        ],
    )
    def test_unsatisfiable_properties_are_refused(
        self, build_context: ContextBuilder, properties: dict[str, Any], text: str
    ) -> None:
        with pytest.raises(StackValidationFailed, match=text):
            self.type.validate(resolve_properties(self.type.schema, properties), None)
        with pytest.raises(StackValidationFailed, match=text):
            self.type.create(build_context(self.type, properties))

    def test_unknown_classes_are_not_validated(self) -> None:
        self.type.validate({"length": 1}, None)

    def test_string_is_generated_once(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {}, Action.UPDATE, data={"value": "kept"})
        result = self.type.observe(context)
        assert (result.observed, result.attributes, result.data) == (
            ObservedState.READY,
            None,
            None,
        )
        assert self.type.attribute(context, "value") == "kept"
        assert self.type.reference_id(context) == "kept"

    def test_value_is_secret_data(self) -> None:
        assert "value" in self.type.secret_data

    def test_every_property_change_requires_replacement(self) -> None:
        assert not any(map(self.type.schema.update_allowed, self.type.schema.properties))


class TestValue:
    type = Value()

    @pytest.mark.parametrize(
        ("value_type", "value"),
        [
            (None, {"a": [1]}),
            (None, "7"),
            ("string", "a"),
            ("string", 7),
            ("string", True),
            ("number", "7"),
            ("number", "1.50"),
            ("number", 7.5),
            ("boolean", "True"),
            ("boolean", False),
            ("json", {"a": 1}),
            ("comma_delimited_list", ["a"]),
        ],
    )
    def test_value_of_the_type_is_unchanged(
        self, build_context: ContextBuilder, value_type: str | None, value: object
    ) -> None:
        properties = {"value": value, **({} if value_type is None else {"type": value_type})}
        self.type.validate(resolve_properties(self.type.schema, properties), None)
        result = self.type.create(build_context(self.type, properties))
        assert result.attributes == {"value": value}
        assert type(result.attributes["value"]) is type(value)

    @pytest.mark.parametrize(
        ("value_type", "value"),
        [
            ("number", "seven"),
            ("string", {"a": 1}),
            ("number", [1]),
            ("boolean", "perhaps"),
            ("boolean", "yes"),
            ("comma_delimited_list", "a,b"),
            ("boolean", 1),
            ("string", 1.5),
            ("json", '{"a": 1}'),
            ("json", [1]),
            ("comma_delimited_list", {"a": 1}),
        ],
    )
    def test_value_of_another_type_is_refused(
        self, build_context: ContextBuilder, value_type: str, value: object
    ) -> None:
        properties = {"value": value, "type": value_type}
        with pytest.raises(StackValidationFailed) as caught:
            self.type.validate(resolve_properties(self.type.schema, properties), None)
        assert caught.value.path == "value"
        with pytest.raises(StackValidationFailed, match=r"properties\.value"):
            self.type.create(build_context(self.type, properties))

    def test_unknown_value_is_not_validated(self) -> None:
        self.type.validate({"type": "number"}, None)

    def test_updates_in_place(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {"value": "1"}, Action.UPDATE)
        after = resolve_properties(self.type.schema, {"value": "2", "type": "number"})
        result = self.type.update(context, after, frozenset({"value", "type"}))
        assert result.attributes == {"value": "2"}
        assert result.physical_id == context.physical_id


class TestNone:
    type = NoneResource()

    def test_accepts_any_property_and_keeps_none(self) -> None:
        assert resolve_properties(self.type.schema, {"a": {"b": 1}, "c": None}) == {}

    def test_every_attribute_is_null(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {}, Action.UPDATE, attributes={"x": 1})
        assert self.type.schema.has_attribute("x")
        assert self.type.attribute(context, "x") is None

    def test_physical_id_is_random(self, build_context: ContextBuilder) -> None:
        result = self.type.create(build_context(self.type, {}))
        assert uuid.UUID(result.physical_id).version == 4

    def test_never_needs_replacement(self) -> None:
        assert self.type.schema.update_allowed("whatever")
        assert not self.type.needs_replace({}, {"a": 1}, frozenset({"a"}))
