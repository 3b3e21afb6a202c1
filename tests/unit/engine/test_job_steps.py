"""Every step of a job has what each of its consumers needs."""

from __future__ import annotations

import dataclasses

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.planning.job_steps import (
    ChangeKind,
    JobStep,
    MissingResourceEffect,
    StepTraits,
)
from heat_convergence.engine.step_calls import STEP_CALLS
from heat_convergence.testing.sample_rows import resource_row

_RESTRICTABLE = {"update", "replace", None}


@pytest.mark.parametrize("step", JobStep)
def test_every_step_has_a_call_of_the_engine(step: JobStep) -> None:
    assert callable(STEP_CALLS[step])


@pytest.mark.parametrize("step", JobStep)
@pytest.mark.parametrize("desired", DesiredState)
@pytest.mark.parametrize("verb", [Verb.SUSPEND, Verb.RESUME, Verb.CHECK, Verb.SNAPSHOT])
def test_every_step_shows_an_action(step: JobStep, desired: DesiredState, verb: Verb) -> None:
    row = resource_row("a", job=verb, desired=desired, action=Action.UPDATE)
    assert isinstance(step.traits.action(row), Action)


@pytest.mark.parametrize("step", JobStep)
def test_every_step_has_all_traits(step: JobStep) -> None:
    traits = step.traits
    assert isinstance(traits.change_kind, ChangeKind)
    assert isinstance(traits.missing_effect, MissingResourceEffect)
    assert traits.restricted_action in _RESTRICTABLE
    flags = {name: getattr(traits, name) for name in _flag_names()}
    assert all(isinstance(flag, bool) for flag in flags.values()), flags


def _flag_names() -> list[str]:
    return [field.name for field in dataclasses.fields(StepTraits) if field.type == "bool"]


def test_no_trait_has_a_default() -> None:
    missing = dataclasses.MISSING
    fields = dataclasses.fields(StepTraits)
    assert all(field.default is missing for field in fields)
    assert all(field.default_factory is missing for field in fields)


@pytest.mark.parametrize("step", JobStep)
def test_steps_that_remove_are_previewed_as_deletions(step: JobStep) -> None:
    traits = step.traits
    assert traits.removes == (traits.change_kind is ChangeKind.DELETED)
    assert traits.removes == (traits.missing_effect is MissingResourceEffect.DELETED)
    if traits.removes:
        assert traits.action(resource_row("a")) is Action.DELETE


@pytest.mark.parametrize("step", JobStep)
def test_steps_that_store_properties_need_them(step: JobStep) -> None:
    traits = step.traits
    assert traits.needs_properties or not traits.stores_properties
    assert not (traits.only_observes and traits.stores_properties)


@pytest.mark.parametrize(
    ("status", "shown"), [(Status.IN_PROGRESS, Action.CREATE), (Status.COMPLETE, Action.UPDATE)]
)
def test_observation_of_an_unfinished_creation_shows_create(status: Status, shown: Action) -> None:
    row = resource_row("a", action=Action.CREATE, status=status)
    assert JobStep.OBSERVE.traits.action(row) is shown
