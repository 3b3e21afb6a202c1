"""Chromium, as the tests of the console drive it.

The browser is the system's package; a test is skipped where there is none, and fails where the
environment has ``CI=true``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.conftest import fail_or_skip

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
SCREENSHOTS = os.environ.get("HEAT_CONVERGENCE_TEST_SCREENSHOTS", "")
TIMEOUT_MS = 20_000
# Outside a container the sandbox needs privileges that tests do not have.
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
# A browser protects services on loopback from other sites by itself; others it does not.
_ARGUMENTS.append("--disable-features=LocalNetworkAccessChecks")


@contextmanager
def launched_chromium() -> Iterator[Browser]:
    """Yield a browser, or skip or fail the test where there is none."""
    found = next(filter(None, map(shutil.which, EXECUTABLES)), None)
    if found is None:
        fail_or_skip("Chromium", f"none of {', '.join(EXECUTABLES)} is installed")
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        yield browser
        browser.close()


class RecordedPage:
    """A page, and what it wrote to the console of the browser.

    Attributes:
        page: The page.
        errors: Errors and violations of the page's policy; a test ends with none.
        hosts: The hosts that the page sent requests to.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(TIMEOUT_MS)
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", self._record)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def _record(self, message: Any) -> None:
        # The browser itself writes a line about each refused request.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(f"{message.text} {message.location.get('url', '')}")

    def open(self, url: str) -> Page:
        """Open an address, and mark the page so that a reload shows."""
        self.page.goto(url)
        self.page.evaluate("window.markedByTest = true")
        return self.page

    @property
    def was_reloaded(self) -> bool:
        """True if the page is not the one that was opened."""
        return not self.page.evaluate("window.markedByTest === true")


def drop_files(page: Page, selector: str, files: dict[str, str]) -> None:
    """Drop files on an element, as from a file manager."""
    transfer = page.evaluate_handle(
        """files => {
            const transfer = new DataTransfer();
            for (const [name, text] of Object.entries(files)) {
                transfer.items.add(new File([text], name));
            }
            return transfer;
        }""",
        files,
    )
    page.dispatch_event(selector, "drop", {"dataTransfer": transfer})


def take_screenshot(page: Page, name: str) -> None:
    """Keep a picture of the page if the environment names a folder for it."""
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")


@contextmanager
def recorded_page(chromium: Browser) -> Iterator[RecordedPage]:
    """Yield a page that must end without errors."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = RecordedPage(context)
    yield page
    context.close()
    assert page.errors == []
