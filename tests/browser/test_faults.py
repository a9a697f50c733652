"""What breaks while somebody reads, and that the page goes on by itself: every word there, none twice."""

from playwright.async_api import expect

from tests.browser.conftest import Join
from tests.browser.person import until
from tests.engines.words import said
from tests.rig import Rig

TEXT = "hello [[tokens=400 gap_ms=10]]"
TOKENS = 400


async def test_the_web_process_is_killed_and_comes_back(join: Join, rig: Rig):
    person = await join()
    # Each wait before connecting again is drawn between nothing and a ceiling: draw short ones.
    await person.context.add_init_script("Math.random = () => 0.1")
    tab = await person.tab()
    await tab.ask(TEXT)
    await tab.reads(until(TEXT, 20))
    rig.processes["web"].kill()
    await expect(tab.page.get_by_text("Reconnecting…")).to_be_visible()
    assert await tab.focused() == "Message"
    rig.web()
    await tab.has_exactly(said(TEXT, TOKENS))
    await expect(tab.page.get_by_text("Reconnecting…")).to_be_hidden()


async def test_what_is_sent_while_the_web_is_away_arrives_once(join: Join, rig: Rig):
    person = await join()
    await person.context.add_init_script("Math.random = () => 0.1")
    tab = await person.tab()
    await tab.ask("first")
    await tab.has_exactly(said("first", 40))
    rig.processes["web"].kill()
    await tab.ask("second")
    await expect(tab.page.get_by_text("Reconnecting…")).to_be_visible()
    rig.web()
    await tab.has_exactly(said("second", 40))
    await expect(tab.questions).to_have_count(2)
    await expect(tab.composer).to_have_value("")


async def test_the_dispatcher_is_killed_and_another_goes_on(join: Join, rig: Rig):
    tab = await (await join()).tab()
    await tab.ask(TEXT)
    await tab.reads(until(TEXT, 20))
    rig.processes["d1"].kill()
    rig.dispatcher("d1")
    await tab.has_exactly(said(TEXT, TOKENS))


async def test_a_person_who_waits_is_told_their_place(join: Join, rig: Rig):
    rig.processes["d1"].kill()
    tab = await (await join()).tab()
    await tab.ask("hello")
    await expect(tab.answers.last).to_contain_text("you are next")
    rig.dispatcher("d1")
    await tab.has_exactly(said("hello", 40))
