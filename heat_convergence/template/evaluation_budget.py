"""The steps that one evaluation may take.

Opened by whatever evaluates a template or a value, and charged by everything that does work
for it: the reader of documents, the evaluator for the template itself and for the arguments
and the result of each call, functions before they multiply anything, conditions, constraints
and hints.  Decides what an amount of work counts.
Must not read a clock: the same template always ends at the same place.

A step stands for about a microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.common.evaluation.evaluation_guard import check_no_locks_held
from heat_convergence.template.expression import Expression
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits, YaqlResult

STEPS_PER_SECOND = 1_000_000
EVALUATIONS_PER_REQUEST = 3  # that use all of their steps
CHARS_PER_STEP = 512  # to copy, compare or hash
SLOW_CHARS_PER_STEP = 4  # to parse or to escape, one character at a time
STEPS_PER_TEXT = 3  # to write a value as JSON, apart from its members
STEPS_PER_NODE = 3  # to evaluate, check and store a part of a template; twice for a map or list
STEPS_PER_RESOURCE = 60  # to check and store a resource without its sections
STEPS_PER_WAITING_CALL = 30  # to check and store a call that waits for a resource
STEPS_PER_DEPENDENCY = 20  # to check and store that a resource needs another
ENTRIES_PER_STEP = 4  # of a map, to look at
_MIN_SEARCHED_CHARS = 128
_MAX_COMPARED_CHARS = 512
_MAX_HINTS = 10
_SHORT_WAIT_S = 0.05  # for one expression; not charged
_LEAVES = frozenset({str, int, float, bool, type(None)})


class RequestBudget:
    """The work of all evaluations of one request together.

    Attributes:
        steps_left: The steps that the request may still take.
        yaql_seconds_left: The processor time that YAQL expressions may still take.
        yaql_wall_seconds_left: The time by the clock that the request may still wait for them.
    """

    def __init__(self, limits: TemplateLimits) -> None:
        self._max_steps = EVALUATIONS_PER_REQUEST * limits.max_evaluation_steps
        self.steps_left = self._max_steps
        self.yaql_seconds_left = limits.yaql_max_seconds
        self.yaql_wall_seconds_left = limits.yaql_max_wall_seconds

    def charge(self, steps: int) -> None:
        """Account for work of one evaluation; raises ``RequestLimitExceeded``."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise RequestLimitExceeded(
                "Reading and evaluating the templates of the request takes more than"
                f" {self._max_steps} steps together (max_template_evaluation_steps)"
            )

    def charge_yaql(self, seconds: float, wall_seconds: float) -> None:
        """Account for an expression; a short wait is that of a busy machine."""
        self.yaql_seconds_left -= seconds
        self.yaql_wall_seconds_left -= max(0.0, wall_seconds - _SHORT_WAIT_S)
        self.charge(round(seconds * STEPS_PER_SECOND))


