"""The types that need no cloud: waiting, failing, replacing, making secrets."""

from __future__ import annotations

import string
import uuid
from collections import Counter
from collections.abc import Callable

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.delay import Delay
from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.builtin.random_string import CHARACTERS, RandomString
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.builtin.value import Value
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.protocol.schema import changed_property_names, resolve_properties

ContextBuilder = Callable[..., ResourceContext]


class TestTestResource:
    type = TestResource()

    def test_is_busy_until_it_has_waited(self, build_context: ContextBuilder) -> None:
        given = {"wait_secs": 5}
        look = self.type.create(build_context(self.type, given, after_s=2))
        assert (look.observed, look.poll_after_s) == (ObservedState.BUSY, 3)
        assert look.physical_id == "web-r-0123456789ab"
        known = {"physical_id": look.physical_id}
        assert (
            self.type.observe(build_context(self.type, given, after_s=4, **known)).poll_after_s
            == 1
        )
        ready = self.type.observe(build_context(self.type, given, after_s=5, **known))
        assert ready.observed is ObservedState.READY
        assert ready.attributes == {"output": "test_string"}

    @pytest.mark.parametrize(
        ("action", "wait_s"), [(Action.CREATE, 1), (Action.UPDATE, 7), (Action.DELETE, 0)]
    )
    def test_an_action_may_have_its_own_wait(
        self, build_context: ContextBuilder, action: Action, wait_s: float
    ) -> None:
        given = {"wait_secs": 7, "action_wait_secs": {"create": 1, "delete": 0}}
        done = ObservedState.ABSENT if action is Action.DELETE else ObservedState.READY
        for after_s in (0, wait_s / 2, wait_s):
            context = build_context(self.type, given, action, after_s=after_s, physical_id="x")
            expected = done if after_s >= wait_s else ObservedState.BUSY
            assert self.type.observe(context).observed is expected

    @pytest.mark.parametrize("action", [Action.CREATE, Action.UPDATE, Action.DELETE])
    def test_less_than_zero_waits_for_ever(
        self, build_context: ContextBuilder, action: Action
    ) -> None:
        context = build_context(self.type, {"wait_secs": -1}, action, after_s=1e8, physical_id="x")
        look = self.type.observe(context)
        assert look.observed is ObservedState.BUSY
        assert 0 < look.poll_after_s < float("inf")

    @pytest.mark.parametrize("action", [Action.CREATE, Action.UPDATE])
    def test_failing_comes_after_the_wait(
        self, build_context: ContextBuilder, action: Action
    ) -> None:
        given = {"fail": True, "wait_secs": 2}
        early = build_context(self.type, given, action, after_s=1, physical_id="x")
        assert self.type.observe(early).observed is ObservedState.BUSY
        late = build_context(self.type, given, action, after_s=2, physical_id="x")
        look = self.type.observe(late)
        assert look.observed is ObservedState.FAILED
        assert "r" in look.reason

    def test_update_goes_by_the_properties_to_come(self, build_context: ContextBuilder) -> None:
        after = resolve_properties(self.type.schema, {"fail": True})
        context = build_context(self.type, {}, Action.UPDATE)
        assert (
            self.type.update(context, after, frozenset({"fail"})).observed is ObservedState.FAILED
        )
        after = resolve_properties(self.type.schema, {"value": "new"})
        look = self.type.update(context, after, frozenset({"value"}))
        assert look.attributes == {"output": "new"}

    def test_what_fails_is_still_deleted(self, build_context: ContextBuilder) -> None:
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
    def test_replaces_on(self, before: dict, after: dict, replaced: bool) -> None:
        old, new = (resolve_properties(self.type.schema, given) for given in (before, after))
        assert self.type.needs_replace(old, new, changed_property_names(old, new)) is replaced

    def test_a_value_set_anew_is_no_new_value(self) -> None:
        given = resolve_properties(self.type.schema, {"update_replace": True})
        assert not self.type.needs_replace(given, given, frozenset(given))

    def test_update_replace_value_cannot_be_updated(self) -> None:
        assert not self.type.schema.update_allowed("update_replace_value")
        assert self.type.schema.update_allowed("value")

    def test_attributes_may_take_longer(self, build_context: ContextBuilder) -> None:
        given = {"wait_secs": 1, "attr_wait_secs": 2}
        busy = self.type.observe(build_context(self.type, given, after_s=2, physical_id="x"))
        assert (busy.observed, busy.attributes) == (ObservedState.BUSY, None)
        ready = self.type.observe(build_context(self.type, given, after_s=3, physical_id="x"))
        assert ready.observed is ObservedState.READY

    def test_check_looks_at_reality(self, build_context: ContextBuilder) -> None:
        present = build_context(self.type, {"wait_secs": 9}, Action.CHECK)
        assert self.type.check(present).observed is ObservedState.READY
        lost = build_context(self.type, {}, Action.CHECK, physical_id=None)
        assert self.type.check(lost).observed is ObservedState.ABSENT

    def test_has_nothing_to_suspend(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {}, Action.SUSPEND)
        assert self.type.suspend(context) is None
        assert self.type.resume(context) is None
        assert self.type.snapshot(context) is None


