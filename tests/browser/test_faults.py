"""What breaks while somebody reads, and that the page goes on by itself: every word there, none twice."""

import re

from playwright.async_api import expect

from tests.browser.conftest import Join
from tests.browser.person import until
from tests.engines.words import said
from tests.rig import Rig

TEXT = "hello [[tokens=300 gap_ms=10]]"
TOKENS = 300


async def test_the_web_process_is_killed_and_comes_back(join: Join, rig: Rig):
    person = await join()
    # Each wait before connecting again is drawn between nothing and a ceiling: draw short ones.
    await person.context.add_init_script("Math.random = () => 0.02")
    reading, writing = await person.tab(), await person.tab()
    await reading.ask(TEXT)
    await reading.reads(until(TEXT, 20))
    rig.processes["web"].kill()
    away = [tab.page.get_by_text("Reconnecting…") for tab in (reading, writing)]
    await expect(away[0]).to_be_visible()
    await expect(away[1]).to_be_visible()
    assert await reading.focused() == "Message"
    await writing.ask("while it is away")
    rig.web()
    await reading.has_exactly(said(TEXT, TOKENS))
    await writing.has_exactly(said("while it is away", 40))
    await expect(away[0]).to_be_hidden()
    await expect(writing.questions).to_have_count(1)
    await expect(writing.composer).to_have_value("")
    await expect(writing.chats).to_have_count(2)


async def test_the_dispatcher_is_killed_and_another_goes_on(join: Join, rig: Rig):
    person = await join()
    reading, waiting = await person.tab(), await person.tab()
    await reading.ask(TEXT)
    await reading.reads(until(TEXT, 20))
    rig.processes["d1"].kill()
    await waiting.ask("hello")
    # Which of the two depends on whether another dispatcher on these stores has put the broken answer back by now.
    await expect(waiting.answers.last).to_contain_text(re.compile("you are next|1 answer before yours"))
    rig.dispatcher("d1")
    await reading.has_exactly(said(TEXT, TOKENS))
    await waiting.has_exactly(said("hello", 40))
