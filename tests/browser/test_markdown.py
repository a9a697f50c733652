"""What an answer or a person may put on the page: words, never something that runs."""

from playwright.async_api import expect

from tests.browser.conftest import Join
from tests.engines.process import FakeEngine

HOSTILE = """It costs $5 or $6.

<script>window.ran = 1</script>
<img src=x onerror="window.ran = 2">
<svg onload="window.ran = 3"><a xlink:href="javascript:window.ran = 4">x</a></svg>
<iframe srcdoc="<script>parent.ran = 5</script>"></iframe>

[press me](javascript:window.ran=6) ![a dog](https://elsewhere.example/dog.png)
<style>body { display: none }</style>
[data](data:text/html,<script>parent.ran=7</script>) [good](https://example.org/)

```html
<script>window.ran = 8</script>
```
"""
QUESTION = '<img src=x onerror="window.ran = 9"> **bold?** $5 or $6'


async def test_nothing_runs_and_prices_stay_prices(join: Join, engine: FakeEngine):
    engine.control(script=HOSTILE)
    person = await join()
    tab = await person.tab()
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    await tab.ask(QUESTION)
    await tab.reads("window.ran = 8")
    await expect(tab.stop).to_be_hidden()
    for _ in ("as it streamed", "as it is stored"):
        await expect(tab.answer.locator("p").first).to_have_text("It costs $5 or $6.")
        await expect(tab.answer.locator("pre")).to_have_text("<script>window.ran = 8</script>")
        await expect(tab.answer.locator("script, img, svg:not(button svg), iframe, style")).to_have_count(0)
        await expect(tab.answer.locator("a")).to_have_text(["a dog", "good"])
        await expect(tab.answers.get_by_text("press me")).to_be_visible()
        await tab.answers.get_by_text("press me").click()
        await expect(tab.questions.locator(".bubble")).to_have_text(QUESTION)
        assert await tab.page.evaluate("window.ran") is None
        await tab.page.reload()
    assert not [url for url in asked if "elsewhere" in url]
