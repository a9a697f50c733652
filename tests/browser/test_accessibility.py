"""The page without a mouse and without eyes: keys, focus, what is announced, and axe's rules."""

from functools import cache
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Join
from tests.browser.person import until
from tests.engines.process import FakeEngine
from tests.engines.words import said
from tests.rig import ROOT

LONG = "hello [[tokens=200 gap_ms=10]]"
MARKDOWN = (
    "# Title\n\nSome *words* and `code`.\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```python\nprint(1)\n```\n"
)


async def test_a_chat_by_keyboard_alone(join: Join):
    tab = await (await join()).tab()
    keyboard = tab.page.keyboard
    await expect(tab.composer).to_be_focused()
    await tab.announcements()
    await keyboard.type(LONG)
    await keyboard.press("Shift+Enter")
    await keyboard.type("please")
    await keyboard.press("Enter")
    text = f"{LONG}\nplease"
    await tab.reads(until(text, 5))
    await expect(tab.composer).to_be_focused()
    await keyboard.type("next")
    await keyboard.press("Tab")
    assert await tab.focused() == "Stop the answer"
    await keyboard.press("Escape")
    await expect(tab.answers.last.get_by_text("Stopped.")).to_be_visible()
    await expect(tab.composer).to_have_value("next")
    assert await tab.announcements() == ["Answering", "Stopped."]

    await tab.composer.focus()
    await keyboard.press("Enter")
    await tab.has_exactly(said("next", 40))
    await expect(tab.composer).to_be_focused()
    assert (await tab.announcements())[2:] == ["Answering", "Answer finished"]


async def test_the_order_of_the_tab_key(join: Join):
    tab = await (await join()).tab()
    await tab.ask("hello")
    await tab.has_exactly(said("hello", 40))
    await tab.page.reload()
    await tab.has_exactly(said("hello", 40))
    await expect(tab.composer).to_be_focused()
    seen = []
    for _ in range(5):
        await tab.page.keyboard.press("Shift+Tab")
        seen.append(await tab.focused())
    assert seen == ["Answer again", "Copy answer", "Edit message", "Copy message", "Log out"]
    await tab.page.get_by_role("link", name="Skip to the message field").focus()
    await tab.page.keyboard.press("Enter")
    await expect(tab.composer).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious(visit: Join, join: Join, engine: FakeEngine, scheme: Any):
    engine.control(script=MARKDOWN)
    door = await (await visit()).tab("/login")
    await door.page.emulate_media(color_scheme=scheme)
    await expect(door.page.get_by_label("Email")).to_be_focused()
    assert await serious(door.page) == []
    await door.page.get_by_role("link", name="Create an account").click()
    assert await serious(door.page) == []

    tab = await (await join()).tab()
    await tab.page.emulate_media(color_scheme=scheme)
    await expect(tab.composer).to_be_focused()
    assert await serious(tab.page) == []
    await tab.ask("hello")
    await tab.reads("print(1)")
    await expect(tab.stop).to_be_hidden()
    assert await serious(tab.page) == []


async def serious(page: Page) -> list[str]:
    """What axe-core finds that keeps people out, in words."""
    session = await page.context.new_cdp_session(page)
    await session.send("Runtime.evaluate", {"expression": _axe()})  # no script element: the policy stays
    found = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]


@cache
def _axe() -> str:
    return (ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js").read_text()
