"""What a person sees of an answer, from signing up to the last word, whatever they do to the tab meanwhile."""

from playwright.async_api import expect

from tests.browser.conftest import Join
from tests.browser.person import until
from tests.engines.process import FakeEngine
from tests.engines.words import said
from tests.factories.accounts import PASSWORD
from tests.rig import wait_for

LONG = "hello [[tokens=200 gap_ms=10]]"
TOKENS = 200


async def test_from_signing_up_to_a_second_chat(visit: Join):
    person = await visit()
    tab = await person.tab()
    await expect(tab.page).to_have_url("/login")
    await tab.page.get_by_role("link", name="Create an account").click()
    await tab.page.get_by_label("Email").fill("ada@example.org")
    await tab.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await tab.page.get_by_role("button", name="Create account").click()

    await tab.ask(LONG)
    await tab.reads(until(LONG, 5))
    early = await tab.words()
    await tab.reads(until(LONG, 50))
    assert len(await tab.words()) > len(early)
    await tab.is_answering()
    address = tab.page.url
    await tab.page.close()

    tab = await person.tab(address)
    await tab.has_exactly(said(LONG, TOKENS))
    await tab.page.get_by_role("link", name="New chat").first.click()
    await tab.ask("another one")
    await tab.has_exactly(said("another one", 40))
    await expect(tab.chats).to_have_count(2)
    await tab.chats.last.click()
    await expect(tab.page).to_have_url(address)
    await tab.has_exactly(said(LONG, TOKENS))
    await tab.ask("and more")
    await tab.has_exactly(said("and more", 40))
    await expect(tab.answers).to_have_count(2)


async def test_a_reload_in_mid_answer_shows_it_from_the_first_word_on(join: Join):
    person = await join()
    tab = await person.tab()
    await tab.ask(LONG)
    await tab.reads(until(LONG, 30))
    await tab.page.reload()
    await tab.reads(until(LONG, 0))
    await tab.is_answering()
    assert said(LONG, TOKENS).strip().startswith(await tab.words())
    await tab.has_exactly(said(LONG, TOKENS))


async def test_two_tabs_read_the_same_answer_and_a_third_stays_where_it_is(join: Join):
    person = await join()
    one = await person.tab()
    await one.ask("first")
    await one.has_exactly(said("first", 40))
    two = await person.tab(one.page.url)
    other = await person.tab()
    await other.ask("elsewhere")
    await other.has_exactly(said("elsewhere", 40))

    await one.ask(LONG)
    await one.reads(until(LONG, 5))
    await two.reads(until(LONG, 5))
    await one.has_exactly(said(LONG, TOKENS))
    await two.has_exactly(said(LONG, TOKENS))
    await expect(two.questions).to_have_count(2)
    await expect(other.answers).to_have_count(1)
    assert await other.words() == said("elsewhere", 40).strip()


async def test_stop_keeps_what_is_there_and_continue_goes_on_from_it(join: Join, engine: FakeEngine):
    tab = await (await join()).tab()
    await tab.ask(LONG)
    await tab.reads(until(LONG, 20))
    await tab.stop.click()
    await expect(tab.answers.last.get_by_text("Stopped.")).to_be_visible()
    wait_for(lambda: engine.calls_for(LONG)[0]["ended"] == "client_closed", "the engine to be left alone")
    assert said(LONG, TOKENS).strip().startswith(await tab.words())
    await tab.page.get_by_role("button", name="Continue").click()
    await tab.has_exactly(said(LONG, TOKENS))


async def test_a_failed_answer_says_so_and_retry_gets_one(join: Join):
    text = "hello [[status=500 times=3]]"
    tab = await (await join()).tab()
    await tab.ask(text)
    await expect(tab.answers.last).to_contain_text("The model failed while it was answering.")
    await expect(tab.questions).to_have_text(text)
    await tab.page.get_by_role("button", name="Retry").click()
    await tab.has_exactly(said(text, 40))
    await expect(tab.answers.last.get_by_role("group", name="Versions")).to_contain_text("2/2")


async def test_a_new_version_of_a_question_and_back(join: Join):
    tab = await (await join()).tab()
    await tab.ask("first")
    await tab.has_exactly(said("first", 40))
    await tab.questions.hover()
    await tab.page.get_by_role("button", name="Edit message").click()
    editor = tab.page.get_by_role("textbox", name="Edit message")
    await editor.fill("second")
    await editor.press("Enter")
    await tab.has_exactly(said("second", 40))
    await tab.questions.get_by_role("button", name="Earlier version").click()
    await expect(tab.questions).to_contain_text("first")
    await tab.has_exactly(said("first", 40))