class TestDelay:
    type = Delay()

    def test_waits_for_create_alone_unless_told(self, build_context: ContextBuilder) -> None:
        given = {"min_wait": 10}
        assert self.type.create(build_context(self.type, given)).observed is ObservedState.BUSY
        for action, verb in (
            (Action.SUSPEND, self.type.suspend),
            (Action.RESUME, self.type.resume),
        ):
            assert verb(build_context(self.type, given, action)).observed is ObservedState.READY
        deleting = build_context(self.type, given, Action.DELETE)
        assert self.type.delete(deleting).observed is ObservedState.ABSENT

    @pytest.mark.parametrize("action", ["CREATE", "DELETE", "SUSPEND", "RESUME"])
    def test_waits_in_the_actions_it_names(
        self, build_context: ContextBuilder, action: str
    ) -> None:
        given = {"min_wait": 10, "actions": [action]}
        verb = getattr(self.type, action.lower())
        busy = verb(build_context(self.type, given, Action(action), after_s=4))
        assert (busy.observed, busy.poll_after_s) == (ObservedState.BUSY, 6)
        waiting = build_context(self.type, given, Action(action), after_s=9, physical_id="x")
        assert self.type.observe(waiting).observed is ObservedState.BUSY
        passed = build_context(self.type, given, Action(action), after_s=10, physical_id="x")
        assert self.type.observe(passed).observed is not ObservedState.BUSY

    def test_update_is_at_once(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {"min_wait": 10}, Action.UPDATE)
        after = resolve_properties(self.type.schema, {"min_wait": 20})
        assert (
            self.type.update(context, after, frozenset({"min_wait"})).observed
            is ObservedState.READY
        )

    def test_jitter_is_bounded_and_the_same_at_every_look(
        self, build_context: ContextBuilder
    ) -> None:
        given = {"min_wait": 1, "max_jitter": 2, "jitter_multiplier": 3}
        looks = [self.type.create(build_context(self.type, given)) for _ in range(3)]
        waits = {look.poll_after_s for look in looks}
        assert len(waits) == 1
        assert 1 < waits.pop() < 1 + 2 * 3
        assert (
            self.type.create(build_context(self.type, given, after_s=7)).observed
            is ObservedState.READY
        )

    def test_must_fit_into_the_timeout(self) -> None:
        given = resolve_properties(
            self.type.schema, {"min_wait": 1, "max_jitter": 2, "jitter_multiplier": 3}
        )
        self.type.validate(given, 7)
        self.type.validate(given, None)
        self.type.validate({}, 7)
        with pytest.raises(StackValidationFailed, match=r"7 s.*6 s"):
            self.type.validate(given, 6)


