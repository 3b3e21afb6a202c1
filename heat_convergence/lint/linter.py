"""The linter: files to findings, by the service's own validation and by advice.

Called by ``heat-convergence lint`` and by the API. Decides what kind of document a file is.
Parameters without a value are unknown: what they decide counts as valid. Must not ask any service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.errors import Error, InvalidTemplateVersion
from heat_convergence.lint import rules
from heat_convergence.lint.advice import declarations, resources
from heat_convergence.lint.duplicate_keys import DuplicateKey, find_duplicate_keys
from heat_convergence.lint.environments import EnvironmentFiles, check_environment
from heat_convergence.lint.finding import DisabledRules, LintFinding
from heat_convergence.lint.linted_template import Advice, LintedTemplate, path_of
from heat_convergence.lint.referenced_files import DiskFiles, FileSource, ReferencedFiles
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.stacks.goal.desired_resources import resolve_implementations
from heat_convergence.stacks.goal.goal_builder import GoalBuilder, TemplateInputs
from heat_convergence.stacks.goal.nested_validation import (
    NestedStackValidator,
    with_unknown_parameters,
)
from heat_convergence.stacks.goal.validation_target import ValidationOptions, ValidationTarget
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.diagnostics import (
    Diagnostic,
    Diagnostics,
    error_text,
)
from heat_convergence.template.environment.environment import ENVIRONMENT_SECTIONS, Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.parameters.parameter_values import StackContext
from heat_convergence.template.parsing.document_loader import Document, load_document
from heat_convergence.template.parsing.template_versions import VERSION_KEYS
from heat_convergence.template.template import Template

Json = Any
_ADVICE: tuple[Callable[[LintedTemplate], Iterator[Advice]], ...] = (
    declarations.unused_parameters,
    declarations.unused_conditions,
    declarations.unused_mappings,
    declarations.shown_secrets,
    resources.deprecated_types,
    resources.literal_ids,
    resources.needless_dependencies,
    resources.replacing_properties,
)
_STACK = StackContext("00000000-0000-4000-8000-000000000000", "stack", "project", "region")
_FIRST = (1, 1)
_NESTED_POSITION = re.compile(r" \((at [^()]*, )?line \d+, column \d+ there\)")


@dataclass(frozen=True, slots=True)
class LintedDocument:
    """A file to check: its name for the user, its folder, its text and its data."""

    name: str
    folder: Path
    document: Document

    def findings(self, found: Iterable[Advice]) -> list[LintFinding]:
        """Return what was found with its positions in the text."""
        listed = list(found)
        positions = self.document.find_positions({each.path for each in listed if each.path})
        return [
            LintFinding(self.name, *positions.get(each.path, _FIRST), each.rule, each.message)
            for each in listed
        ]


@dataclass(slots=True)
class Linter:
    """The checks of one run.

    Attributes:
        services: What templates are evaluated with; no service of the cloud is needed.
        environment: The environment files and parameter values of the user, for every template.
        disabled: Ids of the rules that are off.
        source: Where the files are that templates and environments name.
    """

    services: StackServices
    environment: EnvironmentFiles = field(default_factory=EnvironmentFiles)
    disabled: Collection[str] = ()
    source: FileSource = field(default_factory=DiskFiles)

    def lint(
        self, name: str, text: str, folder: Path, *, is_requested: bool = True
    ) -> list[LintFinding]:
        """Return the findings of one file, in the order of their places.

        Args:
            name: The file, as messages name it.
            text: Its content.
            folder: The folder to which the names in it are relative.
            is_requested: Whether the user names the file itself; a file that was found in a
                folder has findings only if it is a template or an environment.
        """
        try:
            loaded = load_document(text, limits=self.services.limits, document_type="file")
            document = LintedDocument(name, folder, loaded)
        except Error as error:
            is_meant = is_requested or any(key in text for key in VERSION_KEYS)
            return self._enabled(text, [_unreadable(name, error)] if is_meant else [])
        data = document.document.data
        if is_environment(data):
            files = ReferencedFiles(self.source)
            found = document.findings(check_environment(document.document, folder, files))
        elif not is_requested and not is_template(data):
            return []
        else:
            found = document.findings(self._check_template(document))
        found += [_duplicate(name, each) for each in find_duplicate_keys(text)]
        shortened = [replace(each, message=_shorten(each.message, folder)) for each in found]
        return self._enabled(text, shortened)

    def _enabled(self, text: str, findings: Iterable[LintFinding]) -> list[LintFinding]:
        on = [each for each in findings if each.rule.id not in self.disabled]
        return sorted(DisabledRules(text).without_disabled(on), key=lambda each: each.sort_key)

    def _check_template(self, linted: LintedDocument) -> Iterator[Advice]:
        files = ReferencedFiles(self.source)
        try:
            template = Template.parse(
                linted.document.text or "", limits=self.services.limits, section_error=None
            )
            environment = self.environment.load(files, template, self.services.global_environment)
        except Error as error:
            rule = (
                rules.VERSION if isinstance(error, InvalidTemplateVersion) else rules.ENVIRONMENT
            )
            yield Advice(rule, (), error.message)
            return
        resolved = files.resolve_template(template.raw, linted.folder)
        template = replace(template, document=Document(resolved, template.document.text))
        for each in files.unreadable:
            yield Advice(rules.UNREADABLE_REFERENCE, each.path, each.message)
        yield from self._validate(template, environment, files)

    def _validate(
        self, template: Template, environment: Environment, files: ReferencedFiles
    ) -> Iterator[Advice]:
        diagnostics = template.new_diagnostics()
        template.add_section_errors(diagnostics)
        evaluated: EvaluatedTemplate | None = None
        defects: list[Advice] = []

        def failed(_error: Exception, error_id: str) -> EvaluatedTemplate | None:
            defects.append(_check_failed("validation", error_id))
            return None

        boundary = ErrorBoundary(BoundaryName.LINT_RULE, self.services.errors, (Error,))
        try:
            evaluated = boundary.run(
                lambda: self._evaluate(template, environment, files.texts, diagnostics), failed
            )
            yield from defects
        except Error as error:
            yield Advice(rules.FUNCTION, path_of(error), error.message)
        for each in diagnostics.sorted_by_phase():
            yield _mistake(each, files.rewritten)
        yield from self._advice(template, environment, evaluated)

    def _evaluate(
        self,
        template: Template,
        environment: Environment,
        texts: Mapping[str, str],
        diagnostics: Diagnostics,
    ) -> EvaluatedTemplate:
        builder = GoalBuilder(self.services)
        files = TemplateFiles.from_texts(texts, self.services.template_cache)
        inputs = TemplateInputs(
            template, with_unknown_parameters(template, environment), files, _STACK
        )
        evaluated = builder.evaluate(
            inputs, diagnostics=diagnostics, functions=builder.preview_functions
        )
        target = ValidationTarget.from_evaluated(evaluated, environment, files, 0)
        options = ValidationOptions(allow_absent_services=True)
        NestedStackValidator(builder, _STACK, None, options).validate(target, diagnostics)
        return evaluated

    def _advice(
        self, template: Template, environment: Environment, evaluated: EvaluatedTemplate | None
    ) -> Iterator[Advice]:
        definitions = {} if evaluated is None else evaluated.definitions
        linted = LintedTemplate(
            template,
            self.services.registry,
            resolve_implementations(definitions, environment),
            evaluated,
        )
        boundary = ErrorBoundary(BoundaryName.LINT_RULE, self.services.errors)
        for find in _ADVICE:
            yield from boundary.run(
                partial(_list_advice, find, linted), partial(_as_finding, find.__name__)
            )


def _list_advice(
    find: Callable[[LintedTemplate], Iterator[Advice]], linted: LintedTemplate
) -> list[Advice]:
    return list(find(linted))


def _as_finding(name: str, _error: Exception, error_id: str) -> list[Advice]:
    return [_check_failed(name.replace("_", " "), error_id)]


def _check_failed(name: str, error_id: str) -> Advice:
    message = f"The check of {name} has failed, error id {error_id}."
    return Advice(rules.CHECK_FAILED, (), message)


def is_template(data: Json) -> bool:
    """Return whether a document means to be a template."""
    return isinstance(data, dict) and any(key in data for key in VERSION_KEYS)


def is_environment(data: Json) -> bool:
    """Return whether a document means to be an environment."""
    return (
        isinstance(data, dict)
        and not is_template(data)
        and any(name in data for name in ENVIRONMENT_SECTIONS)
        and not {"resources", "Resources"} & data.keys()
    )


def _mistake(diagnostic: Diagnostic, rewritten: Collection[str]) -> Advice:
    message = error_text(diagnostic.prefix, diagnostic.path, diagnostic.error.message)
    if any(f"<{url}>" in message for url in rewritten):
        message = _NESTED_POSITION.sub("", message)  # of a text that is in no file
    return Advice(rules.RULES_BY_PHASE[diagnostic.phase], diagnostic.source_path, message)


def _duplicate(name: str, key: DuplicateKey) -> LintFinding:
    message = f'The key "{key.name}" stands in line {key.first_line} already; this value counts.'
    return LintFinding(name, key.line, key.column, rules.DUPLICATE_KEY, message)


def _unreadable(name: str, error: Error) -> LintFinding:
    mark = getattr(error.__cause__, "problem_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else _FIRST
    return LintFinding(name, line, column, rules.UNREADABLE, error.message)


def _shorten(message: str, folder: Path) -> str:
    """Return a message with the names of files as the template has them."""
    return message.replace(f"{folder.resolve().as_uri()}/", "")
