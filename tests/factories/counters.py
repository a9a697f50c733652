"""A tokenizer and a chat template whose counts a test can work out: one token a word, so many a message."""

from collections.abc import Callable

from inference.core.values import ChatMessage


def chatml(messages: list[ChatMessage]) -> int:
    """Four tokens a message, three to open the answer."""
    return 3 + 4 * len(messages)


class WordCounter:
    """Counts words; remembers what it was asked and how much at a time."""

    def __init__(self, model: str, template: Callable[[list[ChatMessage]], int] = chatml) -> None:
        self.model = model
        self.texts: list[str] = []
        self.chats: list[list[ChatMessage]] = []
        self._template = template

    async def text(self, text: str) -> int:
        """Words of the text."""
        self.texts.append(text)
        return len(text.split())

    async def chat(self, messages: list[ChatMessage]) -> int:
        """Words of all messages and what the template adds."""
        self.chats.append(messages)
        return self.exact(messages)

    def exact(self, messages: list[ChatMessage]) -> int:
        """The same for the test, unrecorded."""
        return self._template(messages) + sum(len(message.content.split()) for message in messages)