class TestRandomString:
    type = RandomString()

    def make(self, build_context: ContextBuilder, given: dict) -> str:
        look = self.type.create(build_context(self.type, given))
        assert look.data == look.attributes == {"value": look.data["value"]}
        return look.data["value"]

    def test_default(self, build_context: ContextBuilder) -> None:
        value = self.make(build_context, {})
        assert len(value) == 32
        assert set(value) <= set(string.ascii_letters + string.digits)

    def test_no_seed_repeats_it(self, build_context: ContextBuilder) -> None:
        made = {self.make(build_context, {}) for _ in range(20)}
        assert len(made) == 20

    @pytest.mark.parametrize("name", sorted(CHARACTERS))
    def test_classes(self, build_context: ContextBuilder, name: str) -> None:
        value = self.make(build_context, {"length": 300, "character_classes": [{"class": name}]})
        assert set(value) <= set(CHARACTERS[name])
        old_way = self.make(build_context, {"length": 300, "sequence": name})
        assert set(old_way) <= set(CHARACTERS[name])

    def test_minimums_are_kept(self, build_context: ContextBuilder) -> None:
        given = {
            "length": 20,
            "character_classes": [
                {"class": "digits", "min": 8},
                {"class": "uppercase", "min": 5},
            ],
            "character_sequences": [{"sequence": "%&", "min": 7}],
        }
        for _ in range(10):
            kinds = Counter(
                "d" if c.isdigit() else "u" if c.isupper() else "s"
                for c in self.make(build_context, given)
            )
            assert kinds == {"d": 8, "u": 5, "s": 7}

    def test_minimums_are_not_in_front(self, build_context: ContextBuilder) -> None:
        given = {
            "length": 60,
            "character_classes": [{"class": "digits", "min": 30}, {"class": "letters", "min": 30}],
        }
        assert not self.make(build_context, given)[:30].isdigit()

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"length": 3, "character_classes": [{"min": 2}, {"min": 2}]}, "length 3.*4"),
            ({"character_classes": []}, "no character"),
            ({"character_sequences": [{"sequence": ""}]}, "no character"),
        ],
    )
    def test_impossible(self, build_context: ContextBuilder, given: dict, text: str) -> None:
        with pytest.raises(StackValidationFailed, match=text):
            self.type.validate(resolve_properties(self.type.schema, given), None)
        with pytest.raises(StackValidationFailed, match=text):
            self.type.create(build_context(self.type, given))

    def test_classes_not_known_yet_are_not_judged(self) -> None:
        self.type.validate({"length": 1}, None)

    def test_is_made_once(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {}, Action.UPDATE, data={"value": "kept"})
        look = self.type.observe(context)
        assert (look.observed, look.attributes, look.data) == (ObservedState.READY, None, None)
        assert self.type.attribute(context, "value") == "kept"
        assert self.type.reference_id(context) == "kept"

    def test_is_a_secret(self) -> None:
        assert "value" in self.type.secret_data

    def test_every_property_replaces(self) -> None:
        assert not any(map(self.type.schema.update_allowed, self.type.schema.properties))


class TestValue:
    type = Value()

    @pytest.mark.parametrize(
        ("kind", "value", "read"),
        [
            (None, {"a": [1]}, {"a": [1]}),
            (None, "7", "7"),
            ("string", "a", "a"),
            ("string", 7, "7"),
            ("string", True, "True"),
            ("number", "7", 7),
            ("number", "7.5", 7.5),
            ("boolean", "True", True),
            ("boolean", "yes", True),
            ("boolean", False, False),
            ("json", '{"a": 1}', {"a": 1}),
            ("json", [1], [1]),
            ("comma_delimited_list", "a,b", ["a", "b"]),
            ("comma_delimited_list", "", []),
            ("comma_delimited_list", ["a"], ["a"]),
        ],
    )
    def test_reads_as(
        self, build_context: ContextBuilder, kind: str | None, value: object, read: object
    ) -> None:
        given = {"value": value, "type": kind}
        self.type.validate(resolve_properties(self.type.schema, given), None)
        look = self.type.create(build_context(self.type, given))
        assert look.attributes == {"value": read}
        assert type(look.attributes["value"]) is type(read)

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("number", "seven"),
            ("string", {"a": 1}),
            ("number", [1]),
            ("boolean", "perhaps"),
            ("json", "{"),
            ("comma_delimited_list", {"a": 1}),
        ],
    )
    def test_cannot_read_as(self, build_context: ContextBuilder, kind: str, value: object) -> None:
        given = {"value": value, "type": kind}
        with pytest.raises(StackValidationFailed) as caught:
            self.type.validate(resolve_properties(self.type.schema, given), None)
        assert caught.value.path == "value"
        with pytest.raises(StackValidationFailed, match=r"properties\.value"):
            self.type.create(build_context(self.type, given))

    def test_value_not_known_yet(self) -> None:
        self.type.validate({"type": "number"}, None)

    def test_updates_in_place(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {"value": "1"}, Action.UPDATE)
        after = resolve_properties(self.type.schema, {"value": "2", "type": "number"})
        look = self.type.update(context, after, frozenset({"value", "type"}))
        assert look.attributes == {"value": 2}
        assert look.physical_id == context.physical_id


class TestNone:
    type = NoneResource()

    def test_takes_anything(self) -> None:
        assert resolve_properties(self.type.schema, {"a": {"b": 1}, "c": None}) == {"a": {"b": 1}}

    def test_has_every_attribute_as_null(self, build_context: ContextBuilder) -> None:
        context = build_context(self.type, {}, Action.UPDATE, attributes={"x": 1})
        assert self.type.schema.has_attribute("x")
        assert self.type.attribute(context, "x") is None

    def test_physical_id_is_random(self, build_context: ContextBuilder) -> None:
        look = self.type.create(build_context(self.type, {}))
        assert uuid.UUID(look.physical_id).version == 4

    def test_is_never_replaced(self) -> None:
        assert self.type.schema.update_allowed("whatever")
        assert not self.type.needs_replace({}, {"a": 1}, frozenset({"a"}))
