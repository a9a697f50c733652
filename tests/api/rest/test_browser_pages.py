"""The admin and the API page in a real browser: their scripts run under the content security policy."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, sync_playwright

from tests.factories.accounts import PASSWORD, make_staff

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def page(complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    # Playwright runs an event loop in this thread, which Django's ORM would take for async code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

    def keep(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            complaints.append(message.text)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--no-first-run"]
        )
        page = browser.new_page()
        page.on("console", keep)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        browser.close()


def test_the_admin_works_under_the_policy(live_server: Any, page: Page, complaints: list[str]) -> None:
    make_staff("boss@example.org")
    page.goto(f"{live_server.url}/admin/")
    page.fill("input[name=username]", "boss@example.org")
    page.fill("input[name=password]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url("**/admin/")
    for where in ["accounts/user/", "accounts/user/add/", "accounts/organisation/add/", "chat/generation/"]:
        page.goto(f"{live_server.url}/admin/{where}")
        # Alpine takes the attribute off when it has started.
        page.wait_for_function("!document.documentElement.hasAttribute('x-cloak')")
    assert complaints == []


def test_the_api_page_works_under_the_policy(live_server: Any, page: Page, complaints: list[str]) -> None:
    page.goto(f"{live_server.url}/api/v1/docs")
    page.wait_for_selector("[data-path='/api/v1/turns']")
    assert complaints == []
