"""Limits on the size and cost of reading and evaluating a template.

Read by the loader, the evaluator and the functions.  Built by the daemons from their
options and passed in by the caller that parses.  Must not read options itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class YaqlCall:
    """A YAQL expression with its data, and what its evaluation may take.

    Attributes:
        max_seconds: The processor time.
        max_wall_seconds: The time by the clock; None where nobody waits for the answer.
        syntax_only: Whether the expression is parsed and not evaluated.
    """

    expression: str
    data: Any
    limit_iterators: int
    memory_quota_bytes: int
    max_steps: int
    max_seconds: float
    max_wall_seconds: float | None = None
    syntax_only: bool = False


@dataclass(frozen=True, slots=True)
class YaqlResult:
    """The value of an expression, or the reason why it has none.

    Attributes:
        seconds: The processor time that it took.
        wall_seconds: The time by the clock that the caller waited.
    """

    value: Any
    error: str | None = None
    steps_left: int = 0
    seconds: float = 0.0
    wall_seconds: float = 0.0


class YaqlRunner(Protocol):
    """Evaluates YAQL expressions where they can be stopped."""

    def run(self, call: YaqlCall) -> YaqlResult:
        """Return the value of the expression, or the reason why it has none."""


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """Limits for one template; sizes are in characters unless the name has another unit.

    Attributes:
        max_nodes: Maps, lists and scalars after aliases are expanded.
        max_expanded_size: Characters of the scalars after aliases are expanded.
        max_evaluation_steps: The work of one evaluation, of a template with its conditions and
            definitions or of one value that is read later; a step is about a microsecond.
            Steps, unlike a clock, are reproducible.
        max_result_size: The characters of new text of all functions in one evaluation.
        yaql_max_steps: Function calls of all YAQL expressions of a template together; a
            step takes about 25 microseconds.
        yaql_max_seconds: The processor time of all YAQL expressions of a request, a job, or a
            value that is read together, where ``yaql_runner`` enforces it.
        yaql_max_wall_seconds: The time by the clock that a request waits for its expressions.
        yaql_runner: Evaluates expressions in processes that can be killed.  None evaluates
            them in this process, where only steps are counted: for trusted templates.
        regex_timeout_s: The time that one match of a regular expression may take; a slow one
            counts as many steps as it takes microseconds.
    """

    max_template_size: int = 524_288
    max_depth: int = 100
    max_nodes: int = 500_000
    max_expanded_size: int = 16_777_216
    max_evaluation_steps: int = 500_000
    max_result_size: int = 67_108_864
    max_diagnostics: int = 50
    yaql_limit_iterators: int = 200
    yaql_memory_quota_bytes: int = 10_000
    yaql_max_steps: int = 400_000
    yaql_max_expression_size: int = 65_536
    yaql_max_seconds: float = 1.0
    yaql_max_wall_seconds: float = 1.5
    yaql_runner: YaqlRunner | None = field(default=None, compare=False)
    regex_timeout_s: float = 0.2


DEFAULT_LIMITS = TemplateLimits()