class EvaluationBudget:
    """The work, text and programs of users that one evaluation may still take.

    Attributes:
        limits: The limits that the budget started with.
        location: The part of the template or request that is being evaluated, for errors.
    """

    def __init__(self, limits: TemplateLimits, request: RequestBudget | None = None) -> None:
        self.limits = limits
        self._request = request
        self.location: tuple[str | int, ...] = ()
        self.hints_left = _MAX_HINTS
        self.yaql_steps_left = limits.yaql_max_steps
        self._yaql_seconds_left = limits.yaql_max_seconds
        self.steps_left = limits.max_evaluation_steps
        self._size_left = limits.max_result_size

    def charge(self, steps: int) -> None:
        """Account for work, before it is done wherever it may multiply.

        Raises:
            RequestLimitExceeded: The work exceeds what is left.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            raise RequestLimitExceeded(
                f"The evaluation takes more than {self.limits.max_evaluation_steps} steps"
                " (max_template_evaluation_steps)"
            )
        if self._request is not None:
            self._request.charge(steps)

    @property
    def yaql_seconds_left(self) -> float:
        """The processor time that expressions of this evaluation may still take."""
        if self._request is None:
            return self._yaql_seconds_left
        return min(self._yaql_seconds_left, self._request.yaql_seconds_left)

    @property
    def yaql_wall_seconds_left(self) -> float | None:
        """The time by the clock that a request may still wait; None outside of requests."""
        return None if self._request is None else self._request.yaql_wall_seconds_left

    def charge_yaql(self, result: YaqlResult) -> None:
        """Account for an expression that was evaluated outside of this process."""
        self.yaql_steps_left = result.steps_left
        self._yaql_seconds_left -= result.seconds
        if self._request is not None:
            self._request.charge_yaql(result.seconds, result.wall_seconds)

    def charge_value(self, value: Any) -> bool:
        """Account for a value with all its members; a shared member counts each time.

        Returns:
            Whether the value is known: it contains no expression.
        """
        if type(value) in _LEAVES:
            if type(value) is str and len(value) >= CHARS_PER_STEP:
                self.charge(len(value) // CHARS_PER_STEP)
            return True
        steps, known = _measure(value, self.steps_left)
        self.charge(steps)
        return known

    def charge_repeated(self, value: Any, times: int) -> None:
        """Account for a value that is about to be copied or searched so many times."""
        self.charge(times * _measure(value, self.steps_left)[0])

    def charge_section(self, content: Any) -> None:
        """Account for a part of a template with all its members, before it is evaluated."""
        self.charge(STEPS_PER_NODE * _measure(content, self.steps_left, per_container=1)[0])

    def covers_section(self, text: bytes) -> bool:
        """Return whether ``charge_section`` is known to be within what is left, by the JSON.

        Quicker than counting: each member follows a comma or the beginning of its container,
        wherever else these characters stand.
        """
        containers = text.count(b"{") + text.count(b"[")
        most = 1 + text.count(b",") + 2 * containers + 2 * (len(text) // CHARS_PER_STEP)
        return STEPS_PER_NODE * most <= self.steps_left

    def charge_search(self, text: str, part: str) -> None:
        """Account for the search of a part in a text, before it is made.

        Wherever the last character of the part stands, its other characters are compared.
        """
        if len(text) < _MIN_SEARCHED_CHARS:
            return
        compared = text.count(part[-1]) * min(len(part), _MAX_COMPARED_CHARS) if part else 0
        self.charge((len(text) + compared) // CHARS_PER_STEP)

    def charge_text(self, size: int) -> None:
        """Account for the characters of new text, which take memory as well as work."""
        self._size_left -= size
        if self._size_left < 0:
            raise RequestLimitExceeded(
                "The output of the template's functions is larger than"
                f" {self.limits.max_result_size} characters"
            )
        self.charge(size // CHARS_PER_STEP)


def _measure(value: Any, cap: int, per_container: int = 0) -> tuple[int, bool]:
    """Return the steps that a value counts, and whether it contains no expression.

    A value of more than ``cap`` steps is not followed to its end. A map or list counts
    ``per_container`` steps more than any other member.
    """
    steps, known = 1, True
    stack = [value]
    while stack and steps <= cap:
        node = stack.pop()
        if type(node) is dict:
            members: Any = node.values()
            steps += sum(map(len, node)) // CHARS_PER_STEP + per_container
        elif type(node) is list or type(node) is tuple:
            members = node
            steps += per_container
        elif type(node) is Expression:
            known, members = False, (node.arguments,)
        else:  # a text, a map or list of another type, or a marker
            members = ()
            steps += len(node) // CHARS_PER_STEP if type(node) is str else 0
        steps += len(members)
        for member in members:
            if type(member) not in _LEAVES or (
                type(member) is str and len(member) >= CHARS_PER_STEP
            ):
                stack.append(member)
    return steps, known


_REQUEST: ContextVar[RequestBudget | None] = ContextVar("request_budget", default=None)
_BUDGET: ContextVar[EvaluationBudget | None] = ContextVar("evaluation_budget", default=None)


@contextmanager
def request_budget(limits: TemplateLimits) -> Iterator[None]:
    """Bound all evaluations in the block together, for a request with many templates."""
    token = _REQUEST.set(RequestBudget(limits))
    try:
        yield
    finally:
        _REQUEST.reset(token)


@contextmanager
def evaluation_budget(limits: TemplateLimits) -> Iterator[EvaluationBudget]:
    """Share one budget among all work in the block; a nested block uses the outer one's."""
    check_no_locks_held("evaluation")
    outer = _BUDGET.get()
    if outer is not None:
        yield outer
        return
    budget = EvaluationBudget(limits, _REQUEST.get())
    token = _BUDGET.set(budget)
    try:
        yield budget
    finally:
        _BUDGET.reset(token)


def charge_if_bounded(steps: int) -> None:
    """Account for work that is also done outside of evaluations and requests."""
    budget = _BUDGET.get() or _REQUEST.get()
    if budget is not None:
        budget.charge(steps)


def has_steps_left() -> bool:
    """Return whether the evaluation and the request in progress have not exceeded their steps."""
    return all(
        budget is None or budget.steps_left >= 0 for budget in (_BUDGET.get(), _REQUEST.get())
    )


def current_budget() -> EvaluationBudget:
    """Return the budget of the evaluation in progress; outside of one, a new budget."""
    check_no_locks_held("evaluation")
    return _BUDGET.get() or EvaluationBudget(DEFAULT_LIMITS, _REQUEST.get())
