"""Configuration of the documentation, which ``tox -e docs`` builds.

Warnings are errors: a page outside the table of contents, a broken reference or a malformed
docstring fails the build.
"""

from __future__ import annotations

import re
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

project = "Heat Convergence"
copyright = "the Heat Convergence developers"  # noqa: A001 (the name that Sphinx reads)
release = installed_version("heat-convergence")

extensions = [
    "oslo_config.sphinxext",  # the configuration reference, from the options themselves
    "reno.sphinxext",  # the release notes
    "sphinx.ext.apidoc",  # a page of the API reference for each package
    "sphinx.ext.autodoc",  # the API reference, from the docstrings
    "sphinx.ext.napoleon",  # docstrings in Google style
]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "sidebar_width": "240px"}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}

_DOCS = Path(__file__).parent
_PACKAGE = _DOCS.parent / "heat_convergence"
# The packages that plug-ins use, and those that all others build on.
_DOCUMENTED = ("convergence/model", "convergence/ports", "graph", "resources/protocol", "template")


def _excluded() -> list[str]:
    """Return the packages and modules that the API reference leaves out."""
    documented = {_PACKAGE / each for each in _DOCUMENTED}
    parents = {each.parent for each in documented}
    return sorted(
        str(path)
        for parent in parents
        for path in parent.iterdir()
        if path not in documented | parents and path.name != "__init__.py"
    )


apidoc_modules = [
    {
        "path": str(_PACKAGE),
        "destination": "api/generated",
        "exclude_patterns": _excluded(),
        "max_depth": 2,
        "module_first": True,
    }
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "exclude-members": "__init__, __new__"}
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# Annotations such as ``type`` match several attributes of that name; they are no links.
suppress_warnings = ["ref.python"]
highlight_language = "none"  # literal blocks are commands, diagrams and extracts of all kinds

_PAGE = re.compile(r"[\w/.-]+\.rst")


def _link_pages(app: Sphinx, doctree: nodes.document) -> None:
    """Point links to ``page.rst``, which work in a source browser, to the built page."""
    page = _DOCS / app.env.docname
    for reference in doctree.findall(nodes.reference):
        target = reference.get("refuri", "")
        if _PAGE.fullmatch(target) and (page.parent / target).is_file():
            reference["refuri"] = target.removesuffix(".rst") + ".html"


def setup(app: Sphinx) -> None:
    """Register the handler of links between pages."""
    app.connect("doctree-read", _link_pages)
