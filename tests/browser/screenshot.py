"""Takes docs/screenshot.png anew: `.venv/bin/python -m pytest tests/browser/screenshot.py`. No test, it checks nothing.

The product is real, the words are the fake engine's script.
"""

from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db.models import F
from playwright.async_api import expect

from chat.models import Conversation
from tests.browser.conftest import Join
from tests.engines.process import FakeEngine
from tests.rig import ROOT

EARLIER = [
    ("A packing list for a week of rain", "Wool socks, twice.", 3),
    ("What did the Hanseatic League trade in?", "Herring, salt, cloth, furs and wax.", 3),
    ("Translate the landlord's letter for me", "Of course. Paste it here.", 1),
    ("Why does my bread not rise?", "Most often it is too cold.", 1),
    ("Names for a ginger cat", "Saffron, Rusty, Marmalade.", 0),
]
QUESTION = "Which sort should I use for a list that is almost in order?"
ANSWER = """Use **insertion sort** where the list is short, and the sort of your language otherwise. Python's Timsort \
looks for runs that are in order already, so an almost sorted list costs it little more than one pass.

| | almost sorted | shuffled |
| --- | --- | --- |
| Insertion sort | O(n + d) | O(n²) |
| Timsort | near O(n) | O(n log n) |

Here *d* counts the pairs that stand the wrong way round. In Python it is one line:

```python
orders.sort(key=lambda order: order.placed_at)
```

1. It sorts in place and keeps equal elements in their order.
2. If a new element comes in now and then, `bisect.insort` puts it where it belongs.
"""


async def test_screenshot(join: Join, engine: FakeEngine):
    tab = await (await join("ada@example.org")).tab()
    for question, answer, days in EARLIER:
        engine.control(script=answer)
        await tab.page.goto("/")
        await tab.ask(question)
        await tab.reads(answer)
        await expect(tab.stop).to_be_hidden()
        ago = F("updated_at") - timedelta(days=days)
        await sync_to_async(Conversation.objects.filter(title=question).update)(updated_at=ago)
    engine.control(script=ANSWER)
    await tab.page.goto("/")
    await tab.ask(QUESTION)
    await tab.reads("belongs.")
    await expect(tab.stop).to_be_hidden()
    await expect(tab.chats).to_have_count(len(EARLIER) + 1)
    await tab.page.mouse.move(900, 20)
    await tab.page.screenshot(path=ROOT / "docs" / "screenshot.png", animations="disabled")
