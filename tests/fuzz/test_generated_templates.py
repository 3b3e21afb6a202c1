"""Templates made by a grammar: documented errors alone, and the same result when stored."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import partial
from random import Random
from typing import Any

import pytest

from heat_convergence.common.errors import Error
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import (
    MissingParameters,
    evaluate_template,
    resolve_value,
)
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.template_versions import KNOWN_FUNCTIONS, TEMPLATE_VERSIONS
from heat_convergence.template.template import Template
from tests.fuzz.json_mutations import mutated
from tests.fuzz.template_grammar import TemplateGrammar
from tests.unit.template.template_helpers import STACK_CONTEXT, FakeResourceValues

SEED = int(os.environ.get("HEAT_CONVERGENCE_TEST_FUZZ_SEED", "15"))
TEMPLATES = int(os.environ.get("HEAT_CONVERGENCE_TEST_FUZZ_TEMPLATES", "400"))
# Few steps of YAQL: its expressions have a test of their own.
LIMITS = TemplateLimits(max_result_size=50_000, yaql_max_steps=300)
VALUES = FakeResourceValues(
    {
        f"r{number}": {"value": "v", "output": "o", "refs": ["a"], "o": {"a": 1}}
        for number in range(5)
    }
)


def text_of(error: Error) -> str:
    assert error.http_status == 400
    assert str(error)
    str(error).encode()
    return type(error).__name__


def evaluated(request: dict[str, Any], missing: MissingParameters) -> Any:
    return evaluate_template(
        Template.parse(request["template"], limits=LIMITS),
        Environment.parse(request["environment"]),
        request["files"],
        STACK_CONTEXT,
        EvaluationOptions(missing_parameters=missing),
    )


def outcome_of(request: dict[str, Any], missing: MissingParameters) -> str:
    """Evaluate, store, load and resolve a template; return how that ended."""
    try:
        result = evaluated(request, missing)
    except Error as error:
        return text_of(error)
    for definition in result.definitions.values():
        stored = json.loads(json.dumps(definition.dump()))
        assert type(definition).load(definition.name, stored) == definition
    values = [definition.properties for definition in result.definitions.values()]
    for value in [*values, *(output.value for output in result.outputs.values())]:
        try:
            resolved = partial(resolve_value, value, VALUES, limits=LIMITS)()
            json.dumps(resolved, allow_nan=False).encode()
        except Error as error:
            text_of(error)
    return "evaluated"


@pytest.mark.parametrize("missing", MissingParameters)
def test_generated_templates_raise_documented_errors_alone(missing: MissingParameters) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(TEMPLATES):
        try:
            outcomes[
                outcome_of(TemplateGrammar(Random(f"{SEED}:{number}")).request(), missing)
            ] += 1
        except Exception as error:
            raise AssertionError(f"Random('{SEED}:{number}')") from error
    assert outcomes["evaluated"] > TEMPLATES / 3, outcomes


def is_accepted_by_the_api(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return isinstance(document, dict | str)


def test_mutated_generated_templates_raise_documented_errors_alone() -> None:
    for number in range(TEMPLATES):
        random = Random(f"{SEED}:m:{number}")
        request = TemplateGrammar(random).request()
        request[random.choice(("template", "environment"))] = changed = mutated(
            request[random.choice(("template", "environment"))], random
        )
        if not is_accepted_by_the_api(changed):
            continue
        try:
            outcome_of(request, MissingParameters.REJECT)
        except Exception as error:
            raise AssertionError(f"Random('{SEED}:m:{number}')") from error


def test_grammar_uses_every_function_and_version() -> None:
    texts = [json.dumps(TemplateGrammar(Random(number)).template()) for number in range(1_500)]
    together = "\n".join(texts)
    assert {name for name in KNOWN_FUNCTIONS if f'"{name}":' not in together} == set()
    assert {v.date for v in TEMPLATE_VERSIONS.values() if f'"{v.date}"' not in together} == set()
