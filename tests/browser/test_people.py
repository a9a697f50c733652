"""Who is signed in: confirming an address as in production, a session that ends, logging in again."""

import re

from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from playwright.async_api import expect

from accounts.models import User
from tests.browser.conftest import Join
from tests.browser.person import Tab
from tests.engines.words import said
from tests.factories import accounts
from tests.factories.accounts import PASSWORD
from tests.rig import Client, Rig, wait_for

LINK = re.compile(r"http://\S+?(/(?:verify|reset)/\S+)")


def mailed(product: Rig) -> str:
    """The path of the link in the mail that this product's web process has sent."""
    web = product.processes["web"]
    wait_for(lambda: LINK.search(web.written()), "the mail")
    return LINK.findall(web.written())[-1]


async def give(tab: Tab, email: str, button: str) -> None:
    """Fill in the form of logging in or signing up."""
    await tab.page.get_by_label("Email").fill(email)
    await tab.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await tab.page.get_by_role("button", name=button).click()


async def test_an_address_is_confirmed_first_where_that_is_asked_for(visit: Join, verifying: Rig):
    person = await visit(verifying.url())
    tab = await person.tab("/signup")
    await give(tab, "ada@example.org", "Create account")
    await expect(tab.page.get_by_role("heading", name="Look into your mail")).to_be_visible()
    await expect(tab.page.get_by_role("main")).to_contain_text("ada@example.org")
    mail = await person.tab(mailed(verifying))
    await mail.page.get_by_role("button", name="Confirm").click()
    await expect(mail.composer).to_be_focused()
    await tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(tab.composer).to_be_focused()

    stranger = await (await visit(verifying.url())).tab("/verify/nonsense")
    await stranger.page.get_by_role("button", name="Confirm").click()
    await expect(stranger.page.locator(".form-error")).to_have_text(re.compile("invalid|expired", re.I))


async def test_a_link_opened_elsewhere_leads_to_logging_in(visit: Join, verifying: Rig):
    tab = await (await visit(verifying.url())).tab("/signup")
    await give(tab, "bob@example.org", "Create account")
    elsewhere = await (await visit(verifying.url())).tab(mailed(verifying))
    await elsewhere.page.get_by_role("button", name="Confirm").click()
    await expect(elsewhere.page).to_have_url("/login")
    await expect(elsewhere.page.get_by_text("Your address is confirmed. Log in now.")).to_be_visible()
    await give(elsewhere, "bob@example.org", "Log in")
    await expect(elsewhere.composer).to_be_focused()


async def test_a_forgotten_password_is_set_anew(visit: Join, rig: Rig):
    await sync_to_async(accounts.make_user)("ada@example.org")
    person = await visit()
    tab = await person.tab("/login")
    await tab.page.get_by_role("link", name="Forgot your password?").click()
    await tab.page.get_by_label("Email").fill("ada@example.org")
    await tab.page.get_by_role("button", name="Send the link").click()
    await expect(tab.page.get_by_role("heading", name="Look into your mail")).to_be_visible()
    mail = await person.tab(mailed(rig))
    await mail.page.get_by_label("New password", exact=True).fill(PASSWORD)
    await mail.page.get_by_role("button", name="Set password").click()
    await expect(mail.page.get_by_text("Your new password is set.")).to_be_visible()
    await give(mail, "ada@example.org", "Log in")
    await expect(mail.composer).to_be_focused()


async def test_a_session_ends_and_the_draft_is_there_after_logging_in(visit: Join, rig: Rig):
    tab = await (await visit()).tab("/signup")
    await give(tab, "ada@example.org", "Create account")
    await tab.ask("hello")
    await tab.has_exactly(said("hello", 40))
    address = tab.page.url
    await tab.composer.fill("half a thou")
    await sync_to_async(Session.objects.all().delete)()
    token = await sync_to_async(lambda: accounts.session_token(User.objects.get()))()
    async with Client(rig.url(), token) as elsewhere:  # the page hears of it and asks what changed
        path = f"conversations/{address.rpartition('/')[2]}"
        status, _ = await elsewhere.request("PATCH", path, json={"title": "renamed"})
        assert status == 200
    await expect(tab.page).to_have_url("/login")
    await expect(tab.page.get_by_text("What you typed is kept.")).to_be_visible()
    await give(tab, "ADA@example.org", "Log in")
    await expect(tab.page).to_have_url(address)
    await expect(tab.composer).to_have_value("half a thou")


async def test_wrong_words_at_the_door(visit: Join):
    await sync_to_async(accounts.make_user)("ada@example.org")
    tab = await (await visit()).tab("/login")
    await tab.page.get_by_label("Email").fill("ada@example.org")
    await tab.page.get_by_label("Password", exact=True).fill("not the password")
    await tab.page.get_by_role("button", name="Log in").click()
    await expect(tab.page.locator(".field-error")).to_have_text(re.compile("not correct"))
    await tab.page.goto("/signup")
    await tab.page.get_by_label("Email").fill("bob@example.org")
    await tab.page.get_by_label("Password", exact=True).fill("password")
    await tab.page.get_by_role("button", name="Create account").click()
    await expect(tab.page.get_by_label("Password", exact=True)).to_be_focused()
    await expect(tab.page.locator(".field-error")).to_have_text(re.compile("common"))


async def test_logging_out(join: Join):
    tab = await (await join()).tab()
    await tab.page.get_by_role("button", name="Log out").click()
    await expect(tab.page).to_have_url("/login")
    await tab.page.goto("/")
    await expect(tab.page).to_have_url("/login")
