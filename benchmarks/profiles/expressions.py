"""The processor time of YAQL expressions in child processes and in this process.

Run by hand: ``python -m benchmarks.profiles.expressions``.  Prints the milliseconds of three
expressions, and of a template of fifty resources with all of them, evaluated in either place;
the ratio of the template's is what the child processes add to a normal evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.profiles.template_engine import template_text
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import StackContext, evaluate_template
from heat_convergence.template.functions import yaql, yaql_evaluation
from heat_convergence.template.limits import TemplateLimits, YaqlCall, YaqlRunner
from heat_convergence.template.template import Template
from tests.fuzz.process_usage import processor_seconds

_RESOURCES = 50
_ROUNDS = 100
_HOSTS: Any = [{"name": f"host-{number}", "ip": f"10.0.0.{number}"} for number in range(20)]
_ROLES: Any = [[f"role-{number % 7}" for number in range(10)] for _ in range(4)]
_EXPRESSIONS: dict[str, tuple[str, Any]] = {
    "count": ("$.data.len()", [1, 2, 3]),
    "map": ("dict($.data.select([$.name, $.ip]))", _HOSTS),
    "distinct": ("coalesce($.data, []).flatten().where($ != null).distinct()", _ROLES),
}


def main() -> None:
    """Print the figures."""
    yaql_evaluation.preload_libraries()
    sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
    runners: tuple[YaqlRunner, ...] = (yaql.InProcessRunner(), sandbox)
    for name, (expression, data) in _EXPRESSIONS.items():
        call = YaqlCall(expression, data, 200, 100_000, 400_000, 1.0)
        _print(name, [_milliseconds(partial(runner.run, call)) for runner in runners])
    text = _template_text()
    _print("template", [_milliseconds(partial(_evaluate, text, runner)) for runner in runners])
    sandbox.close()


def _template_text() -> str:
    """Return a template whose resources have no expressions, and with them as outputs."""
    outputs = "".join(
        f"  {name}: {{value: {{yaql: {{expression: {expression!r}, data: {data!r}}}}}}}\n"
        for name, (expression, data) in _EXPRESSIONS.items()
    )
    return f"{template_text(_RESOURCES)}outputs:\n{outputs}"


def _evaluate(text: str, runner: YaqlRunner) -> None:
    limits = TemplateLimits(yaql_runner=runner, yaql_memory_quota_bytes=100_000)
    template = Template.parse(text, limits=limits)
    evaluate_template(template, Environment(), {}, StackContext("stack", "stack", "project"))


def _milliseconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call, with that of child processes."""
    work()
    started_s = processor_seconds()
    for _ in range(_ROUNDS):
        work()
    return (processor_seconds() - started_s) / _ROUNDS * 1000


def _print(name: str, milliseconds: list[float]) -> None:
    here, child = milliseconds
    print(f"{name}: {here:.2f} ms in this process, {child:.2f} ms in a child, {child / here:.2f}")


if __name__ == "__main__":
    main()
