"""A person at a browser: their tabs, what they do on a page, what they read there.

Selectors live here and nowhere else; tests speak of questions and answers.
"""

from typing import Self

from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, expect

from tests.engines.words import said

_WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
"""


def until(text: str, word: int) -> str:
    """One word of the fake engine's answer to this text, by its number."""
    return said(text, word + 1).rsplit(maxsplit=1)[-1] + " "


class Person:
    """One browser profile; `broken` has all that a console should not say."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.broken: list[str] = []

    async def begin(self) -> Self:
        """Watch every page from its first line on."""
        await self.context.add_init_script(_WATCH)
        self.context.on("console", self._heard)
        self.context.on("weberror", lambda error: self.broken.append(str(error.error)))
        self.context.on("dialog", lambda dialog: self.broken.append(f"dialog: {dialog.message}"))
        return self

    async def sign_in_with(self, token: str, url: str) -> None:
        """The session's cookie, as logging in sets it."""
        await self.context.add_cookies([{"name": "sessionid", "value": token, "url": url, "httpOnly": True}])

    async def tab(self, path: str = "/") -> "Tab":
        """A new tab, at this page."""
        page = await self.context.new_page()
        await page.goto(path)
        return Tab(page)

    async def check_nothing_broke(self) -> None:
        """Raises when a page threw, complained or broke its policy."""
        assert not self.broken, self.broken

    def _heard(self, message: ConsoleMessage) -> None:
        lost = ("Failed to load resource", "WebSocket connection")
        if message.type == "error" and not message.text.startswith(lost):
            self.broken.append(message.text)


class Tab:
    """One page of the web UI."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.composer = page.get_by_role("textbox", name="Message", exact=True)
        self.answers = page.get_by_role("article", name="Parley")
        self.questions = page.get_by_role("article", name="You")
        self.stop = page.get_by_role("button", name="Stop the answer")
        self.chats = page.get_by_role("navigation", name="Chats").get_by_role("link")

    @property
    def answer(self) -> Locator:
        """The words of the newest answer."""
        return self.answers.last.locator(".markdown")

    async def ask(self, text: str) -> None:
        """Type a question and send it by key."""
        await self.composer.fill(text)
        await self.composer.press("Enter")

    async def reads(self, words: str) -> None:
        """The newest answer has got this far."""
        await expect(self.answer).to_contain_text(words)

    async def is_answering(self) -> None:
        """An answer is on its way and can be stopped."""
        await expect(self.stop).to_be_visible()

    async def has_exactly(self, words: str) -> None:
        """The newest answer has ended and is these words, none lost and none twice."""
        await expect(self.answer).to_have_text(words)
        await expect(self.stop).to_be_hidden()
        await expect(self.answers.last.get_by_role("button", name="Answer again")).to_be_attached()
        found = await self.words()
        assert found == words.strip(), found

    async def words(self) -> str:
        """The newest answer as the page has it."""
        return (await self.answer.text_content() or "").strip()

    async def announcements(self) -> list[str]:
        """From here on, what a screen reader is told; the list grows in the page as `window.told`."""
        return list(
            await self.page.evaluate(
                """() => {
                  const status = document.querySelector("[role=status]");
                  if (window.told === undefined) {
                    window.told = [];
                    new MutationObserver(() => window.told.push(status.textContent.trim())).observe(
                      status, { childList: true, characterData: true, subtree: true });
                  }
                  return window.told;
                }"""
            )
        )

    async def focused(self) -> str:
        """What has the focus, by its label or words."""
        return str(
            await self.page.evaluate(
                """() => {
                  const at = document.activeElement;
                  return at.getAttribute("aria-label") || at.labels?.[0]?.textContent || at.textContent;
                }"""
            )
        ).strip()
